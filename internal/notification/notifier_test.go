package notification

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/options"
)

const someURL = "https://hooks.example.com/services/T0/B0/topsecret"

func TestFailedDeliveriesAreRepeatedWithGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := &recorder{answer: func(attempt int, _ *http.Request) (*http.Response, error) {
			switch attempt {
			case 1:
				return nil, errors.New("connection refused")
			case 2:
				return status(503), nil
			case 3:
				return status(429, "Retry-After", "60"), nil
			default:
				return status(204), nil
			}
		}}
		b := newBench(t, someURL, hook)
		stop := b.run()
		b.Plan(planIn(opsv1alpha1.PlanProposed, ""))
		time.Sleep(10 * time.Minute)
		stop()
		got := hook.got()
		if len(got) != 4 {
			t.Fatalf("%d attempts", len(got))
		}
		for i, least := range []time.Duration{2 * time.Second, 6 * time.Second, time.Minute} {
			if pause := got[i+1].at.Sub(got[i].at); pause < least || pause > least*13/10 {
				t.Errorf("pause %d is %s, want %s and a fifth at most", i, pause, least)
			}
			if got[i].body != got[i+1].body || got[i].header.Get("webhook-id") != got[i+1].header.Get("webhook-id") {
				t.Error("attempts of a notification differ")
			}
			if got[i].header.Get("webhook-timestamp") == got[i+1].header.Get("webhook-timestamp") {
				t.Error("attempts have the same timestamp")
			}
		}
		if sent := testutil.ToFloat64(b.metrics.Sent.WithLabelValues("plan.proposed")); sent != 1 {
			t.Errorf("%v sent", sent)
		}
		if failed := testutil.ToFloat64(b.metrics.FailedAttempts.WithLabelValues("status")); failed != 2 {
			t.Errorf("%v failed attempts by status", failed)
		}
	})
}

func TestAttemptsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		hook := &recorder{answer: func(int, *http.Request) (*http.Response, error) {
			if down {
				return nil, errors.New("connection refused")
			}
			return status(200), nil
		}}
		b := newBench(t, someURL, hook)
		stop := b.run()
		b.Plan(planIn(opsv1alpha1.PlanFailed, ""))
		time.Sleep(time.Hour)
		if n := len(hook.got()); n != maxAttempts {
			t.Errorf("%d attempts", n)
		}
		b.wantDropped("attempts_exhausted", 1)
		down = false
		b.Plan(planIn(opsv1alpha1.PlanExecuted, ""))
		time.Sleep(time.Second)
		stop()
		text := b.log.String()
		if strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, "notifications are delivered again") {
			t.Errorf("log:\n%s", text)
		}
		if strings.Contains(text, "topsecret") || strings.Contains(text, "whsec_") {
			t.Errorf("the log has a secret:\n%s", text)
		}
	})
}

func TestRefusedNotificationsAreNotRepeated(t *testing.T) {
	for _, code := range []int{301, 307, 308, 400, 401, 403, 404, 410, 413} {
		synctest.Test(t, func(t *testing.T) {
			hook := &recorder{answer: func(int, *http.Request) (*http.Response, error) {
				return status(code, "Location", "https://elsewhere.example.com/"), nil
			}}
			b := newBench(t, someURL, hook)
			stop := b.run()
			b.Plan(planIn(opsv1alpha1.PlanFailed, ""))
			time.Sleep(time.Hour)
			stop()
			if n := len(hook.got()); n != 1 {
				t.Errorf("%d attempts after status %d", n, code)
			}
			b.wantDropped("refused", 1)
		})
	}
}

// A webhook that never answers holds an attempt for ten seconds, and nothing else.
func TestAHungWebhookDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := &recorder{answer: func(_ int, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}}
		b := newBench(t, someURL, hook)
		stop := b.run()
		begin := time.Now()
		for range maxQueued + 11 { // one is being sent
			b.Plan(planIn(opsv1alpha1.PlanProposed, ""))
			synctest.Wait()
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %s", took)
		}
		b.wantDropped("queue_full", 10)
		time.Sleep(attemptTimeout + time.Second)
		if n := testutil.ToFloat64(b.metrics.FailedAttempts.WithLabelValues("timeout")); n != 1 {
			t.Errorf("%v attempts ended by the timeout", n)
		}
		stop()
		b.wantDropped("stopped", maxQueued+1)
		if n := testutil.ToFloat64(b.metrics.Queued); n != 0 {
			t.Errorf("%v are queued after the end", n)
		}
	})
}

func TestNotificationsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := &recorder{answer: func(attempt int, _ *http.Request) (*http.Response, error) {
			if attempt%2 == 1 {
				return status(500), nil
			}
			return status(200), nil
		}}
		b := newBench(t, someURL, hook)
		stop := b.run()
		for i := range 5 {
			b.Plan(planIn(opsv1alpha1.PlanProposed, fmt.Sprintf("number %d", i)))
		}
		time.Sleep(time.Hour)
		stop()
		for i, r := range hook.got() {
			if want := fmt.Sprintf("number %d", i/2); !strings.Contains(r.body, want) {
				t.Errorf("attempt %d is not %s", i, want)
			}
		}
	})
}

func TestEventsAreChosen(t *testing.T) {
	accept := func(int, *http.Request) (*http.Response, error) { return status(200), nil }
	synctest.Test(t, func(t *testing.T) {
		hook := &recorder{answer: accept}
		b := newBench(t, someURL, hook, func(o *options.Notifications) {
			o.Events = options.NotificationEvents{options.PlanBlocked, options.CommandStarted}
		})
		stop := b.run()
		for _, phase := range []opsv1alpha1.PlanPhase{opsv1alpha1.PlanProposed, opsv1alpha1.PlanApproved, opsv1alpha1.PlanExecuting, opsv1alpha1.PlanExecuted} {
			b.Plan(planIn(phase, ""))
		}
		waiting := planIn(opsv1alpha1.PlanApproved, "")
		waiting.Status.WaitingFor = "no maintenance window is open"
		b.Plan(waiting)
		for _, what := range []ledger.Outcome{ledger.CommandStarted, ledger.CommandSucceeded, ledger.CommandFailed, ledger.CommandRejected} {
			b.Command(commandThat(what), "")
		}
		time.Sleep(time.Second)
		stop()
		got := hook.got()
		if len(got) != 2 || !strings.Contains(got[0].body, `"type":"plan.blocked"`) || !strings.Contains(got[0].body, "no maintenance window is open") ||
			!strings.Contains(got[1].body, `"type":"command.started"`) {
			t.Errorf("%v", got)
		}
	})
}

// Each pass may find a command again that is blocked: that is told once an hour.
func TestBlockedCommandsAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := &recorder{answer: func(int, *http.Request) (*http.Response, error) { return status(200), nil }}
		b := newBench(t, someURL, hook)
		stop := b.run()
		blocked := commandThat(ledger.CommandRejected)
		blocked.Obstacles = []ledger.NodeObstacle{{Node: "node-1", Code: "Pdb", Text: "a PodDisruptionBudget blocks it"}}
		for range 240 {
			b.Command(blocked, "")
			time.Sleep(15 * time.Second)
		}
		other := commandThat(ledger.CommandRejected)
		other.NodeClaims = []string{"default-2"}
		b.Command(other, "")
		time.Sleep(quietAfterBlocked)
		b.Command(blocked, "")
		time.Sleep(time.Second)
		stop()
		if n := len(hook.got()); n != 3 {
			t.Errorf("%d notifications", n)
		}
	})
}
