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
// simulated. Decide simulates them in this order and stops at the first that works. Invariant: one command in each pass, for one node, or for
// one unit of nodes that PodGroups join.
//
// The healthy nodes of such a unit are candidates without Candidate.Repair: what protects them and their pods from drift protects them from
// this as well, and keeps the whole unit.
//
// It is no part of Methods: without repair policies it does not exist.
//
// Source: behavior specification, node repair; specification of version 1.15, groups.
func Repair() Method {
	return Method{
		Name: "repair", Reason: Unhealthy, Class: repairing, Simulates: ForReplacement, Search: InOrder, Timeout: searchTimeout,
		ReportsEvaluation: true, movesUnits: true, Filter: filterRepair, Admit: admitRepair, Decide: decideRepair,
	}
}

// Unhealthy returns the nodes that repair policies apply to now, those that have to go together with them, and the obstacles of those that may
// not be repaired or are not due yet. Other nodes are in neither list.
//
// Unlike for other methods, an unhealthy node may be uninitialized, even if pods are expected on it, and its annotation does not forbid
// disruption: what protects pods must not keep them on a broken node. All scores are as of w.Now, so that equal nodes tie.
func (w QualifyInput) Unhealthy() ([]Candidate, []Obstacle) {
	var candidates []Candidate
	var obstacles []Obstacle
	sick := w.unhealthyNodes()
	if len(sick) == 0 {
		return nil, nil
	}
	joined := units(w.Snapshot)
	moving := map[*unit]bool{}
	for _, n := range sick {
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
		c.RepairCost, c.Proposal = repairCost(n, w.Now), w.Proposals[n.ID]
		candidates = append(candidates, c)
		if u := joined[n.ID]; u != nil && c.evictsForRepair() {
			moving[u] = true
		}
	}
	return w.completeUnits(candidates, obstacles, joined, moving)
}

// evictsForRepair reports whether pods of an unhealthy node are evicted. They ride through a reboot without a drain.
func (c Candidate) evictsForRepair() bool {
	limit := c.DrainLimit()
	if limit == nil {
		limit = c.Node.Disruption.GracePeriod
	}
	return c.Repair.Action != repair.Reboot || limit == nil || *limit > 0
}

// completeUnits makes the candidates of moving units those of a unit, and adds its other nodes. In a unit no node is rebooted: its pods would be
// evicted without the others of their group, so that the node is replaced together with the nodes of these.
func (w QualifyInput) completeUnits(candidates []Candidate, obstacles []Obstacle, joined map[string]*unit, moving map[*unit]bool) ([]Candidate, []Obstacle) {
	if len(moving) == 0 {
		return candidates, obstacles
	}
	known := map[string]bool{}
	for i := range candidates {
		c := &candidates[i]
		known[c.Node.ID] = true
		if u := joined[c.Node.ID]; moving[u] {
			c.unit, c.SplitsGroup = u, true
			if c.Repair.Action == repair.Reboot {
				c.Repair.Action, c.Repair.Escalated = repair.Replace, true
			}
		}
	}
	for _, o := range obstacles {
		if u := joined[o.Node.ID]; moving[u] && o.Code != tolerated {
			u.excluded[o.Node.ID], known[o.Node.ID] = o, true
		}
	}
	taken := map[string]bool{}
	for _, u := range sortedUnits(moving) {
		for _, n := range u.nodes {
			if known[n.ID] {
				continue
			}
			if code := w.disqualifies(n); code != "" {
				u.excluded[n.ID] = Obstacle{Code: code, Node: n}
				continue
			}
			c := newCandidate(n, w.Pools[n.Pool])
			c.InBackoff, c.EveryPod, c.unit, c.SplitsGroup = w.Backoff[n.ClaimName], true, u, true
			candidates, taken[n.ID] = append(candidates, c), true
		}
	}
	return candidates, slices.DeleteFunc(obstacles, func(o Obstacle) bool { return taken[o.Node.ID] }) // what is tolerated does not keep the unit
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
	case c.Repair == nil && c.unit == nil:
		return tolerated
	case c.Node.Maintenance:
		return underMaintenance
	case c.Node.Disruption.DoNotRepair:
		return repairProtected
	case c.InBackoff:
		return NodeInBackoff
	case c.Pool.Static && c.SplitsGroup:
		return splitsPodGroup
	}
	return ""
}

// byUrgency orders the unhealthy ones of the candidates: the highest score first, then the cheapest to move.
func byUrgency(list []Candidate) []Candidate {
	out := slices.DeleteFunc(slices.Clone(list), func(c Candidate) bool { return c.Repair == nil })
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Repair.Score, a.Repair.Score), cmp.Compare(a.RepairCost, b.RepairCost),
			strings.Compare(a.Node.Name, b.Node.Name), strings.Compare(a.Node.ID, b.Node.ID))
	})
	return out
}

// repairSets are the candidates that are disrupted together, each set in the place of its most urgent node, which comes first.
func repairSets(list []Candidate) [][]Candidate {
	members, done := map[*unit][]Candidate{}, map[*unit]bool{}
	for _, c := range list {
		if c.unit != nil {
			members[c.unit] = append(members[c.unit], c)
		}
	}
	var sets [][]Candidate
	for _, c := range byUrgency(list) {
		set := []Candidate{c}
		if c.unit != nil {
			if done[c.unit] {
				continue
			}
			done[c.unit] = true
			for _, other := range members[c.unit] {
				if other.Node != c.Node {
					set = append(set, other)
				}
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// admitRepair orders the candidates and drops those of pools with too many unhealthy nodes, and those without budget. A node that is
// not initialized has no part in budgets.
func admitRepair(budgets Budgets, fit []Candidate) (admitted []Candidate, refused []Obstacle) {
	fit, refused = Repair().wholeUnits(partition(fit, func(c Candidate) (Obstacle, bool) {
		return Obstacle{Code: tooManyUnhealthy, Node: c.Node}, !c.Pool.TooManyUnhealthy
	}))
	for _, set := range repairSets(fit) {
		if o := budgets.OverBudget(set); o != nil {
			refused = append(refused, forAll(*o, set)...)
			continue
		}
		admitted = append(admitted, set...)
	}
	return admitted, refused
}

func decideRepair(s Session, admitted []Candidate) Decision {
	var d Decision
	to := s.destinations()
	for _, set := range repairSets(admitted) {
		c := set[0]
		switch {
		case len(d.Commands) > 0:
			d.Incomplete = true
			d.skipAll(NotReached, set)
		case slices.ContainsFunc(set, func(c Candidate) bool { return to[c.Node.ID] }):
			d.Incomplete = true
			d.skipAll(IsDestination, set)
		case d.TimedOut || s.Expired():
			d.TimedOut = true
			d.skipAll(NotReached, set)
		case c.Repair.Action == repair.Reboot:
			s.takeRepair(&d, Command{Reason: Unhealthy, Candidates: set, Reboot: true})
		case c.Pool.Static:
			s.repairStatic(&d, c)
		default:
			s.repairDynamic(&d, set)
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
	s.takeRepair(d, command)
}

// repairDynamic replaces a node, or those of a unit, by whatever their pods need. The first one is unhealthy.
func (s Session) repairDynamic(d *Decision, set []Candidate) {
	sim := s.Simulators[0]
	t := sim.simulateBeside(set)
	if len(t.Failed) > 0 {
		if command, ok := s.terminatesFirst(Unhealthy, set[0], d.Commands); ok {
			s.takeRepair(d, command)
			return
		}
		d.skipSet(Obstacle{Code: noPlaceToRepair, Detail: s.describeNoPlace(set, t.Failed), Passes: t.passes()}, set)
		return
	}
	if o := sim.poolInBackoff(t.Plan.NodeClaims); o != nil {
		d.skipSet(*o, set)
		return
	}
	s.takeRepair(d, Command{
		Reason: Unhealthy, Candidates: set, Whole: set[0].unit != nil, Replacements: sim.replacements(t), Placements: sim.placements(t),
	})
}

func (s Session) takeRepair(d *Decision, command Command) {
	for _, c := range command.Candidates {
		if c.Node.Initialized {
			s.Budgets.Take(c.Node.Pool)
		}
	}
	d.Commands = append(d.Commands, command)
}

// DrainLimit is how long the pods of an unhealthy node may take to leave it: the shorter one of what its repair policies and its
// NodeClaim allow. It is nil where no repair policy sets a limit, as for healthy nodes: that of the NodeClaim is in force anyway.
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
