package explain

import (
	"context"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Analysis answers any number of questions about the same objects, and evaluates them once. It is for one goroutine at a time.
type Analysis struct{ *analysis }

// NewAnalysis evaluates the objects of a question. Errors are those of the provider that lists instance types.
func NewAnalysis(ctx context.Context, q Question) (Analysis, error) {
	s, err := newAnalysis(ctx, q)
	return Analysis{s}, err
}

// Node explains a node, as AboutNode does.
func (s Analysis) Node(ctx context.Context, name string) (Node, error) { return s.aboutNode(ctx, name) }

// NodePool explains a NodePool, as AboutNodePool does.
func (s Analysis) NodePool(ctx context.Context, name string) (NodePool, error) {
	return s.aboutNodePool(ctx, name)
}

// Standing explains a NodePool without Disruption, which takes simulations for each of its nodes.
func (s Analysis) Standing(name string) (NodePool, error) { return s.standing(name) }

// View is the cluster as disruption sees it. It must not be changed.
func (s Analysis) View() simulation.DisruptionView { return s.view }

// Cause is why there is a reason to disrupt a node, and what prevents it. Both are empty for none.
type Cause struct {
	Reason   disrupt.Reason
	Obstacle disrupt.Code
}

// Causes are those of all nodes with a reason, by the name of the Node, or of the NodeClaim where there is none. They are what can be said without
// simulations: unhealthy, drifted and empty nodes; whether others can be consolidated is not part of it, nor whether pods fit elsewhere.
func (s Analysis) Causes() map[string]Cause {
	out := map[string]Cause{}
	unhealthy := map[string]bool{}
	if s.Options.NodeRepair {
		candidates, obstacles := s.assessed.Qualification.Unhealthy()
		for _, c := range candidates {
			unhealthy[c.Node.ID] = true
		}
		for _, o := range obstacles {
			unhealthy[o.Node.ID] = true
			out[o.Node.Name] = Cause{disrupt.Unhealthy, o.Code}
		}
	}
	for _, pool := range s.ofPool {
		for _, n := range pool {
			if _, known := out[n.Name]; known || n.Deleting {
				continue
			}
			if reason := s.reasonFor(n, unhealthy[n.ID]); reason != "" {
				out[n.Name] = Cause{reason, s.obstacleTo(n, reason)}
			}
		}
	}
	return out
}

// reasonFor is the first reason to disrupt a node; empty for none.
func (s Analysis) reasonFor(n *model.Node, unhealthy bool) disrupt.Reason {
	switch {
	case unhealthy:
		return disrupt.Unhealthy
	case n.Disruption.Drifted:
		return disrupt.Drifted
	case !n.Initialized:
		return ""
	}
	c, ok := s.candidate(n.ID)
	if !ok {
		return ""
	}
	if m := disrupt.MethodFor(disrupt.Empty, c); m.Filter(c) != "" {
		return ""
	}
	for _, p := range n.Pods {
		if p.Reschedulable {
			return ""
		}
	}
	return disrupt.Empty
}

// obstacleTo is what prevents the disruption of a node for a reason, without simulations.
func (s Analysis) obstacleTo(n *model.Node, reason disrupt.Reason) disrupt.Code {
	if reason == disrupt.Unhealthy {
		return ""
	}
	if o, barred := s.excluded[n.ID]; barred {
		if o.Code == disrupt.InCommand {
			return "" // its disruption is under way
		}
		return o.Code
	}
	c, ok := s.candidate(n.ID)
	if !ok {
		return ""
	}
	m := disrupt.MethodFor(reason, c)
	taken, refused := m.FilterNodes(m.Together(c, s.assessed.Candidates))
	if o, ok := obstacleOf(c, refused); ok {
		return o.Code
	}
	_, blocked := m.FilterPods(taken, s.assessed.PodObstacles)
	if o, ok := obstacleOf(c, blocked); ok {
		return o.Code
	}
	budgets := disrupt.Budgets{n.Pool: s.allowance(n.Pool, reason).Remaining}
	if over := budgets.OverBudget([]disrupt.Candidate{c}); over != nil {
		return over.Code
	}
	return ""
}

// Proposed are the commands of one pass of disruption: those of the first method that finds any, within the budgets. The controller also
// knows commands under way and backoffs, and may decide otherwise. It stops early once expired reports true, and complete is false then.
func (s Analysis) Proposed(expired func() bool) (commands []disrupt.Command, complete bool) {
	for _, m := range s.view.Methods() {
		if expired() {
			return nil, false
		}
		wanted, _ := m.FilterNodes(s.assessed.Candidates)
		fit, _ := m.FilterPods(wanted, s.assessed.PodObstacles)
		budgets := s.budgetsFor(m.Reason)
		if m.Admit != nil {
			fit, _ = m.Admit(budgets, fit)
		}
		if len(fit) == 0 {
			continue
		}
		d := s.assessed.DecideUntil(m, fit, budgets, expired)
		if len(d.Commands) > 0 || d.TimedOut {
			return d.Commands, !d.TimedOut
		}
	}
	return nil, true
}

// CommandPlan is what a command does with its nodes, and whether it has to be approved.
func (s Analysis) CommandPlan(c disrupt.Command) *Plan { return s.planOf(c, &model.Node{}) }
