package machineinstance_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/test/poll"
)

// polling runs something while time passes, second by second and only while it waits, and returns when operations were polled, in seconds since the
// beginning.
func (w *world) polling(do func() error) ([]float64, error) {
	w.t.Helper()
	began := w.clock.Now()
	w.account.Forget()
	done := make(chan error, 1)
	go func() { done <- do() }()
	poll.Until(w.t, "it has ended", func() bool {
		if len(done) > 0 {
			return true
		}
		if w.clock.HasWaiters() {
			w.clock.Step(time.Second)
		}
		return false
	})
	var out []float64
	for _, call := range w.account.Calls("GET operations") {
		out = append(out, call.At.Sub(began).Seconds())
	}
	return out, <-done
}

// TestOperationsArePolledAsAzureAsks checks the pace of the polls of creations, changes and deletions, and that the result of an operation that says
// that it succeeded is not read.
func TestOperationsArePolledAsAzureAsks(t *testing.T) {
	w := newWorld(t, options{takes: 20 * time.Second, retryAfter: 7 * time.Second})
	launch, err := w.Create(t.Context(), request("general-a"))
	must(t, err)
	vm := launch.Instance.Name
	for _, step := range []struct {
		what string
		do   func() error
		want []float64
	}{
		{"a creation", func() error { return launch.Wait(t.Context()) }, []float64{7, 14, 21}},
		{"a change", func() error {
			return w.Update(t.Context(), vm, resourcetags.InPlace{Tags: map[string]string{"karpenter.sh_nodepool": "general", "team": "b"}})
		}, []float64{7, 14, 21}},
		{"a deletion", func() error { return w.Delete(t.Context(), vm) }, []float64{7, 14, 21}},
	} {
		at, err := w.polling(step.do)
		if err != nil || !slices.Equal(at, step.want) || w.count("GET results") > 0 || w.count(get) > 1 {
			t.Errorf("%s is polled at %v, with %d reads of results and %d of the AKSMachine: %v", step.what, at, w.count("GET results"), w.count(get), err)
		}
	}
	if w.account.Exists(machineID("general-a")) {
		t.Error("the AKSMachine exists")
	}
}

// TestPollsThatFailAreRepeated checks that a creation goes on while Azure throttles polls, or cannot answer them: neither a failure nor a read of the
// AKSMachine follows. A deletion does so as well, and ends with an error if no poll is answered any more.
func TestPollsThatFailAreRepeated(t *testing.T) {
	w := newWorld(t, options{takes: 13 * time.Second})
	launch, err := w.Create(t.Context(), request("general-a"))
	must(t, err)
	w.account.Throttle("GET operations", 9*time.Second, 1)
	w.account.Fail("GET operations", http.StatusServiceUnavailable, "ServiceUnavailable", "", 2)
	at, err := w.polling(func() error { return launch.Wait(t.Context()) })
	if want := []float64{0, 9, 12, 15}; err != nil || !slices.Equal(at, want) || w.count(get) > 0 {
		t.Errorf("polled at %v, want %v, with %d reads of the AKSMachine: %v", at, want, w.count(get), err)
	}
	w.account.Fail("GET operations", http.StatusServiceUnavailable, "ServiceUnavailable", "", -1)
	at, err = w.polling(func() error { return w.Delete(t.Context(), launch.Instance.Name) })
	var refused *azcore.ResponseError
	if want := []float64{0, 3, 6, 9, 12, 15, 18, 21, 24, 27}; !errors.As(err, &refused) || refused.StatusCode != http.StatusServiceUnavailable || !slices.Equal(at, want) {
		t.Errorf("polled at %v, want %v: %v", at, want, err)
	}
}
