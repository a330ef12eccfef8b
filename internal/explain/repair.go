package explain

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// repairVerdict is what repair means for an unhealthy node, or for one that has to go together with an unhealthy one; nil for others, and where
// nodes are not repaired.
//
// Objects do not say which commands failed, nor how often a node was rebooted, so backoffs and escalated reboots are not known here.
func (s *analysis) repairVerdict(ctx context.Context, n *model.Node) (*Verdict, error) {
	if !s.Options.NodeRepair {
		return nil, nil //nolint:nilnil // no verdict
	}
	set, o, found := s.repairable(n, s.Options.Now)
	if !found {
		return nil, nil //nolint:nilnil // no verdict
	}
	v := &Verdict{Reason: string(disrupt.Unhealthy), Wanted: true, Conditions: s.conditions(n)}
	if o == nil {
		var command disrupt.Command
		var err error
		if command, o, err = s.repair(ctx, n, set, s.repairBudgets(set)); err != nil {
			return nil, err
		}
		if o == nil {
			v.Plan = s.planOf(command, n)
			v.Now = v.Plan.Approval == nil
			return v, nil
		}
	}
	shown := obstacleFor(s, *o, disrupt.Unhealthy)
	if o.Code.OfBudgets() {
		shown = s.budgetObstacle(*o, disrupt.Unhealthy)
	}
	if _, due := n.Health.Decide(s.Options.Now.UnixNano()); !due && len(n.Health.Matches) > 0 {
		shown.Until = firstDue(n)
	}
	shown.Then = thenRepair(s, n, *o, shown.Until)
	v.Obstacle = &shown
	return v, nil
}

// repairable are the candidates that are repaired together with a node at a time, or why it is none; found is false if repair does not concern it.
func (s *analysis) repairable(n *model.Node, at time.Time) (set []disrupt.Candidate, o *disrupt.Obstacle, found bool) {
	qualification := s.assessed.Qualification
	qualification.Now = at
	candidates, obstacles := qualification.Unhealthy()
	if o, ok := obstacleAt(n, obstacles); ok {
		return nil, &o, true
	}
	i := slices.IndexFunc(candidates, func(c disrupt.Candidate) bool { return c.Node.ID == n.ID })
	if i < 0 {
		return nil, nil, false
	}
	for i := range candidates {
		s.view.Prices[candidates[i].Node.Pool].Set(&candidates[i])
	}
	m := disrupt.Repair()
	taken, refused := m.FilterNodes(m.Together(candidates[i], candidates))
	if o, ok := obstacleAt(n, refused); ok {
		return nil, &o, true
	}
	pods := map[string]disrupt.Obstacle{}
	for _, c := range taken {
		found := problem.InspectPods(c.Node, s.view.Pods[c.Node.NodeName], s.view.PDBs, s.view.PDBLimits, at)
		if found.Blocked {
			pods[c.Node.ID] = found.Obstacle
		}
	}
	fit, blocked := m.FilterPods(taken, pods)
	if o, ok := obstacleAt(n, blocked); ok {
		return nil, &o, true
	}
	return fit, nil, true
}

// repairOutlook counts the unhealthy nodes of a pool that could be repaired, each by itself and without budgets, and the others of them.
func (s *analysis) repairOutlook(ctx context.Context, pool string) (Outlook, error) {
	out := Outlook{Reason: string(disrupt.Unhealthy), Others: []Tally{}}
	for _, n := range s.nodes(pool) {
		set, o, found := s.repairable(n, s.Options.Now)
		if !found {
			continue
		}
		if o == nil {
			unlimited := disrupt.Budgets{}
			for _, c := range set {
				unlimited[c.Node.Pool] = math.MaxInt
			}
			var err error
			var command disrupt.Command
			if command, o, err = s.repair(ctx, n, set, unlimited); err != nil {
				return Outlook{}, err
			}
			if _, asked := s.assessed.Demand(command); asked && o == nil {
				out.NeedApproval++
			}
		}
		if o == nil {
			out.Possible++
			continue
		}
		out.Others = s.count(out.Others, n, *o, true)
	}
	return out, nil
}

// repairBudgets are the budgets for repair of the pools of candidates.
func (s *analysis) repairBudgets(set []disrupt.Candidate) disrupt.Budgets {
	out := disrupt.Budgets{}
	for _, c := range set {
		out[c.Node.Pool] = s.allowance(c.Node.Pool, disrupt.Unhealthy).Remaining
	}
	return out
}

// repair is the command for candidates that are repaired together, within budgets, or the obstacle of one of their nodes.
func (s *analysis) repair(ctx context.Context, n *model.Node, set []disrupt.Candidate, budgets disrupt.Budgets) (disrupt.Command, *disrupt.Obstacle, error) {
	m := disrupt.Repair()
	admitted, refused := m.Admit(budgets, set)
	if o, ok := obstacleAt(n, refused); ok {
		return disrupt.Command{}, &o, nil
	}
	input, _, err := s.view.Builder.Disruption(ctx, problem.Disruption{
		Snapshot: s.view.Snapshot, Now: s.Options.Now, Pools: s.assessed.Qualification.Pools, Candidates: admitted, Budgets: s.view.PDBs, PriceOf: s.view.PriceOf,
	})
	if err != nil {
		return disrupt.Command{}, nil, fmt.Errorf("simulating the cluster without node %q: %w", n.Name, err)
	}
	session := input.Serial(input.Simulator(admitted, m.Simulates), budgets, s.view.Grant)
	session.TerminateFirst, session.TerminateFirstStatic = s.Options.TerminateFirstRepair, s.Options.TerminateFirstRepair
	d := m.Decide(session, admitted)
	if len(d.Commands) > 0 {
		return d.Commands[0], nil, nil
	}
	if o, ok := obstacleAt(n, d.Obstacles); ok {
		return disrupt.Command{}, &o, nil
	}
	return disrupt.Command{}, &disrupt.Obstacle{Code: disrupt.NotReached, Node: n}, nil
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
