package disruption

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// notices are what a Notifier was told.
type notices struct {
	mu  sync.Mutex
	all []string
}

func (n *notices) add(words ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, strings.Join(words, " "))
}

func (n *notices) told() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

func (n *notices) Plan(plan *opsv1alpha1.DisruptionPlan) {
	words := []string{"plan", string(plan.Status.Phase)}
	if plan.Status.WaitingFor != "" {
		words = append(words, "waits")
	}
	n.add(words...)
}

func (n *notices) Command(e *ledger.CommandEvent, _ string) {
	n.add("command", string(e.Outcome), e.Reason, strings.Join(e.Nodes, ","))
}

func (w *harness) wantNotices(n *notices, want ...string) {
	w.Helper()
	if got := n.told(); !slices.Equal(got, want) {
		w.Errorf("after %s: the notifications are %q, want %q", w.age(), got, want)
	}
}

// proposing runs a controller that has proposed to replace the drifted node a, and needs approval.
func (w *harness) proposing() (n *notices, stop func()) {
	w.Helper()
	n = &notices{}
	w.deps.Notifier = n
	l := w.live(ondemand(1))
	w.approvals(`{approval: {mode: Always}}`)
	w.pool("pool", budget("1"), usable)
	w.drifted(l, "a")
	stop = w.run()
	w.pass(time.Minute)
	return n, stop
}

func TestNotifications(t *testing.T) {
	inBubble(t, "the phases of a plan, once each, and when it begins to wait", func(w *harness) {
		n, stop := w.proposing()
		defer stop()
		w.policy("sale", `{freeze: {until: "2000-01-01T00:20:00Z", why: sale}}`)
		w.decide(w.onlyPlan().Name, opsv1alpha1.VerdictApproved)
		w.pass(10 * time.Minute)
		w.wantNotices(n, "plan Proposed", "plan Approved", "plan Approved waits")
		w.pass(12 * time.Minute)
		w.wantNotices(n, "plan Proposed", "plan Approved", "plan Approved waits", "plan Executing", "plan Executed")
	})
	inBubble(t, "a plan that is rejected", func(w *harness) {
		n, stop := w.proposing()
		defer stop()
		w.decide(w.onlyPlan().Name, opsv1alpha1.VerdictRejected)
		w.pass(10 * time.Minute)
		w.wantNotices(n, "plan Proposed", "plan Rejected")
	})
	inBubble(t, "a command that needs no approval, without a ledger", func(w *harness) {
		n := &notices{}
		w.deps.Notifier = n
		w.pool("pool", budget("1"))
		w.addNode("pool", "a")
		defer w.run()()
		w.pass(time.Minute)
		w.wantDeleted("a")
		w.wantNotices(n, "command started Empty a", "command succeeded Empty a")
	})
}
