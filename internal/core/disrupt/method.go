// Package disrupt decides which nodes are removed before their time, and says of every other node why it is not.
//
// Problem: find nodes that cost money or rules for nothing, without disturbing more than budgets and owners allow.
// Approach: four pure steps that every method shares. Qualify tells the nodes that may be touched at all from the others.
// A Method then wants some of these, Admit looks at what their pods say, Pick composes commands under the budgets. Later,
// when pods on their way have had the time to show up, Check holds a command against a newer world and keeps what is still
// right. Invariant: a node is in at most one command, and its disruption is paid for from its pool's budgets from the
// moment it was picked. Cost: linear in nodes and bound pods, plus sorting the nodes a method wants.
//
// Source: disruption specification, voluntary disruption.
package disrupt

import "github.com/karpenter-anew/karpenter/internal/core/model"

// Reason is why nodes are disrupted, as budgets and conditions name it.
type Reason string

// The reasons for disruption.
const (
	// Empty nodes have no pod that would have to move.
	Empty Reason = "Empty"
	// Drifted nodes are not what would be launched today.
	Drifted Reason = "Drifted"
	// Underutilized nodes can be had for less.
	Underutilized Reason = "Underutilized"
)

// Class is how a method treats pods that refuse to be evicted.
type Class int

const (
	// Graceful methods leave nodes with such pods alone.
	Graceful Class = iota
	// Eventual methods take them if the node has a termination grace period.
	Eventual
)

// Method is one way to find nodes to disrupt.
type Method struct {
	// Name tells methods apart.
	Name   string
	Reason Reason
	// Type is the value of the consolidation_type label of metrics.
	Type  string
	Class Class
	// Refuses is why the method does not want a candidate, whatever its pods say; empty when it wants it.
	Filter func(Candidate) Code
	// Pick composes commands from candidates and uses the budgets up. Methods that ask where pods would go have Decide in its
	// place.
	Pick   func(fit []Candidate, budgets Budgets) Decision
	Decide func(s Session, fit []Candidate) Decision
	// Consolidates is set for methods that simulate by the rules of consolidation.
	Consolidates bool
	// Recheck is the last look at a command, after its nodes were closed to new pods and before they are deleted; nil for none.
	Revalidate func(c Command, now *model.Snapshot) Validation
}

// Waits reports whether commands are checked again before they are started.
func (m Method) Waits() bool { return m.Reason != Drifted }

// Want keeps the candidates that the method wants, and says why it does not want the others.
func (m Method) FilterNodes(candidates []Candidate) ([]Candidate, []Obstacle) {
	return partition(candidates, func(c Candidate) (Obstacle, bool) {
		code := m.Filter(c)
		return Obstacle{Code: code, Node: c.Node, Pool: c.Node.Pool}, code == ""
	})
}

// Admit keeps the candidates whose pods do not stand in the way. blocks are the obstacles that pods are, by node ID.
func (m Method) FilterPods(candidates []Candidate, blocks map[string]Obstacle) ([]Candidate, []Obstacle) {
	return partition(candidates, func(c Candidate) (Obstacle, bool) {
		o, blocked := blocks[c.Node.ID]
		waived := m.Class == Eventual && c.Node.Disruption.GracePeriod && o.Code.rule().Waivable
		return o, !blocked || waived
	})
}

func partition(candidates []Candidate, keep func(Candidate) (Obstacle, bool)) (kept []Candidate, obstacles []Obstacle) {
	for _, c := range candidates {
		if o, ok := keep(c); ok {
			kept = append(kept, c)
		} else {
			obstacles = append(obstacles, o)
		}
	}
	return kept, obstacles
}
