package explain

import (
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// The first obstacle of a node may be one that only time ends. Advice to wait misleads if another one follows it that does not end with time, so
// that the answer names that one as well, where no simulation is needed to find it.

// thenPods is the obstacle of the pods of a candidate that follows o, which ends with time at until, if that is known; nil for none.
func thenPods(s *analysis, o disrupt.Obstacle, until *time.Time, reason disrupt.Reason, c disrupt.Candidate) *Obstacle {
	if until == nil && o.Code != disrupt.NotConsolidatable {
		return nil
	}
	at := s.Options.Now
	if until != nil && until.After(at) {
		at = *until
	}
	found := problem.InspectPods(c.Node, s.view.Pods[c.Node.NodeName], s.view.PDBs, s.view.PDBLimits, at)
	if !found.Blocked {
		return nil
	}
	m := disrupt.MethodFor(reason, c)
	_, blocked := m.FilterPods([]disrupt.Candidate{c}, map[string]disrupt.Obstacle{c.Node.ID: found.Obstacle})
	next, ok := obstacleOf(c, blocked)
	if !ok {
		return nil
	}
	shown := s.obstacle(next)
	return &shown
}

// thenAnnotation is the annotation of a node that keeps it from being disrupted after o, which ends with time, has; nil for none.
func thenAnnotation(s *analysis, o disrupt.Obstacle) *Obstacle {
	switch o.Code {
	case disrupt.Nominated, disrupt.NotInitialized, disrupt.Rebooting:
	default:
		return nil
	}
	if !o.Node.Disruption.DoNotDisrupt {
		return nil
	}
	shown := s.obstacle(disrupt.Obstacle{Code: disrupt.NodeProtected, Node: o.Node})
	return &shown
}

// thenRepair is the obstacle to the repair of a node that follows o, which ends with time at until, budgets and simulations aside; nil for none.
func thenRepair(s *analysis, n *model.Node, o disrupt.Obstacle, until *time.Time) *Obstacle {
	if until == nil {
		return nil
	}
	_, next, _ := s.repairable(n, *until)
	if next == nil || next.Code == o.Code || next.Code.OfClosure() { // whether a closure lasts as long is not known here
		return nil
	}
	shown := s.obstacle(*next)
	return &shown
}
