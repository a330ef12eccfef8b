package solve

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// fleet is n nodes of the pool "default" in three zones with a few pods each, some of which have affinity or anti-affinity.
func fleet(n, perNode int, topological bool, random *rand.Rand) Problem {
	p := mixedProblem(0, 40, 1)
	p.Pools[0].Limits = map[int]int64{resource.CPU: int64(n+4) * 8000}
	shapes := make([]*model.Shape, 12)
	for i := range shapes {
		shapes[i] = shape(200+int64(i)*150, int64(256+i*200)<<20)
		app := fmt.Sprintf("app-%d", i)
		switch {
		case i%5 == 0:
			shapes[i].Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, []string{"zone-a", "zone-b", "zone-c"}[i%3]))
		case topological && i%5 == 1:
			shapes[i].Spreads = []topology.Spread{spreadOver(zoneKey, 1, app)}
		case topological && i%5 == 2:
			shapes[i].Affinities = []topology.Affinity{far(hostnameKey, app)}
		case topological && i%5 == 3:
			shapes[i].Affinities = []topology.Affinity{near(zoneKey, app)}
		case topological && i == 4: // it and the next count each other
			shapes[i].Spreads = []topology.Spread{spreadOver(capacityTypeKey, 3, "app-9")}
		case topological && i == 9:
			shapes[i].Spreads = []topology.Spread{spreadOver(zoneKey, 3, "app-4")}
		}
	}
	faces := make([]*model.Labels, len(shapes))
	for i := range faces {
		faces[i] = labelled(pods(1, shapes[i]), fmt.Sprintf("app-%d", i))[0].Labels
	}
	for i := range n {
		name := fmt.Sprintf("node-%04d", i)
		labels := map[string]string{
			zoneKey: []string{"zone-a", "zone-b", "zone-c"}[i%3], hostnameKey: name, archKey: "amd64",
			instanceTypeKey: "m-007", capacityTypeKey: "on-demand", "karpenter.sh/nodepool": "default",
		}
		size := resource.Vector{}.Set(resource.CPU, 8000).Set(resource.Memory, 32*gi).Set(resource.Pods, 110).Set(resource.Nodes, 1)
		node := &model.Node{
			ID: "test://" + name, Name: name, NodeName: name, ClaimName: name, Pool: "default", Labels: labels,
			Requirements: requirement.Labels(labels), Capacity: size, Allocatable: size,
			Managed: true, Launched: true, Initialized: true, Ready: true,
		}
		for k := range perNode {
			s := random.IntN(len(shapes))
			pod := pods(1, shapes[s])[0]
			pod.Labels = faces[s]
			pod.Name = fmt.Sprintf("pod-%d-%d", i, k)
			pod.UID, pod.Node, pod.Reschedulable, pod.EvictionCost = pod.Name, name, true, 1
			node.Pods = append(node.Pods, pod)
			node.Used = node.Used.Add(pod.Shape.Requests)
			if len(pod.Shape.Affinities) > 0 && pod.Shape.Affinities[0].Anti {
				node.AntiAffinityPods = append(node.AntiAffinityPods, pod)
			}
		}
		p.Nodes = append(p.Nodes, node)
	}
	return p
}

// all is every pod that may have to move.
func all(p Problem) []*model.Pod {
	var out []*model.Pod
	for _, n := range p.Nodes {
		out = append(out, n.Pods...)
	}
	return out
}

// without is p without some nodes, whose pods are pending.
func without(p Problem, gone []*model.Node) Problem {
	out := p
	out.Nodes, out.Pods = nil, nil
	for _, n := range p.Nodes {
		stays := true
		for _, g := range gone {
			if g == n {
				stays = false
				out.ExcludedNodes = append(out.ExcludedNodes, n)
				out.Pods = append(out.Pods, n.Pods...)
			}
		}
		if stays {
			out.Nodes = append(out.Nodes, n)
		}
	}
	return out
}

// look renders a plan for comparison.
func look(p Plan) []string {
	var out []string
	for _, c := range p.NodeClaims {
		line := fmt.Sprintf("claim %s %.4f %v %s:", c.Pool, c.Price, c.InstanceTypes, c.Requirements)
		for _, pod := range c.Pods {
			line += " " + pod.Name
		}
		out = append(out, line)
	}
	for _, at := range p.Placements {
		line := "on " + at.Node.Name + ":"
		for _, pod := range at.Pods {
			line += " " + pod.Name
		}
		out = append(out, line)
	}
	for _, r := range p.Unschedulable {
		out = append(out, fmt.Sprintf("refused %d: %s", len(r.Pods), r.Reasons))
	}
	return out
}

func TestAWhatIfHasTheResultOfASeparateProblem(t *testing.T) {
	for seed := range uint64(12) {
		for _, topological := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed %d, topology %t", seed, topological), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test
				p := fleet(18, 5, topological, random)
				p.Options.DisableRepacking = seed%2 == 0
				base := NewBase(p, all(p))
				for range 12 {
					var gone []*model.Node
					for _, i := range random.Perm(len(p.Nodes))[:1+random.IntN(4)] {
						gone = append(gone, p.Nodes[i])
					}
					alone := without(p, gone)
					if diff := cmp.Diff(look(solveWithin(alone, whatIfTries)), look(base.Solve(alone.ExcludedNodes, alone.Pods))); diff != "" {
						t.Fatalf("without %d nodes (-alone +base):\n%s", len(gone), diff)
					}
				}
			})
		}
	}
}

func TestABaseReleasesStates(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	p := fleet(6, 5, false, random)
	base := NewBase(p, all(p))
	want := look(base.Solve(p.Nodes[:1], p.Nodes[0].Pods))
	for _, tmpl := range base.base.Compiled.Templates {
		tmpl.Forget()
	}
	if diff := cmp.Diff(want, look(base.Solve(p.Nodes[:1], p.Nodes[0].Pods))); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkWhatIf(b *testing.B) {
	for _, topological := range []bool{false, true} {
		b.Run(fmt.Sprintf("nodes=2000/pods=40000/topology=%t", topological), func(b *testing.B) {
			p := fleet(2000, 20, topological, rand.New(rand.NewPCG(1, 2))) //nolint:gosec // a benchmark
			p.Options.DisableRepacking = true
			base := NewBase(p, all(p))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				n := p.Nodes[i%len(p.Nodes)]
				base.Solve([]*model.Node{n}, n.Pods)
				i++
			}
		})
	}
}

func TestCommittedWhatIfsAreAssumed(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // a test
		p := fleet(12, 4, true, random)
		base := NewBase(p, all(p))
		first, second := p.Nodes[0], p.Nodes[1]
		fresh := look(base.Solve([]*model.Node{first}, first.Pods))
		after := look(base.Solve([]*model.Node{second}, second.Pods))
		plan := base.Solve([]*model.Node{first}, first.Pods)
		if !base.Commit() {
			t.Fatal("nothing was kept")
		}
		// The same problem after the commit; requested nodes take no pods.
		moved := p
		moved.Nodes = nil
		for _, n := range p.Nodes {
			if n == first {
				continue
			}
			now := *n
			for _, at := range plan.Placements {
				if at.Node == n {
					now.Pods = append(append([]*model.Pod{}, n.Pods...), at.Pods...)
					for _, pod := range at.Pods {
						now.Used = now.Used.Add(pod.Shape.Requests)
					}
				}
			}
			moved.Nodes = append(moved.Nodes, &now)
		}
		kept := base.Solve([]*model.Node{second}, second.Pods)
		for _, at := range kept.Placements {
			if at.Node == first || at.Node == second {
				t.Errorf("seed %d: pods were put on a node that is gone", seed)
			}
			for _, n := range moved.Nodes {
				if n.ID != at.Node.ID {
					continue
				}
				used := n.Used
				for _, pod := range at.Pods {
					used = used.Add(pod.Shape.Requests)
				}
				if !used.Fits(n.Allocatable) {
					t.Errorf("seed %d: node %s holds more than fits", seed, n.Name)
				}
			}
		}
		base.Reset()
		if diff := cmp.Diff(after, look(base.Solve([]*model.Node{second}, second.Pods))); diff != "" {
			t.Errorf("seed %d: after a reset:\n%s", seed, diff)
		}
		if diff := cmp.Diff(fresh, look(base.Solve([]*model.Node{first}, first.Pods))); diff != "" {
			t.Errorf("seed %d: after a reset:\n%s", seed, diff)
		}
	}
}

func TestClosedNodesTakeExemptPodsOnly(t *testing.T) {
	t.Attr("covers", "C410 C499")
	p := fleet(1, 0, false, rand.New(rand.NewPCG(1, 1))) //nolint:gosec // a test
	p.Pools = nil
	p.Pods = pods(2, shape(1000, gi))
	p.Cordoned, p.CordonExempt = map[string]bool{p.Nodes[0].ID: true}, map[string]bool{p.Pods[1].UID: true}
	plan := Solve(p)
	if len(plan.Placements) != 1 || len(plan.Placements[0].Pods) != 1 || plan.Placements[0].Pods[0] != p.Pods[1] || unschedulablePods(plan) != 1 {
		t.Errorf("got %v, want the exempt pod on the node and the second pod rejected", look(plan))
	}
}

// TestCommitsCountPodsInTheOnlyDomainOfTheirNode: nothing requires the capacity type of the node that a worker moves to, but only on-demand
// nodes are offered. A later what-if counts the worker there: with two workers on on-demand nodes and none on the spot node, web has no place.
func TestCommitsCountPodsInTheOnlyDomainOfTheirNode(t *testing.T) {
	worker, web := shape(3600, gi), shape(500, gi)
	web.Spreads = []topology.Spread{spreadOver(capacityTypeKey, 1, "worker")}
	p := problem(nil, pool("default", instanceType("medium", 4, 16, 0.2)))
	running := func(node, capacityType, app string, s *model.Shape) *model.Pod {
		n := existing(node)
		n.Requirements = n.Requirements.Add(requirement.New(capacityTypeKey, requirement.In, capacityType))
		pod := labelled(named(pods(1, s), app+"-on-"+node), app)[0]
		pod.Node, pod.Reschedulable = node, true
		n.Pods, n.Used = []*model.Pod{pod}, s.Requests
		p.Nodes = append(p.Nodes, n)
		return pod
	}
	moves := running("a", "on-demand", "worker", worker)
	running("b", "on-demand", "worker", worker)
	running("c", "spot", "api", shape(4000, gi))
	follows := running("d", "on-demand", "web", web)
	base := NewBase(p, []*model.Pod{moves, follows})
	if plan := base.Solve(p.Nodes[:1], []*model.Pod{moves}); len(plan.NodeClaims) != 1 || !base.Commit() {
		t.Fatalf("the worker is placed as %v, want it on a new node", look(plan))
	}
	if plan := base.Solve(p.Nodes[3:], []*model.Pod{follows}); unschedulablePods(plan) != 1 {
		t.Errorf("web is placed as %v, want it refused", look(plan))
	}
	base.Reset()
	if plan := base.Solve(p.Nodes[3:], []*model.Pod{follows}); unschedulablePods(plan) != 1 {
		t.Errorf("with both workers where they are, web is placed as %v, want it refused", look(plan))
	}
}
