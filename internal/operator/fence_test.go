package operator

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-anew/karpenter/internal/leader"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

func TestOnlyAFreshLeaseLetsWritesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		log := observe.LogConfig{Output: &lines}.Logger()
		f, status := &fence{leader.Fence{Log: log}}, http.StatusOK
		server := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: http.NoBody}, nil
		})
		do := func(transport http.RoundTripper, method, path string) error {
			r, err := http.NewRequestWithContext(t.Context(), method, "https://host"+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := transport.RoundTrip(r)
			if err == nil {
				response.Body.Close()
			}
			return err
		}
		const lease = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l"
		renew := func(method, path string, answer int) {
			status = answer
			if err := do(f.watch(server), method, path); err != nil {
				t.Fatal(err)
			}
			status = http.StatusOK
		}
		check := func(when string, allowed bool) {
			t.Helper()
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				err := do(f.guard(server), method, "/apis/karpenter.sh/v1/nodeclaims")
				if (err == nil) != allowed {
					t.Errorf("%s: %s: %v, want it allowed: %v", when, method, err, allowed)
				}
				if err != nil {
					log.Error("Reconciler error", "error", fmt.Errorf("creating nodeclaim: %w", err))
				}
			}
			if err := do(f.guard(server), http.MethodGet, "/api/v1/pods"); err != nil {
				t.Errorf("%s: a read: %v", when, err)
			}
		}
		time.Sleep(time.Hour)
		check("without a lease", true)
		renew(http.MethodPut, lease, http.StatusOK)
		time.Sleep(leader.RenewDeadline + leader.RetryPeriod)
		check("while the leader still tries", true)
		time.Sleep(leader.RetryPeriod)
		check("before another replica may take over", false)
		if err := do(f.guard(server), http.MethodPost, "/"); err == nil || !strings.Contains(err.Error(), "last renewed 14s ago") {
			t.Errorf("the refusal does not say why: %v", err)
		}
		renew(http.MethodPut, lease, http.StatusConflict)
		renew(http.MethodGet, lease, http.StatusOK)
		renew(http.MethodPost, "/api/v1/namespaces/n/events", http.StatusCreated)
		check("after what is no renewal", false)
		renew(http.MethodPut, lease, http.StatusOK)
		check("after a renewal", true)
		if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "not writing until the lease is renewed") {
			t.Errorf("the log has more or less than one line about eight refused writes:\n%s", got)
		}
		time.Sleep(leader.RenewDeadline + 2*leader.RetryPeriod)
		check("when the lease is lost again", false)
		if got := strings.Count(lines.String(), "\n"); got != 2 {
			t.Errorf("%d lines after the lease was lost twice", got)
		}
	})
}

func TestTheLibraryReachesTheTransportOfTheLease(t *testing.T) {
	inner := &http.Transport{}
	wrapper, ok := (&fence{}).watch(inner).(interface{ WrappedRoundTripper() http.RoundTripper })
	if !ok || wrapper.WrappedRoundTripper() != http.RoundTripper(inner) {
		t.Error("requests for the lease cannot be cancelled")
	}
}
