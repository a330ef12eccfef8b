package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// SimulationInput is the shared input of the simulations of one pass. It is not changed once the first Simulator is compiled from it.
type SimulationInput struct {
	// Problem is the present cluster state: pending pods and pods of nodes being deleted, the nodes that stay, and the NodePools
	// that may launch.
	Problem solve.Problem
	Pools   map[string]Pool
	Now     time.Time
	// Unevictable are the UIDs of pods that may not be moved now.
	Unevictable map[string]bool
	// Resized are pods that autoscalers resize when they move, by UID, with their new requests.
	Resized map[string]*model.Pod
	// Underway are commands that are assumed to be complete.
	Underway []Command
	// SpotToSpot allows spot nodes to be replaced by spot nodes.
	SpotToSpot bool
	// OpensDestinations lets consolidation move pods to nodes that are within the consolidateAfter of their pool.
	OpensDestinations bool
	// Totals are those of the pools with a Balanced policy.
	Totals map[string]Totals
}

// Simulator simulates the cluster without some nodes. It is not safe for concurrent use: compile one for each goroutine.
type Simulator struct {
	input *SimulationInput
	base  *solve.Base
	types map[string]map[string]*catalog.InstanceType
	// leaving are the UIDs of pods that leave a node that is being deleted.
	leaving map[string]bool
	// provisioned are the UIDs of the pods that provisioning takes care of, without virtual ones.
	provisioned map[string]bool
	// cordoned are the IDs of nodes that take no pods.
	cordoned map[string]bool
	assumed  assumedOutcomes
	// matching are the nodes with pods that affinity matches, by domain, byLabels those with pods that have some labels; filled when they are
	// needed.
	matching map[affinityOver]map[string][]*model.Node
	byLabels map[*model.Labels][]*model.Node
	// last is the last simulation.
	last struct {
		set  []Candidate
		plan solve.Plan
	}
}

// Simulator compiles the input for simulations without any of the candidates.
func (s *SimulationInput) Simulator(candidates []Candidate, kind Simulation) *Simulator {
	sim := &Simulator{input: s, types: map[string]map[string]*catalog.InstanceType{}, leaving: map[string]bool{}, provisioned: map[string]bool{}}
	p := s.Problem
	p.Options.DisableRepacking = kind == ForConsolidation
	p.Cordoned, p.CordonExempt = s.closed(candidates, kind)
	sim.cordoned = p.Cordoned
	for _, pod := range p.Pods {
		sim.leaving[pod.UID], sim.provisioned[pod.UID] = pod.Node != "", !pod.Virtual
	}
	var movable []*model.Pod
	seen := map[string]bool{}
	add := func(list []Candidate) {
		for _, c := range list {
			if !seen[c.Node.ID] {
				seen[c.Node.ID] = true
				movable = append(movable, s.podsToMove(c)...)
			}
		}
	}
	add(candidates)
	for _, c := range s.Underway {
		add(c.Candidates)
	}
	for _, pool := range p.Pools {
		byName := make(map[string]*catalog.InstanceType, len(pool.Catalog))
		for _, it := range pool.Catalog {
			byName[it.Name] = it
		}
		sim.types[pool.Name] = byName
	}
	sim.base = solve.NewBase(p, movable)
	sim.assumeUnderway()
	return sim
}

// keeps reports whether a pod of a candidate is not moved because it may not be evicted now.
func (s *SimulationInput) keeps(c Candidate, p *model.Pod) bool {
	return s.Unevictable[p.UID] && !c.EveryPod
}

// podsToMove are the pods of a candidate that have to run elsewhere and are moved now.
func (s *SimulationInput) podsToMove(c Candidate) []*model.Pod {
	out := slices.DeleteFunc(slices.Clone(c.PodsToMove), func(p *model.Pod) bool { return s.keeps(c, p) || p.Rejected != "" })
	for i, p := range out {
		if next := s.Resized[p.UID]; next != nil {
			out[i] = next
		}
	}
	return out
}

// closed are the nodes that are under maintenance and, for consolidation, those within the consolidateAfter of their pool and those with pods
// that device taints evict, which soon need a node themselves. It also returns the pods that may be placed there nevertheless: those that do
// not run yet, and those of nodes being deleted.
//
// Source: disruption specification, scheduling simulation, destination protection.
func (s *SimulationInput) closed(candidates []Candidate, kind Simulation) (nodes, exempt map[string]bool) {
	nodes, exempt = map[string]bool{}, map[string]bool{}
	var evicted map[string]bool
	if kind == ForConsolidation {
		evicted = s.Problem.Devices.EvictedClaims()
	}
	for _, n := range s.Problem.Nodes {
		if n.Maintenance || n.UsesClaim(evicted) || kind == ForConsolidation && !s.OpensDestinations && s.unsettled(n) {
			nodes[n.ID] = true
		}
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	for _, p := range s.Problem.Pods {
		exempt[p.UID] = true
	}
	for _, c := range candidates {
		for _, p := range c.PodsToMove {
			if p.Unstarted {
				exempt[p.UID] = true
			}
		}
	}
	return nodes, exempt
}

// unsettled reports whether a node is within the consolidateAfter of its pool.
func (s *SimulationInput) unsettled(n *model.Node) bool {
	pool, ok := s.Pools[n.Pool]
	if !n.Managed || !ok || pool.Static || pool.ConsolidationDisabled || !pool.Usable || pool.ConsolidateAfter <= 0 || n.Disruption.LastPodEvent == 0 {
		return false
	}
	return s.Now.UnixNano()-n.Disruption.LastPodEvent < pool.ConsolidateAfter.Nanoseconds()
}

// Outcome is the result of a simulation without some nodes.
type Outcome struct {
	Plan solve.Plan
	// Failed are the running pods that would not be placed, sorted.
	Failed []UnplacedPod
	// passing is how many of them have a place later, without a change: on a node that is still starting.
	passing int
}

// passes reports whether all pods without a place have one later, without a change.
func (t Outcome) passes() bool { return len(t.Failed) > 0 && t.passing == len(t.Failed) }

// UnplacedPod is a pod that would not be placed.
type UnplacedPod struct {
	Pod *model.Pod
	Why string
}

// Simulate returns the outcome without the candidates.
func (sim *Simulator) Simulate(set []Candidate) Outcome { return sim.simulate(set, solve.Choices{}) }

// simulateBeside is Simulate for methods that leave NodeClaims to provisioning, see replacements. Where there are such NodeClaims, the pods that
// provisioning takes care of are placed first: a pod of a candidate that took the place of one of them would have none, since provisioning
// gives that place away and launches nothing.
func (sim *Simulator) simulateBeside(set []Candidate) Outcome {
	t := sim.Simulate(set)
	if len(sim.replacements(t)) == len(t.Plan.NodeClaims) {
		return t
	}
	return sim.simulate(set, solve.Choices{First: sim.provisioned})
}

// simulate is Simulate with choices for some pods.
func (sim *Simulator) simulate(set []Candidate, choices solve.Choices) Outcome {
	var nodes []*model.Node
	var pods []*model.Pod
	var t Outcome
	for _, c := range set {
		nodes = append(nodes, c.Node)
		pods = append(pods, sim.input.podsToMove(c)...)
		for _, p := range c.PodsToMove {
			if p.Rejected != "" && !sim.input.keeps(c, p) {
				t.Failed = append(t.Failed, UnplacedPod{p, p.Rejected})
			}
		}
	}
	t.Plan = sim.base.SolveTo(nodes, pods, choices)
	sim.last.set, sim.last.plan = set, t.Plan
	undecided := sim.withUndecidedSpread(set)
	t.Failed, t.passing = slices.Concat(t.Failed, sim.withUnmetAffinity(set, t.Plan), undecided, sim.keepingDaemonsAway(set)), len(undecided)
	for _, r := range t.Plan.Unschedulable {
		for _, p := range r.Pods {
			if p.Node != "" {
				t.Failed = append(t.Failed, UnplacedPod{p, r.Reasons.String()})
			}
		}
	}
	for _, p := range slices.Concat(t.Plan.Undecided, t.Plan.Deferred) {
		if p.Node != "" {
			t.Failed = append(t.Failed, UnplacedPod{p, "the simulation did not reach it"})
		}
	}
	for _, at := range t.Plan.Placements {
		if at.Node.Initialized {
			continue
		}
		for _, p := range at.Pods {
			if p.Node != "" && !sim.leaving[p.UID] {
				why := fmt.Sprintf("would schedule against uninitialized nodeclaim/%s, node/%s", at.Node.ClaimName, at.Node.NodeName)
				t.Failed = append(t.Failed, UnplacedPod{p, why})
				t.passing++
			}
		}
	}
	slices.SortFunc(t.Failed, func(a, b UnplacedPod) int {
		return cmp.Or(strings.Compare(a.Pod.ID(), b.Pod.ID()), strings.Compare(a.Why, b.Why))
	})
	return t
}

// unplaced adds those pods of the candidates that the last simulation placed on no existing node to a set of UIDs. It reports false if
// there are none, or no others.
func (sim *Simulator) unplaced(into map[string]bool) bool {
	before, placed := len(into), 0
	for _, at := range sim.last.plan.Placements {
		placed += len(at.Pods)
	}
	add := func(list []*model.Pod) {
		for _, p := range list {
			if p.Node != "" && !sim.leaving[p.UID] {
				into[p.UID] = true
			}
		}
	}
	for _, claim := range sim.last.plan.NodeClaims {
		add(claim.Pods)
	}
	for _, u := range sim.last.plan.Unschedulable {
		add(u.Pods)
	}
	return len(into) > before && placed > 0
}

// Keep makes later simulations assume the outcome of the last one; false where that is not possible.
func (sim *Simulator) Keep() bool {
	if !sim.base.Commit() {
		return false
	}
	sim.assumed.assume(sim.last.set, sim.last.plan)
	return true
}

// Reset discards the kept outcomes, except the commands under way.
func (sim *Simulator) Reset() {
	sim.base.Reset()
	sim.assumed = assumedOutcomes{}
	sim.assumeUnderway()
}

// assumeUnderway makes simulations assume the commands under way.
func (sim *Simulator) assumeUnderway() {
	for _, c := range sim.input.Underway {
		to := c.destinations()
		t := sim.simulate(c.Candidates, solve.Choices{Destinations: to, First: c.First})
		if slices.ContainsFunc(t.Failed, func(p UnplacedPod) bool { _, ok := to[p.Pod.UID]; return ok }) {
			sim.simulate(c.Candidates, solve.Choices{First: c.First}) // something has changed: kube-scheduler will find other places
		}
		if !sim.Keep() {
			break
		}
	}
}

// placements are those of pods on existing nodes, without virtual pods.
func (sim *Simulator) placements(t Outcome) []solve.Placement {
	var out []solve.Placement
	for _, at := range t.Plan.Placements {
		pods := slices.DeleteFunc(slices.Clone(at.Pods), func(p *model.Pod) bool { return p.Virtual })
		if len(pods) > 0 {
			out = append(out, solve.Placement{Node: at.Node, Pods: pods})
		}
	}
	return out
}

// replacements are the NodeClaims that have to be ready before the candidates are deleted. Those that are only for pending
// pods, or for pods of nodes being deleted, are left to provisioning, which may be launching them at this moment. Virtual pods may
// reserve capacity on a candidate, so their NodeClaims are launched first.
func (sim *Simulator) replacements(t Outcome) []solve.NodeClaim {
	return slices.DeleteFunc(slices.Clone(t.Plan.NodeClaims), func(claim solve.NodeClaim) bool {
		return !slices.ContainsFunc(claim.Pods, func(p *model.Pod) bool { return p.Virtual || p.Node != "" && !sim.leaving[p.UID] })
	})
}

// others are the pods of a NodeClaim that are pending, or on nodes that are being deleted.
func (sim *Simulator) others(claim solve.NodeClaim) (out []*model.Pod) {
	for _, p := range claim.Pods { // mostly there are none, and this is done for every set that is tried
		if !p.Virtual && (p.Node == "" || sim.leaving[p.UID]) {
			out = append(out, p)
		}
	}
	return out
}

// maxNamedPods is how many unplaced pods a message names.
const maxNamedPods = 5

// describeUnplaced renders unplaced pods as events show them. Pods of nodes that are being deleted are named only where there are no others.
func (sim *Simulator) describeUnplaced(list []UnplacedPod) string {
	own := slices.DeleteFunc(slices.Clone(list), func(u UnplacedPod) bool { return sim.leaving[u.Pod.UID] })
	if len(own) > 0 {
		list = own
	}
	var b strings.Builder
	b.WriteString("not all pods would schedule, ")
	for i, h := range list {
		if i == maxNamedPods {
			break
		}
		fmt.Fprintf(&b, "%s => %s ", h.Pod.ID(), h.Why)
	}
	if len(list) >= maxNamedPods {
		fmt.Fprintf(&b, " and %d other(s)", len(list)-maxNamedPods)
	}
	return b.String()
}
