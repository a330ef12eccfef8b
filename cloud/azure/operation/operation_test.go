package operation_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/operation"
)

const (
	resourceURL  = "https://management.test/nic"
	operationURL = "https://management.test/operations/1"
)

// answer is an answer of Azure: status, headers as "Name: value", and a body. A status of 0 is a failure of the network.
type answer struct {
	status  int
	headers []string
	body    string
}

// azure sends the answers of its queue, and records the requests with their time since the start.
type azure struct {
	queue []answer
	start time.Time
	calls []string
}

// Do implements policy.Transporter.
func (a *azure) Do(r *http.Request) (*http.Response, error) {
	a.calls = append(a.calls, fmt.Sprintf("%s %s %s", time.Since(a.start), r.Method, strings.TrimPrefix(r.URL.Path, "/")))
	if len(a.queue) == 0 {
		return nil, errors.New("no answer is left")
	}
	next := a.queue[0]
	a.queue = a.queue[1:]
	if next.status == 0 {
		return nil, errors.New("connection reset")
	}
	out := &http.Response{StatusCode: next.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(next.body)), Request: r}
	for _, header := range next.headers {
		name, value, _ := strings.Cut(header, ": ")
		out.Header.Set(name, value)
	}
	return out, nil
}

// begin sends a PUT through a client without retries.
func (a *azure) begin(ctx context.Context) (*runtime.Poller[map[string]any], error) {
	pipeline := runtime.NewPipeline("test", "v1.0.0", runtime.PipelineOptions{}, &policy.ClientOptions{Transport: a, Retry: policy.RetryOptions{MaxRetries: -1}})
	r, err := runtime.NewRequest(ctx, http.MethodPut, resourceURL)
	if err != nil {
		return nil, err
	}
	response, err := pipeline.Do(r) //nolint:bodyclose // it is text
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, runtime.NewResponseError(response)
	}
	return runtime.NewPoller[map[string]any](response, pipeline, nil)
}

func TestRun(t *testing.T) {
	accepted := answer{http.StatusCreated, []string{"Azure-AsyncOperation: " + operationURL, "Retry-After: 5"}, `{"properties": {"provisioningState": "Creating"}}`}
	running := answer{http.StatusOK, nil, `{"status": "InProgress"}`}
	succeeded := answer{http.StatusOK, nil, `{"status": "Succeeded"}`}
	throttled := answer{http.StatusTooManyRequests, nil, `{"error": {"code": "TooManyRequests"}}`}
	for title, test := range map[string]struct {
		queue []answer
		calls []string
		code  string
	}{
		"the result is not read": {
			queue: []answer{accepted, running, succeeded},
			calls: []string{"0s PUT nic", "5s GET operations/1", "8s GET operations/1"},
		},
		"Azure says when to ask": {
			queue: []answer{accepted, {http.StatusOK, []string{"retry-after-ms: 1500", "Retry-After: 9"}, running.body}, {http.StatusOK, []string{"Retry-After: 10"}, running.body}, succeeded},
			calls: []string{"0s PUT nic", "5s GET operations/1", "6.5s GET operations/1", "16.5s GET operations/1"},
		},
		"the operation fails": {
			queue: []answer{accepted, {http.StatusOK, nil, `{"status": "Failed", "error": {"code": "AllocationFailed", "message": "no"}}`}},
			calls: []string{"0s PUT nic", "5s GET operations/1"},
			code:  "AllocationFailed",
		},
		"questions fail for a moment": {
			queue: []answer{accepted, throttled, {}, {http.StatusBadGateway, nil, ""}, succeeded},
			calls: []string{"0s PUT nic", "5s GET operations/1", "8s GET operations/1", "11s GET operations/1", "14s GET operations/1"},
		},
		"Azure says when to ask again what it throttles": {
			queue: []answer{accepted, {http.StatusTooManyRequests, []string{"Retry-After: 20"}, throttled.body}, succeeded},
			calls: []string{"0s PUT nic", "5s GET operations/1", "25s GET operations/1"},
		},
		"the operation is not known": {
			queue: []answer{accepted, {http.StatusNotFound, nil, `{"error": {"code": "OperationNotFound"}}`}},
			calls: []string{"0s PUT nic", "5s GET operations/1"},
			code:  "OperationNotFound",
		},
		"the resource itself says its state": {
			queue: []answer{{http.StatusCreated, nil, `{"properties": {"provisioningState": "Updating"}}`}, {http.StatusOK, nil, `{"properties": {"provisioningState": "Succeeded"}}`}},
			calls: []string{"0s PUT nic", "0s GET nic"},
		},
		"there is no operation": {
			queue: []answer{{http.StatusOK, nil, `{"properties": {"provisioningState": "Succeeded"}}`}},
			calls: []string{"0s PUT nic"},
		},
		"the request is refused": {
			queue: []answer{{http.StatusConflict, nil, `{"error": {"code": "SkuNotAvailable"}}`}},
			calls: []string{"0s PUT nic"},
			code:  "SkuNotAvailable",
		},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &azure{queue: test.queue, start: time.Now()}
				err := operation.Run(t.Context(), clock.RealClock{}, a.begin)
				code := ""
				var failed *azcore.ResponseError
				if errors.As(err, &failed) {
					code = failed.ErrorCode
				}
				if code != test.code || (err != nil) != (test.code != "") {
					t.Errorf("the error is %v, want the code %q", err, test.code)
				}
				if diff := cmp.Diff(test.calls, a.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestRunEnds checks that questions which always fail end it, and that the end of the context does at once.
func TestRunEnds(t *testing.T) {
	accepted := answer{http.StatusCreated, []string{"Azure-AsyncOperation: " + operationURL}, `{}`}
	synctest.Test(t, func(t *testing.T) {
		a := &azure{queue: append([]answer{accepted}, make([]answer, 50)...), start: time.Now()}
		if err := operation.Run(t.Context(), clock.RealClock{}, a.begin); err == nil || len(a.calls) != 11 {
			t.Errorf("the error is %v after %d calls", err, len(a.calls))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		a = &azure{queue: []answer{accepted, {http.StatusOK, nil, `{"status": "InProgress"}`}, {http.StatusOK, nil, `{"status": "InProgress"}`}}, start: time.Now()}
		if err := operation.Run(ctx, clock.RealClock{}, a.begin); !errors.Is(err, context.DeadlineExceeded) || time.Since(a.start) != 4*time.Second {
			t.Errorf("the error is %v after %s", err, time.Since(a.start))
		}
	})
}
