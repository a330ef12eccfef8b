package session

import (
	"log/slog"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/azurefield"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// requestLog logs each attempt of a request, at level debug: never a body, a header with a secret or a query. The log of the SDK is not used
// because it has one listener for the whole process, and several lines for a request.
type requestLog struct{ clock clock.PassiveClock }

// Do implements policy.Policy.
func (l requestLog) Do(r *policy.Request) (*http.Response, error) {
	ctx := r.Raw().Context()
	start := l.clock.Now()
	response, err := r.Next()
	log := observe.Log(ctx)
	if !log.Enabled(ctx, slog.LevelDebug) {
		return response, err
	}
	url := r.Raw().URL
	fields := []any{azurefield.Request(r.Raw().Method + " " + url.Host + url.EscapedPath()), logfield.Duration(l.clock.Since(start))}
	if err != nil {
		log.DebugContext(ctx, "a request to Azure failed", append(fields, logfield.Error(err))...)
		return response, err
	}
	fields = append(fields, azurefield.StatusCode(response.StatusCode))
	if id := response.Header.Get("x-ms-request-id"); id != "" {
		fields = append(fields, azurefield.RequestID(id))
	}
	log.DebugContext(ctx, "Azure responded to a request", fields...)
	return response, nil
}
