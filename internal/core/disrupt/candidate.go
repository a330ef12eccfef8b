package disrupt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
)

// baseCost is the fixed price of cycling a node, in the unit of eviction costs: one ordinary pod.
const baseCost = 1

// Pool is the disruption settings and state of a NodePool.
type Pool struct {
	Name string
	// Static is set when the pool has a fixed number of nodes.
	Static bool
	// ConsolidationDisabled is set when consolidation is turned off.
	ConsolidationDisabled bool
	// Usable is set while the pool is ready and not being deleted.
	Usable bool
	// ConsolidateAfter is how long a node has to be without pod events; 0 for not at all.
	ConsolidateAfter time.Duration
	// Policy is the consolidation policy.
	Policy string
	// NoSpareNode is set for a static pool whose node limit does not exceed its replicas: no replacement can be launched beside them.
	NoSpareNode bool
	// Surplus is set while a static pool has more nodes than it should have.
	Surplus bool
	// HeadroomUnknown is set while it is not known which of its nodes reserve capacity for capacity buffers.
	HeadroomUnknown bool
	// TooManyUnhealthy is set while more than a fifth of the nodes are unhealthy.
	TooManyUnhealthy bool
	// InBackoff is set while no replacements are launched, because replacements of the pool failed recently.
	InBackoff bool
	// NoInstanceTypes is set while the instance types of the pool are not known.
	NoInstanceTypes bool
	// Closed are the reasons for which operations policies do not allow disruption now, SoftExpiry when they let nodes expire softly; nil for
	// never.
	Closed     map[Reason]policy.Closure
	SoftExpiry *policy.SoftExpiry
}

// The consolidation policies.
const (
	whenEmpty                = "WhenEmpty"
	whenEmptyOrUnderutilized = "WhenEmptyOrUnderutilized"
	Balanced                 = "Balanced"
)

// QualifyInput is the input of Qualify.
type QualifyInput struct {
	Snapshot *model.Snapshot
	Now      time.Time
	// Pools are the pools of this installation by name.
	Pools map[string]Pool
	// InCommand are the IDs of nodes that belong to a command.
	InCommand map[string]bool
	// Backoff are the names of NodeClaims for which a command failed recently, GroupBackoff those for which a command about
	// several nodes was rejected.
	Backoff, GroupBackoff map[string]bool
	// Proposals are the plans that nodes are part of, by node ID.
	Proposals map[string]Proposal
	// RebootedTooOften are the names of NodeClaims that are replaced in place of another reboot.
	RebootedTooOften map[string]bool
}

// Candidate is a node that may be disrupted, as far as the node itself and its pool are concerned.
type Candidate struct {
	Node *model.Node
	Pool Pool
	// PodsToMove are the pods that have to run elsewhere when the node is removed.
	PodsToMove []*model.Pod
	// DisruptionCost is 1 plus the eviction costs of these pods; negative ones count as 0.
	DisruptionCost float64
	// Price of the node in dollars an hour; 0 when it is not known.
	Price float64
	// DrainRounds is in how many rounds the pods have to be evicted, because PodDisruptionBudgets allow only some at a time; 0
	// and 1 for one round.
	DrainRounds int
	// TypeKnown is set when the cloud lists the node's instance type.
	TypeKnown bool
	// SplitsGroup is set when the node has pods of a PodGroup that is disrupted as a whole, and other nodes have pods of it too.
	SplitsGroup bool
	// unit is the nodes that are joined to this one by such groups; nil where SplitsGroup is not set.
	unit *unit
	// InBackoff is set while the node is left alone because a command for it failed recently, InGroupBackoff while it is
	// considered only by itself because a command for it and others was rejected.
	InBackoff, InGroupBackoff bool
	// SoftExpired is when the node expired softly, in nanoseconds since the epoch; 0 if it has not.
	SoftExpired int64
	// Repair is what repair policies want for the node; nil except for the unhealthy ones of QualifyInput.Unhealthy. RepairCost orders those that
	// are equally urgent.
	Repair     *repair.Decision
	RepairCost float64
	// Proposal is the plan that the node is part of; the zero value for none.
	Proposal Proposal
	// EveryPod makes simulations move all pods, also those that may not be evicted now.
	EveryPod bool
}

// SavingsRatio is the price of the node per disruption cost. Nodes with a higher ratio are disrupted first.
func (c Candidate) SavingsRatio() float64 { return c.Price / c.DisruptionCost }

// Qualify returns the nodes that may be disrupted, and the obstacles of the others: one obstacle per node, the
// first that applies. Both lists are in the order of node IDs. Pods are not considered yet; see Method.FilterPods.
//
// Source: disruption specification, candidates.
func Qualify(w QualifyInput) ([]Candidate, []Obstacle) {
	var candidates []Candidate
	var obstacles []Obstacle
	joined := units(w.Snapshot)
	for _, n := range w.Snapshot.Nodes.Sorted() {
		if code := w.disqualifies(n); code != "" {
			o := Obstacle{Code: code, Node: n}
			if u := joined[n.ID]; u != nil {
				u.excluded[n.ID] = o
			}
			obstacles = append(obstacles, o)
			continue
		}
		c := newCandidate(n, w.Pools[n.Pool])
		c.InBackoff, c.InGroupBackoff = w.Backoff[n.ClaimName], w.GroupBackoff[n.ClaimName]
		c.SoftExpired, c.Proposal = w.softExpired(n), w.Proposals[n.ID]
		if c.unit = joined[n.ID]; c.unit != nil {
			c.SplitsGroup = true
			c.unit.drifted = c.unit.drifted || n.Disruption.Drifted && !c.Pool.Static
			c.unit.expired = c.unit.expired || c.SoftExpired != 0 && !c.Pool.Static
		}
		candidates = append(candidates, c)
	}
	return candidates, obstacles
}

func (w QualifyInput) disqualifies(n *model.Node) Code {
	switch {
	case w.InCommand[n.ID]:
		return InCommand
	case !n.Managed:
		return NoNodeClaim
	case n.NodeName == "":
		return NoNode
	case n.Rebooting:
		return Rebooting
	case n.Deleting:
		return Deleting
	case !n.Registered && !n.Initialized:
		return NotRegistered
	case !n.Initialized:
		return NotInitialized
	case n.NominatedUntil > w.Now.UnixNano():
		return Nominated
	case n.Disruption.DoNotDisrupt:
		return NodeProtected
	}
	return w.disqualifiesPool(n)
}

// disqualifiesPool is why a node may not be disrupted because of its pool.
func (w QualifyInput) disqualifiesPool(n *model.Node) Code {
	if n.Pool == "" {
		return NoPoolLabel
	}
	if _, ok := w.Pools[n.Pool]; !ok {
		return PoolNotFound
	}
	return ""
}

func newCandidate(n *model.Node, pool Pool) Candidate {
	c := Candidate{Node: n, Pool: pool, DisruptionCost: RescheduleCost(n)}
	for _, p := range n.Pods {
		if p.Reschedulable {
			c.PodsToMove = append(c.PodsToMove, p)
		}
	}
	return c
}

// RescheduleCost is the disruption cost of a node: 1 plus the eviction costs of the pods that have to run elsewhere when it is removed, without
// negative ones.
func RescheduleCost(n *model.Node) float64 {
	sum := float64(baseCost)
	for _, p := range n.Pods {
		if p.Reschedulable {
			sum += movingCost(p)
		}
	}
	return sum
}

// movingCost is what a pod adds to the disruption cost of its node: its eviction cost, 0 if that is negative. A pod that its owner declares free
// to disrupt does not make the others on its node cheaper. Source: disruption specification, reschedule cost.
func movingCost(p *model.Pod) float64 { return max(p.EvictionCost, 0) }

// byRatio orders candidates by savings ratio, best first; of those that are equal the ones that are drained sooner. Ties are
// broken by name, so that the same input always gives the same choice.
func byRatio(list []Candidate) []Candidate {
	out := slices.Clone(list)
	slices.SortFunc(out, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.SavingsRatio(), a.SavingsRatio()), cmp.Compare(max(a.DrainRounds, 1), max(b.DrainRounds, 1)), strings.Compare(a.Node.Name, b.Node.Name), strings.Compare(a.Node.ID, b.Node.ID))
	})
	return out
}
