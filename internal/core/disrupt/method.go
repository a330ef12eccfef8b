// Package disrupt decides which nodes are removed or replaced voluntarily, and reports an obstacle for every other node.
//
// Problem: find nodes that cost more than necessary or differ from their NodePool, without disrupting more than budgets and
// owners allow. Approach: four pure steps that every Method shares. Qualify separates the nodes that may be disrupted at all from
// the others. FilterNodes keeps those that the method is for, FilterPods those whose pods may be evicted, Decide composes
// commands under the budgets. Later, when pods have been bound, Validate compares a command with a newer snapshot and keeps
// the candidates that are still valid. Invariant: a node is in at most one command, and counts against the budgets of its pool
// from the moment of the decision. Cost: linear in nodes and bound pods, plus sorting the candidates and the simulations.
//
// Source: disruption specification, voluntary disruption.
package disrupt

import (
	"slices"
	"time"
)

// Reason is why nodes are disrupted, as budgets and conditions name it.
type Reason string

// The reasons for disruption.
const (
	// Empty nodes have no pod that would have to move.
	Empty Reason = "Empty"
	// Drifted nodes differ from what their pool would launch today.
	Drifted Reason = "Drifted"
	// Underutilized nodes can be removed, or replaced at a lower price.
	Underutilized Reason = "Underutilized"
	// Unhealthy nodes have a condition that repair policies do not tolerate any longer.
	Unhealthy Reason = "Unhealthy"
	// Expired nodes are near the end of their lives, by the soft expiry of an operations policy.
	Expired Reason = "Expired"
)

// Reasons are the reasons of Methods, in the order in which these are tried.
func Reasons() []Reason { return []Reason{Empty, Drifted, Underutilized} }

// Class is how a method treats pods that may not be evicted.
type Class int

const (
	// Graceful methods leave nodes with such pods alone.
	Graceful Class = iota
	// Eventual methods take such nodes if they have a termination grace period.
	Eventual
	// repairing methods take such nodes if they, or the repair policies of unhealthy ones, have a termination grace period.
	repairing
)

// Simulation is how a method simulates where the pods of its candidates would be placed.
type Simulation int

const (
	// NoSimulation methods use nodes and budgets only.
	NoSimulation Simulation = iota
	// ForReplacement simulations launch whatever the pods need.
	ForReplacement
	// ForConsolidation simulations keep each NodeClaim in one piece, and, unless destinations are open, move no running pod to a node that is
	// within the consolidateAfter of its pool.
	ForConsolidation
)

// Search is which sets of candidates a method considers.
type Search int

const (
	// ByBudget takes candidates in order for as long as budgets last.
	ByBudget Search = iota
	// InOrder considers one candidate after the other, each on top of the commands before it.
	InOrder
	// CandidateSets considers sets of several candidates and takes the best one.
	CandidateSets
	// EachCandidate considers every candidate by itself, several at the same time, and takes the best ones first.
	EachCandidate
)

// How long one decision may take.
const (
	multiTimeout  = time.Minute
	searchTimeout = 3 * time.Minute
)

// Method is one way to find nodes to disrupt.
type Method struct {
	// Name identifies the method.
	Name   string
	Reason Reason
	// Type is the value of the consolidation_type label of metrics; empty for methods that are no consolidation.
	Type      string
	Class     Class
	Simulates Simulation
	Search    Search
	// Timeout is how long one decision may take; 0 for methods that do not simulate.
	Timeout time.Duration
	// Queued is set when a command waits to be validated before it starts.
	Queued bool
	// DropsOccupied is set when nodes that have got pods are dropped from a command after its nodes are tainted; see
	// DropOccupied. A method that simulates has found places for the pods instead.
	DropsOccupied bool
	// Memoized is set when the method is not run again until the cluster has changed, once it has found nothing.
	Memoized bool
	// ReportsEvaluation is set for the method whose candidates and durations the metrics of its Reason and Type show.
	ReportsEvaluation bool
	// movesUnits is set when nodes that are joined by PodGroups are disrupted by one command; other methods leave them alone.
	movesUnits bool
	// Filter is why the method does not take a candidate, regardless of its pods; empty when it takes it.
	Filter func(Candidate) Code
	// Admit returns the candidates to simulate, in their order, and the obstacles of the others; nil to simulate all.
	Admit func(budgets Budgets, fit []Candidate) ([]Candidate, []Obstacle)
	// Decide composes commands from candidates and uses up the budgets of the session.
	Decide func(s Session, fit []Candidate) Decision
}

// Methods are the methods of every cluster, in the order in which they are tried. Where nodes are repaired, Repair comes first.
func Methods() []Method {
	return []Method{emptiness(), dispensable(), staticDrift(), drift(), multiNode(), singleNode()}
}

// WithExpiry adds the methods of soft expiry to others, after those of drift. Without operations policies these do not exist.
func WithExpiry(methods []Method) []Method {
	at := slices.IndexFunc(methods, func(m Method) bool { return m.Reason == Underutilized && m.Search == CandidateSets })
	return slices.Insert(slices.Clone(methods), at, staticExpiry(), expiry())
}

// MethodFor is the method that decides about a candidate by itself for a reason: the first one that takes it, or else the
// first one that is meant for pools of its kind.
func MethodFor(reason Reason, c Candidate) Method {
	var meant []Method
	for _, m := range WithExpiry(Methods()) {
		if m.Reason != reason || m.Search == CandidateSets {
			continue
		}
		switch m.Filter(c) {
		case "":
			return m
		case NotStatic:
		default:
			meant = append(meant, m)
		}
	}
	return meant[0]
}

// Repairs reports whether the method is Repair.
func (m Method) Repairs() bool { return m.Class == repairing }

// FilterNodes keeps the candidates that the method takes, and returns the obstacles of the others.
func (m Method) FilterNodes(candidates []Candidate) ([]Candidate, []Obstacle) {
	return m.wholeUnits(partition(candidates, func(c Candidate) (Obstacle, bool) {
		if code := m.Filter(c); code != "" {
			return Obstacle{Code: code, Node: c.Node, Pool: c.Node.Pool}, false
		}
		if o, held := c.held(m.Reason); held {
			return o, false
		}
		o, closed := c.Closed(m.Reason)
		return o, !closed
	}))
}

// FilterPods keeps the candidates whose pods may be evicted. blocks are the obstacles of pods, by node ID.
func (m Method) FilterPods(candidates []Candidate, blocks map[string]Obstacle) ([]Candidate, []Obstacle) {
	return m.wholeUnits(partition(candidates, func(c Candidate) (Obstacle, bool) {
		o, blocked := blocks[c.Node.ID]
		limited := c.Node.Disruption.GracePeriod != nil
		switch {
		case !blocked:
			return o, true
		case m.Class == Graceful || !o.Code.rule().Waivable:
			return o, false
		case c.Repair != nil:
			return Obstacle{Code: noGracePeriodForRepair, Node: c.Node}, limited || c.Repair.GracePeriod != nil
		}
		return o, limited
	}))
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
