package forecast

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// wait records the nodes that OperationsPolicies do not let a method take now, and when they do, and those of DisruptionPlans of the cluster.
func wait(r *run, a simulation.Assessment, m disrupt.Method, refused []disrupt.Obstacle) {
	var closed []disrupt.Obstacle
	for _, o := range refused {
		switch {
		case o.Node == nil:
			continue
		case o.Code.OfPlan():
			// The nodes of commands that have to be approved are listed with these.
			if plan := a.Qualification.Proposals[o.Node.ID]; plan.Reason == m.Reason && plan != r.proposals[o.Node.ID] {
				closed = append(closed, o)
			}
			continue
		case !o.Code.OfClosure():
			continue
		}
		closed = append(closed, o)
		if c, _ := a.Operations.Closed(o.Node.Pool, m.Reason); c.Until.After(r.now) {
			r.opens = earliest(r.opens, c.Until)
		}
	}
	block(r, m, closed)
}

// asks reports whether a command has to be approved, and records it. Its nodes are left alone from then on.
func asks(r *run, a simulation.Assessment, c disrupt.Command) bool {
	d, asked := a.Demand(c)
	if !asked {
		return false
	}
	out := Approval{
		Reason: string(c.Reason), Decision: c.Decision(), At: r.now.Sub(r.opts.Now), Pools: c.Pools(), Policy: d.Policy, Why: d.Why,
	}
	if saves := problem.SavingsOf(c); !math.IsNaN(saves) {
		out.Savings, out.SavingsKnown = saves, true
	}
	for _, candidate := range c.Candidates {
		out.Nodes = append(out.Nodes, candidate.Node.Name)
		r.proposals[candidate.Node.ID] = disrupt.Proposal{Plan: "forecast", Reason: c.Reason}
	}
	r.out.Approvals = append(r.out.Approvals, out)
	return true
}

// refused is why caps on cost do not admit the replacements of a command; nil if they do.
func refused(r *run, c *running) error {
	var claims []*v1.NodeClaim
	translator := r.cluster.Builder().Translator
	for _, planned := range c.plan.Replacements {
		claims = append(claims, translator.NodeClaim(r.view.Pools[planned.Pool], planned, r.gracePeriod()))
	}
	if c.plan.Static {
		claims = append(claims, translator.StaticNodeClaim(r.view.Pools[c.plan.Candidates[0].Node.Pool], r.gracePeriod()))
	}
	return r.cluster.Admit(claims...)
}

// closures notes the disruption that OperationsPolicies do not allow at the start.
func closures(r *run) {
	ops := problem.NewOperations(r.cluster.Policies(), r.view.Pools, r.now)
	type key struct{ pool, policy, kind string }
	reasons := map[key][]string{}
	text := map[key]func(string) string{}
	for _, pool := range sortedKeys(r.view.Pools) {
		for _, reason := range disrupt.Reasons() {
			if c, closed := ops.Closed(pool, reason); closed {
				k := key{pool, c.Policy, string(c.Kind)}
				reasons[k] = append(reasons[k], string(reason))
				text[k] = func(of string) string { return c.Text(pool, of) }
			}
		}
	}
	inOrder := func(a, b key) int {
		return cmp.Or(strings.Compare(a.pool, b.pool), strings.Compare(a.policy, b.policy), strings.Compare(a.kind, b.kind))
	}
	for _, k := range slices.SortedFunc(maps.Keys(reasons), inOrder) {
		r.note("at the start, %s", text[k](strings.Join(reasons[k], ", ")))
	}
}
