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
)

// running is a command that the controller has not ended: the NodeClaims of its nodes are not deleted.
type running struct {
	method   disrupt.Method
	plan     disrupt.Command
	proposed time.Time
	phase    phase
	// due is when the command is validated.
	due time.Time
	// index is that in the commands of the forecast, once the command is validated.
	index int
	// launched are the names of its replacements.
	launched []string
}

// propose queues a command to be validated; those of methods that are not queued start at once. changed is when the change happened that
// triggered the pass.
func (r *run) propose(ctx context.Context, m disrupt.Method, plan disrupt.Command, changed time.Time) error {
	c := &running{method: m, plan: plan, proposed: r.now, due: changed.Add(problem.ValidationDelay)}
	r.underway = append(r.underway, c)
	if m.Queued {
		return nil
	}
	return r.begin(ctx, c)
}

// validateDue validates the commands that are due: first those that were found without simulation, then each other one in a view that shows
// those before it.
func (r *run) validateDue(ctx context.Context) error {
	for _, simulated := range []bool{false, true} {
		for _, c := range slices.Clone(r.underway) {
			if c.phase != validating || c.due.After(r.now) || simulated != (c.method.Simulates != disrupt.NoSimulation) {
				continue
			}
			valid, err := r.validate(ctx, c)
			switch {
			case err != nil:
				return err
			case !valid:
				r.drop(c)
				r.loop.timePasses = earliest(r.loop.timePasses, r.now) // the next pass may find another command for its nodes
			default:
				if err := r.begin(ctx, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *run) drop(c *running) {
	r.underway = slices.DeleteFunc(r.underway, func(o *running) bool { return o == c })
}

// validate decides about a command once more, as the controller does before it starts one.
func (r *run) validate(ctx context.Context, c *running) (bool, error) {
	r.mark()
	r.view = r.cluster.View()
	a, err := r.view.Assess(ctx, r.now, simulation.InProgress{Backoff: r.nodeBackoffs.Active(r.now), GroupBackoff: r.groupBackoffs.Active(r.now), Proposals: r.proposals})
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
	budgets := r.budgets(a, c.method.Reason, c)
	if c.method.Simulates == disrupt.NoSimulation {
		c.plan = disrupt.Validate(c.plan, fit, obstacles, budgets).Command
		return len(c.plan.Candidates) > 0, nil
	}
	verdict := a.Simulator(c.method.Simulates).Validate(c.plan, fit, obstacles, budgets)
	if len(verdict.Dropped) == 0 {
		c.plan = verdict.Command
		return true, nil
	}
	backoffs := r.nodeBackoffs
	if len(c.plan.Candidates) > 1 {
		backoffs = r.groupBackoffs
		r.wake() // the nodes may still be disrupted one by one
	}
	for _, candidate := range c.plan.Candidates {
		backoffs.Fail(candidate.Node.ClaimName, r.now)
	}
	return false, nil
}

// begin taints the nodes of a command that is valid, and launches the replacements.
func (r *run) begin(ctx context.Context, c *running) error {
	if err := refused(r, c); err != nil {
		r.note("some nodes are not replaced because of a cap on cost: %v", err)
		for _, candidate := range c.plan.Candidates {
			r.nodeBackoffs.Fail(candidate.Node.ClaimName, r.now)
		}
		r.drop(c)
		return nil
	}
	c.phase, c.index = launching, len(r.out.Commands)
	out := Command{
		Reason: string(c.plan.Reason), Decision: c.plan.Decision(), At: c.proposed.Sub(r.opts.Now), Pools: c.plan.Pools(),
		Moves: map[simulation.Owner]int{}, Savings: c.plan.Savings(), SavingsKnown: true,
	}
	for _, candidate := range c.plan.Candidates {
		r.ending++
		r.taint(candidate.Node.NodeName, v1.DisruptedNoScheduleTaint())
		out.Nodes = append(out.Nodes, candidate.Node.Name)
		_, known := r.view.Prices[candidate.Node.Pool].Known(candidate.Node)
		out.SavingsKnown = out.SavingsKnown && known
	}
	r.out.Commands = append(r.out.Commands, out)
	if err := r.launchReplacements(ctx, c); err != nil {
		return err
	}
	r.cluster.Mark(c.plan.IDs()...)
	ready := r.now
	if len(c.launched) > 0 {
		// The controller looks at the replacements at intervals.
		ready = r.now.Add((r.out.Launch/problem.PollInterval + 1) * problem.PollInterval)
	}
	for _, at := range c.plan.Placements {
		r.cluster.Nominate(ready.Add(r.window()), at.Node.ID)
	}
	r.wake()
	if ready.Equal(r.now) {
		r.deleteClaims(c)
		return nil
	}
	r.order(ready, func() { r.deleteClaims(c) })
	return nil
}

// launchReplacements creates the NodeClaims of a command.
func (r *run) launchReplacements(ctx context.Context, c *running) error {
	for _, planned := range c.plan.Replacements {
		claim := r.cluster.Builder().Translator.NodeClaim(r.view.Pools[planned.Pool], planned, r.gracePeriod())
		if err := r.replace(ctx, c, planned.Pool, claim); err != nil {
			return err
		}
		r.cluster.KeepHeadroom(claim.Name, planned.Pods)
	}
	if !c.plan.Static {
		return nil
	}
	pool := c.plan.Candidates[0].Node.Pool
	return r.replace(ctx, c, pool, r.cluster.Builder().Translator.StaticNodeClaim(r.view.Pools[pool], r.gracePeriod()))
}

func (r *run) replace(ctx context.Context, c *running, pool string, claim *v1.NodeClaim) error {
	node, ok, err := r.launch(ctx, pool, claim)
	if ok {
		c.launched = append(c.launched, claim.Name)
		out := &r.out.Commands[c.index]
		out.Launches = append(out.Launches, node)
		if c.plan.Static {
			out.Savings += c.plan.Cost() - node.Price // a command about a static pool does not say what is launched
		}
	}
	return err
}

// deleteClaims deletes the NodeClaims of a command whose replacements are ready, which ends it.
func (r *run) deleteClaims(c *running) {
	longest := time.Duration(0)
	for _, candidate := range c.plan.Candidates {
		took := r.drainTime(candidate)
		longest = max(longest, took)
		r.deleteClaim(candidate.Node.NodeName, candidate.Node.ClaimName, took, r.out.Commands[c.index].Moves)
		r.nodeBackoffs.Succeed(candidate.Node.ClaimName)
	}
	r.out.Commands[c.index].Done = r.now.Add(longest).Sub(r.opts.Now)
	r.drop(c)
	r.wake()
}

// drainTime is how long the node of a candidate takes to drain: for each round of evictions the longest termination grace period among its pods.
func (r *run) drainTime(c disrupt.Candidate) time.Duration {
	var grace time.Duration
	for _, pod := range r.view.Pods[c.Node.NodeName] {
		grace = max(grace, gracePeriodOf(pod))
	}
	rounds := time.Duration(max(c.DrainRounds, 1))
	took := min(grace, longestGracePeriod/rounds) * rounds
	if limit := c.Node.Disruption.GracePeriod; limit != nil {
		took = min(took, *limit)
	}
	return took
}

func gracePeriodOf(pod *corev1.Pod) time.Duration {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return time.Duration(min(max(*pod.Spec.TerminationGracePeriodSeconds, 0), int64(longestGracePeriod/time.Second))) * time.Second
}

// longestGracePeriod bounds grace periods, and their sum for all rounds of evictions: greater ones exceed what a Duration can hold.
const longestGracePeriod = 100 * 365 * 24 * time.Hour
