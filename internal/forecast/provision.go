package forecast

import (
	"context"
	"slices"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// The settings of batches that the controller has by default, and the pauses of its loop.
const (
	defaultBatchIdle, defaultBatchMax = time.Second, 10 * time.Second
	// firstWait is how long the loop waits for a batch to open before it looks whether pods still wait, remindAfter the time after which it plans
	// for them once more.
	firstWait, remindAfter = time.Second, 10 * time.Second
)

// batch is what provisioning collects before it plans.
type batch struct {
	seen map[string]bool
	// opened is when the first element arrived, closes when the batch ends; zero while there is none.
	opened, closes time.Time
	// waits is when the loop began to wait for it, reminds after what time the loop adds what still waits.
	waits, reminds time.Time
	nominations    problem.Nominations
	// hopeless is set while what waits fits nowhere, and nothing has changed since that was found.
	hopeless bool
}

// window is how long nodes that pods are expected on are not disrupted.
func (r *run) window() time.Duration { return max(2*r.opts.BatchMax, 10*time.Second) }

// trigger adds an element, such as a pod, to the batch.
func (r *run) trigger(id string) {
	b := &r.batch
	if b.seen[id] {
		return
	}
	b.seen[id] = true
	if b.closes.IsZero() {
		b.opened = r.now
		b.reminder(r.now)
	}
	b.closes = earlier(r.now.Add(r.opts.BatchIdle), b.opened.Add(r.opts.BatchMax))
}

// nextReminder is when the loop adds to a batch what still waits; zero if nothing does.
func nextReminder(r *run) time.Time {
	if !r.batch.closes.IsZero() || r.batch.hopeless || len(waiting(r)) == 0 {
		return time.Time{}
	}
	return r.batch.reminder(r.now)
}

// reminder is when the loop looks next whether anything still waits, not before now. At the times before, nothing waited.
func (b *batch) reminder(now time.Time) time.Time {
	for {
		// The loop returns at intervals, and reminds when the time has passed.
		at := b.waits.Add(firstWait)
		if late := b.reminds.Sub(at); late >= 0 {
			at = at.Add((late/firstWait + 1) * firstWait)
		}
		if !at.Before(now) {
			return at
		}
		b.reminds = at.Add(remindAfter)
	}
}

// waiting are the pods that wait for a node, and the nodes being deleted whose pods do.
func waiting(r *run) []string {
	snapshot := r.cluster.Snapshot()
	var out []string
	for uid := range snapshot.Pending.All() {
		out = append(out, uid)
	}
	for id, n := range snapshot.Nodes.All() {
		if n.Deleting && n.Managed && len(n.Pods) > 0 {
			out = append(out, id)
		}
	}
	return out
}

// remind adds what still waits to a batch.
func remind(r *run) {
	r.batch.waits, r.batch.reminds = r.now, r.now.Add(remindAfter)
	for _, id := range waiting(r) {
		r.trigger(id)
	}
}

// provision plans for the batch, and launches what is planned.
func (r *run) provision(ctx context.Context) error {
	b := &r.batch
	b.opened, b.closes, b.waits = time.Time{}, time.Time{}, r.now
	clear(b.seen)
	if r.now.After(b.reminds) && !b.hopeless {
		b.reminds = r.now.Add(remindAfter)
		for _, id := range waiting(r) {
			r.trigger(id)
		}
	}
	plan, err := r.cluster.Provision(ctx, r.now, b.nominations, r.window())
	if err != nil {
		return err
	}
	r.out.Capped = capped(plan)
	b.hopeless = len(plan.NodeClaims) == 0 && len(plan.Placements) == 0 && len(b.nominations) == 0
	for _, planned := range plan.NodeClaims {
		claim := r.cluster.Builder().Translator.NodeClaim(r.cluster.Pools()[planned.Pool], planned, r.gracePeriod())
		node, ok, err := r.launch(ctx, planned.Pool, claim)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		r.out.Launches = append(r.out.Launches, node)
		r.cluster.KeepHeadroom(claim.Name, planned.Pods)
		for _, p := range planned.Pods {
			if !p.Virtual {
				b.nominations[p.UID] = claim.Name
			}
		}
	}
	return nil
}

// capped is how many pods of a plan wait because of a cap on cost.
func capped(plan solve.Plan) int {
	n := 0
	for _, u := range plan.Unschedulable {
		if slices.ContainsFunc(u.Reasons, func(r unschedulable.Reason) bool { return r.Code == unschedulable.CostCapExceeded }) {
			n += len(u.Pods)
		}
	}
	return n
}
