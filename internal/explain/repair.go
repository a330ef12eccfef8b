package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// repairVerdict is what repair means for an unhealthy node; nil for a healthy one, and where nodes are not repaired.
//
// Objects do not say which commands failed, nor how often a node was rebooted, so backoffs and escalated reboots are not known here.
func (s *analysis) repairVerdict(ctx context.Context, n *model.Node) (*Verdict, error) {
	if !s.Options.NodeRepair || len(n.Health.Matches) == 0 {
		return nil, nil //nolint:nilnil // no verdict
	}
	v := &Verdict{Reason: string(disrupt.Unhealthy), Wanted: true, Conditions: s.conditions(n)}
	c, o, err := s.repairable(ctx, n)
	if err != nil {
		return nil, err
	}
	var command disrupt.Command
	if o == nil {
		command, o, err = s.repair(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	if o == nil {
		v.Plan, v.Now = s.planOf(command, n), true
		return v, nil
	}
	var shown Obstacle
	if o.Code == disrupt.NodePoolBudgetExhausted {
		shown = s.budgetObstacle(*o, disrupt.Unhealthy)
	} else {
		shown = s.obstacle(*o)
	}
	if _, due := n.Health.Decide(s.Options.Now.UnixNano()); !due {
		shown.Until = firstDue(n)
	}
	v.Obstacle = &shown
	return v, nil
}

// repairable is the candidate of an unhealthy node, or why it is none.
func (s *analysis) repairable(ctx context.Context, n *model.Node) (disrupt.Candidate, *disrupt.Obstacle, error) {
	candidates, obstacles := s.qualification.Unhealthy()
	if i := slices.IndexFunc(obstacles, func(o disrupt.Obstacle) bool { return o.Node.ID == n.ID }); i >= 0 {
		return disrupt.Candidate{}, &obstacles[i], nil
	}
	i := slices.IndexFunc(candidates, func(c disrupt.Candidate) bool { return c.Node.ID == n.ID })
	if i < 0 {
		return disrupt.Candidate{}, nil, fmt.Errorf("node %q: %w", n.Name, ErrNotFound)
	}
	c, m := candidates[i], disrupt.Repair()
	s.view.Prices[c.Node.Pool].Set(&c)
	taken, refused := m.FilterNodes([]disrupt.Candidate{c})
	if len(refused) > 0 {
		return c, &refused[0], nil
	}
	pods := map[string]disrupt.Obstacle{}
	found := problem.InspectPods(n, s.view.Pods[n.NodeName], s.view.PDBs, s.view.PDBLimits, s.Options.Now)
	if found.Blocked {
		pods[n.ID] = found.Obstacle
	}
	if _, blocked := m.FilterPods(taken, pods); len(blocked) > 0 {
		return c, &blocked[0], nil
	}
	return c, nil, ctx.Err()
}

// repair is the command for a candidate within the budgets, or its obstacle.
func (s *analysis) repair(ctx context.Context, c disrupt.Candidate) (disrupt.Command, *disrupt.Obstacle, error) {
	m, one := disrupt.Repair(), []disrupt.Candidate{c}
	budgets := disrupt.Budgets{c.Node.Pool: s.allowance(c.Node.Pool, disrupt.Unhealthy).Remaining}
	if _, refused := m.Admit(budgets, one); len(refused) > 0 {
		return disrupt.Command{}, &refused[0], nil
	}
	input, _, err := s.view.Builder.Disruption(ctx, problem.Disruption{
		Snapshot: s.view.Snapshot, Now: s.Options.Now, Pools: s.qualification.Pools, Candidates: one, Budgets: s.view.PDBs, PriceOf: s.priceOf,
	})
	if err != nil {
		return disrupt.Command{}, nil, fmt.Errorf("simulating the cluster without node %q: %w", c.Node.Name, err)
	}
	session := input.Serial(input.Simulator(one, m.Simulates), budgets, s.grant)
	session.TerminateFirst, session.TerminateFirstStatic = s.Options.TerminateFirstRepair, s.Options.TerminateFirstRepair
	switch d := m.Decide(session, one); {
	case len(d.Commands) > 0:
		return d.Commands[0], nil, nil
	case len(d.Obstacles) > 0:
		return disrupt.Command{}, &d.Obstacles[0], nil
	}
	return disrupt.Command{}, &disrupt.NotReachedObstacles(one)[0], nil
}

// conditions describes the conditions of a node that repair policies match, with what these say.
func (s *analysis) conditions(n *model.Node) []string {
	var out []string
	for _, m := range n.Health.Matches {
		text := fmt.Sprintf("%s=%s since %s, tolerated for %s, then %s", m.Condition.Type, m.Condition.Status,
			time.Unix(0, m.Condition.Since).UTC().Format(time.RFC3339), m.Rule.Toleration, m.Rule.Action)
		if grace := m.Rule.GracePeriod; grace != nil {
			text += fmt.Sprintf(" with at most %s to drain", *grace)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// firstDue is when the first condition of a node is no longer tolerated.
func firstDue(n *model.Node) *time.Time {
	var first time.Time
	for _, m := range n.Health.Matches {
		if at := time.Unix(0, m.EligibleAt(n.Health.Rebooted)).UTC(); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return &first
}
