package disrupt

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
)

// Repair replaces or reboots nodes that repair policies call unhealthy, the most urgent one first.
//
// Problem: an unhealthy node should go soon, yet not before its pods have places, not faster than budgets allow, and not at all
// where many nodes are unhealthy: the cause is then more likely elsewhere. Approach: QualifyInput.Unhealthy builds candidates as of one
// instant. Admit orders them and drops those of pools with too many unhealthy nodes, and without budget, before anything is
// simulated. Decide simulates them in this order and stops at the first that works. Invariant: one command for one node in each pass.
//
// It is no part of Methods: without repair policies it does not exist.
//
// Source: behavior specification, node repair.
func Repair() Method {
	return Method{
		Name: "repair", Reason: Unhealthy, Class: repairing, Simulates: ForReplacement, Search: InOrder, Timeout: searchTimeout,
		ReportsEvaluation: true, Filter: filterRepair, Admit: admitRepair, Decide: decideRepair,
	}
}

// Unhealthy returns the nodes that repair policies apply to now, and the obstacles of those that may not be repaired or are not
// due yet. Healthy nodes are in neither list.
//
// Unlike for other methods, a node may be uninitialized, even if pods are expected on it, and its annotation does not forbid
// disruption: what protects pods must not keep them on a broken node. All scores are as of w.Now, so that equal nodes tie.
func (w QualifyInput) Unhealthy() ([]Candidate, []Obstacle) {
	var candidates []Candidate
	var obstacles []Obstacle
	for _, n := range w.unhealthyNodes() {
		decision, due := n.Health.Decide(w.Now.UnixNano())
		code := tolerated
		if due {
			code = w.disqualifiesUnhealthy(n)
		}
		if code != "" {
			obstacles = append(obstacles, Obstacle{Code: code, Node: n})
			continue
		}
		if decision.Action == repair.Reboot && w.RebootedTooOften[n.ClaimName] {
			decision.Action, decision.Escalated = repair.Replace, true
		}
		c := newCandidate(n, w.Pools[n.Pool])
		c.InBackoff, c.EveryPod, c.Repair = w.Backoff[n.ClaimName], true, &decision
		c.RepairCost = repairCost(n, w.Now)
		candidates = append(candidates, c)
	}
	return candidates, obstacles
}

// unhealthyNodes are the nodes that repair policies match, by ID: of a large fleet, only these are sorted.
func (w QualifyInput) unhealthyNodes() []*model.Node {
	var out []*model.Node
	for _, n := range w.Snapshot.Nodes.All() {
		if len(n.Health.Matches) > 0 {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *model.Node) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func (w QualifyInput) disqualifiesUnhealthy(n *model.Node) Code {
	if n.Managed && n.Pool == "" {
		return noPoolForRepair
	}
	switch code := w.disqualifies(n); code {
	case NotInitialized, NodeProtected:
		return w.disqualifiesPool(n)
	default:
		return code
	}
}

// repairCost is the eviction cost of all pods of the node, times the share of its lifetime that it has left. It only orders nodes: unlike in the
// disruption cost, negative eviction costs count, as upstream's order has it. Source: specification of v1.15, order of repairs.
func repairCost(n *model.Node, now time.Time) float64 {
	sum := 0.0
	for _, p := range n.Pods {
		sum += p.EvictionCost
	}
	if n.Disruption.ExpireAfter <= 0 {
		return sum
	}
	age := now.UnixNano() - n.Disruption.Created
	return sum * min(max(1-float64(age)/float64(n.Disruption.ExpireAfter), 0), 1)
}

func filterRepair(c Candidate) Code {
	switch {
	case c.Repair == nil:
		return tolerated
	case c.Node.Maintenance:
		return underMaintenance
	case c.Node.Disruption.DoNotRepair:
		return repairProtected
	case c.InBackoff:
		return NodeInBackoff
	}
	return ""
}

// byUrgency orders candidates: the highest score first, then the cheapest to move.
func byUrgency(list []Candidate) []Candidate {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Repair.Score, a.Repair.Score), cmp.Compare(a.RepairCost, b.RepairCost),
			strings.Compare(a.Node.Name, b.Node.Name), strings.Compare(a.Node.ID, b.Node.ID))
	})
	return out
}

// admitRepair orders the candidates and drops those of pools with too many unhealthy nodes, and those without budget. A node that is
// not initialized has no part in budgets.
func admitRepair(budgets Budgets, fit []Candidate) (admitted []Candidate, refused []Obstacle) {
	for _, c := range byUrgency(fit) {
		switch {
		case c.Pool.TooManyUnhealthy:
			refused = append(refused, Obstacle{Code: tooManyUnhealthy, Node: c.Node})
		case c.Node.Initialized && budgets[c.Node.Pool] <= 0:
			refused = append(refused, Obstacle{Code: NodePoolBudgetExhausted, Node: c.Node})
		default:
			admitted = append(admitted, c)
		}
	}
	return admitted, refused
}

func decideRepair(s Session, admitted []Candidate) Decision {
	var d Decision
	to := s.destinations()
	for _, c := range admitted {
		switch {
		case len(d.Commands) > 0:
			d.Incomplete = true
			d.skip(NotReached, c)
		case to[c.Node.ID]:
			d.Incomplete = true
			d.skip(IsDestination, c)
		case d.TimedOut || s.Expired():
			d.TimedOut = true
			d.skip(NotReached, c)
		case c.Repair.Action == repair.Reboot:
			s.takeRepair(&d, c, Command{Reason: Unhealthy, Candidates: []Candidate{c}, Reboot: true})
		case c.Pool.Static:
			s.repairStatic(&d, c)
		default:
			s.repairDynamic(&d, c)
		}
	}
	return d
}

// repairStatic replaces a node of a static pool by one from the template of the pool, within its limit.
func (s Session) repairStatic(d *Decision, c Candidate) {
	switch {
	case c.Pool.Surplus:
		d.skip(Surplus, c)
		return
	case c.Pool.InBackoff:
		d.Obstacles = append(d.Obstacles, Obstacle{Code: PoolInBackoff, Node: c.Node, Pool: c.Node.Pool})
		return
	}
	command := Command{Reason: Unhealthy, Candidates: []Candidate{c}}
	switch st, known := s.staging(c.Node.Pool); {
	case !known:
		d.skip(reservationsUnknown, c)
		return
	case st.full && c.Pool.Usable && st.holds(c.Node):
		command.TerminateFirst = noReservedCapacity
	case st.full:
		d.skip(reservationsFull, c)
		return
	case s.Grant(c.Node.Pool, 1) >= 1:
		command.Static = true
	case s.terminatesAtLimit(c.Pool):
		command.TerminateFirst = staticAtLimit
	default:
		d.skip(NodeLimit, c)
		return
	}
	s.takeRepair(d, c, command)
}

// repairDynamic replaces a node by whatever its pods need.
func (s Session) repairDynamic(d *Decision, c Candidate) {
	sim := s.Simulators[0]
	t := sim.Simulate([]Candidate{c})
	if len(t.Failed) > 0 {
		if command, ok := s.terminatesFirst(Unhealthy, c, d.Commands); ok {
			s.takeRepair(d, c, command)
			return
		}
		d.Obstacles = append(d.Obstacles, Obstacle{Code: noPlaceToRepair, Node: c.Node, Detail: describeUnplaced(t.Failed)})
		return
	}
	if o := sim.poolInBackoff(t.Plan.NodeClaims); o != nil {
		o.Node = c.Node
		d.Obstacles = append(d.Obstacles, *o)
		return
	}
	s.takeRepair(d, c, Command{
		Reason: Unhealthy, Candidates: []Candidate{c}, Replacements: sim.replacements(t), Placements: sim.placements(t),
	})
}

func (s Session) takeRepair(d *Decision, c Candidate, command Command) {
	if c.Node.Initialized {
		s.Budgets.Take(c.Node.Pool)
	}
	d.Commands = append(d.Commands, command)
}

// DrainLimit is how long the pods of an unhealthy node may take to leave it: the shorter one of what its repair policies and its
// NodeClaim allow. It is nil where no repair policy sets a limit: that of the NodeClaim is in force anyway.
func (c Candidate) DrainLimit() *time.Duration {
	if c.Repair == nil || c.Repair.GracePeriod == nil {
		return nil
	}
	limit, own := *c.Repair.GracePeriod, time.Duration(math.MaxInt64)
	if grace := c.Node.Disruption.GracePeriod; grace != nil {
		own = *grace
	}
	limit = min(limit, own)
	return &limit
}
