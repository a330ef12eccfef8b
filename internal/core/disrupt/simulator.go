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

// Study is what the simulations of one pass have in common. It is not changed once the first Lab was made from it.
type SimulationInput struct {
	// Problem is the cluster as it is: the pods that wait or have to leave their node anyway, the nodes that stay, and what
	// may be launched.
	Problem solve.Problem
	Pools   map[string]Pool
	Now     time.Time
	// Held are the UIDs of pods that may not be moved now.
	Unevictable map[string]bool
	// Grown are pods that ask for something else once they were moved, by UID, as they will be.
	Resized map[string]*model.Pod
	// Underway are commands whose end is taken for granted.
	Underway []Command
	// SpotToSpot lets spot nodes be replaced by spot nodes.
	SpotToSpot bool
	// Totals are those of the pools with a Balanced policy.
	Totals map[string]Totals
}

// Lab answers what-ifs of a study. It is not safe for concurrent use: make one for each goroutine.
type Simulator struct {
	input *SimulationInput
	base  *solve.Base
	types map[string]map[string]*catalog.InstanceType
	// leaving are the UIDs of pods that leave a node that is being deleted.
	leaving map[string]bool
}

// Lab compiles the study for what-ifs about the candidates. In consolidations claims stay in one piece, and nodes that have
// not been quiet for long enough take no pods that run.
func (s *SimulationInput) Simulator(candidates []Candidate, kind Simulation) *Simulator {
	sim := &Simulator{input: s, types: map[string]map[string]*catalog.InstanceType{}, leaving: map[string]bool{}}
	p := s.Problem
	p.Options.DisableRepacking = kind == ForConsolidation
	if kind == ForConsolidation {
		p.Cordoned, p.CordonExempt = s.closed(candidates)
	}
	for _, pod := range p.Pods {
		sim.leaving[pod.UID] = pod.Node != ""
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
	for _, c := range s.Underway {
		if sim.Simulate(c.Candidates); !sim.Keep() {
			break
		}
	}
	return sim
}

// moves are the pods of a candidate that have to run elsewhere and may go now.
func (s *SimulationInput) podsToMove(c Candidate) []*model.Pod {
	out := slices.DeleteFunc(slices.Clone(c.PodsToMove), func(p *model.Pod) bool { return s.Unevictable[p.UID] || p.Rejected != "" })
	for i, p := range out {
		if next := s.Resized[p.UID]; next != nil {
			out[i] = next
		}
	}
	return out
}

// closed are the nodes that are within the quiet time of their pool, and the pods that may be put there nevertheless: those
// that do not run yet, and those whose node goes anyway.
//
// Source: disruption specification, scheduling simulation, destination protection.
func (s *SimulationInput) closed(candidates []Candidate) (nodes, exempt map[string]bool) {
	nodes, exempt = map[string]bool{}, map[string]bool{}
	for _, n := range s.Problem.Nodes {
		pool, ok := s.Pools[n.Pool]
		if !n.Managed || !ok || pool.Static || pool.ConsolidationDisabled || !pool.Usable || pool.ConsolidateAfter <= 0 || n.Disruption.LastPodEvent == 0 {
			continue
		}
		if s.Now.UnixNano()-n.Disruption.LastPodEvent < pool.ConsolidateAfter.Nanoseconds() {
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

// Trial is what would happen if some nodes were not there.
type Outcome struct {
	Plan solve.Plan
	// Failed are the pods without a place that have one now or leave a node that goes, sorted.
	Failed []UnplacedPod
}

// Homeless is a pod that would have no place.
type UnplacedPod struct {
	Pod *model.Pod
	Why string
}

// Try asks what would happen if the candidates were not there.
func (sim *Simulator) Simulate(set []Candidate) Outcome {
	var nodes []*model.Node
	var pods []*model.Pod
	var t Outcome
	for _, c := range set {
		nodes = append(nodes, c.Node)
		pods = append(pods, sim.input.podsToMove(c)...)
		for _, p := range c.PodsToMove {
			if p.Rejected != "" && !sim.input.Unevictable[p.UID] {
				t.Failed = append(t.Failed, UnplacedPod{p, p.Rejected})
			}
		}
	}
	t.Plan = sim.base.Solve(nodes, pods)
	for _, r := range t.Plan.Unschedulable {
		for _, p := range r.Pods {
			if p.Node != "" {
				t.Failed = append(t.Failed, UnplacedPod{p, r.Reasons.String()})
			}
		}
	}
	for _, p := range slices.Concat(t.Plan.Undecided, t.Plan.Deferred) {
		if p.Node != "" {
			t.Failed = append(t.Failed, UnplacedPod{p, "the simulation did not get to it"})
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
			}
		}
	}
	slices.SortFunc(t.Failed, func(a, b UnplacedPod) int {
		return cmp.Or(strings.Compare(a.Pod.ID(), b.Pod.ID()), strings.Compare(a.Why, b.Why))
	})
	return t
}

// Keep takes the last trial for granted in what is tried after it; false where that is not possible.
func (sim *Simulator) Keep() bool { return sim.base.Commit() }

// Reset takes back everything that was kept, commands under way included.
func (sim *Simulator) Reset() {
	sim.base.Reset()
	for _, c := range sim.input.Underway {
		if sim.Simulate(c.Candidates); !sim.Keep() {
			break
		}
	}
}

// moving are the placements of pods of the candidates, without those of pods that wait anyway.
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

// replacements are the machines that have to be launched before the candidates may go. Those that are only for pods that wait
// anyway, or whose node goes anyway, are left to whoever launches for such pods: perhaps he is doing so right now, and nobody
// needs them twice. Virtual pods may stand for room on a candidate, so their machines are launched first.
func (sim *Simulator) replacements(t Outcome) []solve.NodeClaim {
	return slices.DeleteFunc(slices.Clone(t.Plan.NodeClaims), func(claim solve.NodeClaim) bool {
		return !slices.ContainsFunc(claim.Pods, func(p *model.Pod) bool { return p.Virtual || p.Node != "" && !sim.leaving[p.UID] })
	})
}

// mostNamed is how many homeless pods a message names.
const maxNamedPods = 5

// homeless renders pods without a place, as events show them.
func describeUnplaced(list []UnplacedPod) string {
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
