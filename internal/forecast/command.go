package forecast

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// phase is what a command waits for.
type phase int

const (
	// validating commands wait to be validated.
	validating phase = iota
	// launching commands have tainted their nodes and wait for replacements.
	launching
	// draining commands wait for the pods of their nodes to terminate.
	draining
)

// running is a command that is not done.
type running struct {
	method   disrupt.Method
	plan     disrupt.Command
	proposed time.Time
	phase    phase
	// next is when the phase ends.
	next time.Time
	// index is that in the commands of the forecast, once the command is validated.
	index int
}

// propose queues a command to be validated; those of methods that are not queued are validated at once.
func (r *run) propose(m disrupt.Method, plan disrupt.Command) {
	c := &running{method: m, plan: plan, proposed: r.now, next: r.now}
	if m.Queued {
		c.next = r.now.Add(problem.ValidationDelay)
	} else {
		r.begin(c)
	}
	r.underway = append(r.underway, c)
}

// assess assesses the view. Commands that have no effect on the objects yet, except one, are assumed to be complete.
func (r *run) assess(ctx context.Context, except *running) (simulation.Assessment, error) {
	var plans []disrupt.Command
	for _, c := range r.underway {
		if c != except && c.phase != draining {
			plans = append(plans, c.plan)
		}
	}
	return r.view.Assess(ctx, r.now, plans, r.backoff.active(r.now))
}

// advance lets the commands whose phase ends at now go on: first those that change nodes, all together, then those that are to be validated,
// each in a view that shows the others.
func (r *run) advance(ctx context.Context) error {
	for _, c := range slices.Clone(r.underway) {
		switch {
		case c.next.After(r.now):
		case c.phase == launching:
			if err := r.evict(ctx, c); err != nil {
				return err
			}
		case c.phase == draining:
			for _, candidate := range c.plan.Candidates {
				r.world.remove(candidate.Node.NodeName, candidate.Node.ClaimName)
			}
			r.drop(c)
		}
	}
	r.finishLeaving()
	if err := r.refresh(ctx); err != nil {
		return err
	}
	for _, c := range slices.Clone(r.underway) {
		if c.phase != validating || c.next.After(r.now) {
			continue
		}
		valid, err := r.validate(ctx, c)
		if err != nil {
			return err
		}
		if !valid {
			r.drop(c)
			continue
		}
		r.begin(c)
		if err := r.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// refresh takes a new view and starts the pods that are pending in it.
func (r *run) refresh(ctx context.Context) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	return r.placePending(ctx)
}

func (r *run) drop(c *running) {
	r.underway = slices.DeleteFunc(r.underway, func(o *running) bool { return o == c })
}

// validate decides about a command once more, as the controller does before it starts one.
func (r *run) validate(ctx context.Context, c *running) (bool, error) {
	a, err := r.assess(ctx, c)
	if err != nil {
		return false, err
	}
	own := map[string]bool{}
	for _, id := range c.plan.IDs() {
		own[id] = true
	}
	among := slices.DeleteFunc(slices.Clone(a.Candidates), func(o disrupt.Candidate) bool { return !own[o.Node.ID] })
	wanted, refused := c.method.FilterNodes(among)
	fit, blocked := c.method.FilterPods(wanted, a.PodObstacles)
	obstacles := slices.Concat(refused, blocked, a.Excluded)
	budgets := r.budgets(a, c.method.Reason)
	if c.method.Simulates == disrupt.NoSimulation {
		c.plan = disrupt.Validate(c.plan, fit, obstacles, budgets).Command
		return len(c.plan.Candidates) > 0, nil
	}
	verdict := a.Simulator(c.method.Simulates).Validate(c.plan, fit, obstacles, budgets)
	if len(verdict.Dropped) > 0 {
		for _, candidate := range c.plan.Candidates {
			r.backoff.fail(candidate.Node.ClaimName, r.now)
		}
		return false, nil
	}
	c.plan = verdict.Command
	return true, nil
}

// begin taints the nodes of a command that is valid, and launches the replacements.
func (r *run) begin(c *running) {
	c.phase, c.next, c.index = launching, r.now, len(r.out.Commands)
	if c.plan.Launches() > 0 {
		c.next = r.now.Add(r.out.Launch)
	}
	out := Command{
		Reason: string(c.plan.Reason), Decision: c.plan.Decision(), At: c.proposed.Sub(r.opts.Now), Pools: c.plan.Pools(),
		Moves: map[simulation.Owner]int{}, Savings: c.plan.Savings(), SavingsKnown: true,
	}
	out.Done = c.next.Add(r.drain(c.plan)).Sub(r.opts.Now)
	for _, candidate := range c.plan.Candidates {
		r.world.taint(candidate.Node.NodeName, v1.DisruptedNoScheduleTaint())
		out.Nodes = append(out.Nodes, candidate.Node.Name)
		_, known := r.view.Prices[candidate.Node.Pool].Known(candidate.Node)
		out.SavingsKnown = out.SavingsKnown && known
		for _, p := range candidate.PodsToMove {
			if !p.Virtual {
				out.Moves[r.view.Result.Owner(p)]++
			}
		}
	}
	r.out.Commands = append(r.out.Commands, out)
}

// evict makes the replacements of a command nodes, and the pods of its nodes pending: their owners create others in their place, which the
// scheduler binds.
func (r *run) evict(ctx context.Context, c *running) error {
	for _, claim := range c.plan.Replacements {
		if err := r.replace(ctx, c, claim.Pool, r.view.Builder.Translator.NodeClaim(r.view.Pools[claim.Pool], claim, r.gracePeriod())); err != nil {
			return err
		}
	}
	if c.plan.Static {
		pool := c.plan.Candidates[0].Node.Pool
		if err := r.replace(ctx, c, pool, r.view.Builder.Translator.StaticNodeClaim(r.view.Pools[pool], r.gracePeriod())); err != nil {
			return err
		}
	}
	for _, candidate := range c.plan.Candidates {
		r.world.drain(candidate.Node.NodeName, candidate.Node.ClaimName, candidate.PodsToMove, r.now)
	}
	c.phase, c.next = draining, r.opts.Now.Add(r.out.Commands[c.index].Done)
	return nil
}

func (r *run) replace(ctx context.Context, c *running, pool string, claim *v1.NodeClaim) error {
	node, ok, err := r.start(ctx, pool, claim)
	if ok {
		out := &r.out.Commands[c.index]
		out.Launches = append(out.Launches, node)
		if c.plan.Static {
			out.Savings -= node.Price // a command about a static pool does not say what is launched
		}
	}
	return err
}

// drain is how long the nodes of a command take to drain: for each round of evictions the longest termination grace period among the pods.
func (r *run) drain(plan disrupt.Command) time.Duration {
	var longest time.Duration
	for _, c := range plan.Candidates {
		var grace time.Duration
		for _, pod := range r.view.Pods[c.Node.NodeName] {
			grace = max(grace, gracePeriodOf(pod))
		}
		took := min(grace, longestGracePeriod/time.Duration(max(c.DrainRounds, 1))) * time.Duration(max(c.DrainRounds, 1))
		if limit := c.Node.Disruption.GracePeriod; limit != nil {
			took = min(took, *limit)
		}
		longest = max(longest, took)
	}
	return longest
}

func gracePeriodOf(pod *corev1.Pod) time.Duration {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return time.Duration(min(max(*pod.Spec.TerminationGracePeriodSeconds, 0), int64(longestGracePeriod/time.Second))) * time.Second
}

// longestGracePeriod bounds grace periods, and their sum for all rounds of evictions: greater ones exceed what a Duration can hold.
const longestGracePeriod = 100 * 365 * 24 * time.Hour

// backoff is for how long nodes are left alone after commands for them were rejected, by the name of the NodeClaim.
type backoff map[string]failure

type failure struct {
	delay time.Duration
	until time.Time
}

// fail starts or extends the backoff of a node, as the controller does, without jitter.
func (b backoff) fail(name string, now time.Time) {
	f := b[name]
	f.delay = min(max(2*f.delay, problem.MinBackoff), problem.MaxBackoff)
	f.until = now.Add(f.delay)
	b[name] = f
}

func (b backoff) active(now time.Time) map[string]bool {
	out := map[string]bool{}
	for name, f := range b {
		if now.Before(f.until) {
			out[name] = true
		}
	}
	return out
}
