package disrupt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

const gi = int64(1) << 30

// fleet is a cluster to consolidate.
type fleet struct {
	*testing.T
	input  SimulationInput
	nodes  []*model.Node
	prices map[string]float64
	// slots is how many more NodeClaims a static pool may have, for repairs.
	slots int
	// change, if set, changes the session of each decision.
	change func(*Session)
}

// changed is the session of a decision.
func (f *fleet) changed(s Session) Session {
	if f.change != nil {
		f.change(&s)
	}
	return s
}

// price is what one core costs an hour, by capacity type.
var price = map[string]float64{onDemand: 1, spot: 0.4, reserved: 0.001}

// typeOf is an instance type with the given number of cores, offered in two zones with the given capacity types.
func typeOf(name string, cores int64, kinds ...string) *catalog.InstanceType {
	size := resource.Vector{}.Set(resource.CPU, cores*1000).Set(resource.Memory, cores*4*gi).Set(resource.Pods, 110)
	it := &catalog.InstanceType{
		Name: name, Capacity: size, Groups: []catalog.Group{{Allocatable: size}},
		Requirements: requirement.NewSet(
			requirement.New(instanceTypeKey, requirement.In, name),
			requirement.New(zoneKey, requirement.In, "zone-1", "zone-2"),
			requirement.New(capacityTypeKey, requirement.In, kinds...),
		),
	}
	for _, kind := range kinds {
		for _, zone := range []string{"zone-1", "zone-2"} {
			it.Offerings = append(it.Offerings, catalog.Offering{
				Kind: &catalog.Kind{Requirements: requirement.NewSet(
					requirement.New(zoneKey, requirement.In, zone), requirement.New(capacityTypeKey, requirement.In, kind),
				)},
				Price: price[kind] * float64(cores),
			})
		}
	}
	return it
}

// sizes are instance types of 1, 2, 4, … cores.
func sizes(n int, kinds ...string) catalog.Catalog {
	var out catalog.Catalog
	for i := range n {
		out = append(out, typeOf(fmt.Sprintf("x%d", 1<<i), 1<<i, kinds...))
	}
	return out
}

func wellKnown(key string) bool {
	return slices.Contains([]string{zoneKey, capacityTypeKey, instanceTypeKey, "karpenter.sh/nodepool"}, key)
}

// newFleet has one pool "default" with the catalogue.
func newFleet(t *testing.T, types catalog.Catalog, changes ...func(*Pool)) *fleet {
	f := &fleet{T: t, prices: map[string]float64{}}
	f.input = SimulationInput{Now: noon, Pools: map[string]Pool{}, Unevictable: map[string]bool{}}
	f.input.Problem.Resources = resource.NewTable().Names()
	f.input.Problem.Options = solve.Options{WellKnown: wellKnown}
	f.pool("default", types, changes...)
	return f
}

func (f *fleet) pool(name string, types catalog.Catalog, changes ...func(*Pool)) {
	p := Pool{Name: name, Usable: true, Policy: whenEmptyOrUnderutilized}
	for _, change := range changes {
		change(&p)
	}
	f.input.Pools[name] = p
	f.input.Problem.Pools = append(f.input.Problem.Pools, &model.Pool{
		Name: name, Catalog: types,
		Requirements: requirement.NewSet(requirement.New("karpenter.sh/nodepool", requirement.In, name)),
	})
}

// node adds a node of an instance type of the pool "default" with pods that request the given thousandths of a core.
func (f *fleet) node(name, kind, it string, cpus ...int64) *model.Node {
	return f.nodeOf("default", name, kind, it, cpus...)
}

func (f *fleet) nodeOf(pool, name, kind, it string, cpus ...int64) *model.Node {
	var cores int64
	if _, err := fmt.Sscanf(it, "x%d", &cores); err != nil {
		f.Fatal(err)
	}
	labels := map[string]string{
		instanceTypeKey: it, zoneKey: "zone-1", capacityTypeKey: kind, "karpenter.sh/nodepool": pool, "kubernetes.io/hostname": name,
	}
	size := resource.Vector{}.Set(resource.CPU, cores*1000).Set(resource.Memory, cores*4*gi).Set(resource.Pods, 110).Set(resource.Nodes, 1)
	n := node(name, func(n *model.Node) {
		n.Pool, n.Labels, n.Requirements, n.Capacity, n.Allocatable = pool, labels, requirement.Labels(labels), size, size
		n.Disruption.LastPodEvent = noon.Add(-time.Hour).UnixNano()
	})
	for i, cpu := range cpus {
		f.run(n, fmt.Sprintf("%s-%d", name, i), cpu)
	}
	f.nodes = append(f.nodes, n)
	f.prices[n.ID] = price[kind] * float64(cores)
	return n
}

// run adds a pod that runs on a node.
func (f *fleet) run(n *model.Node, name string, cpu int64, changes ...func(*model.Pod)) *model.Pod {
	p := &model.Pod{
		UID: name, Namespace: "default", Name: name, Node: n.NodeName, Reschedulable: true, EvictionCost: 1,
		Shape: &model.Shape{Requests: resource.Vector{}.Set(resource.CPU, cpu).Set(resource.Memory, gi/4).Set(resource.Pods, 1)},
	}
	for _, change := range changes {
		change(p)
	}
	n.Pods = append(n.Pods, p)
	n.Used = n.Used.Add(p.Shape.Requests)
	return p
}

// wait adds a pending pod.
func (f *fleet) wait(name string, cpu int64) *model.Pod {
	p := f.run(&model.Node{}, name, cpu)
	p.Node, p.Reschedulable = "", false
	f.input.Problem.Pods = append(f.input.Problem.Pods, p)
	return p
}

// candidates are all nodes that qualify.
func (f *fleet) candidates() []Candidate {
	w := qualifyInput(f.nodes...)
	w.Pools = f.input.Pools
	list, _ := Qualify(w)
	for i := range list {
		list[i].Price, list[i].TypeKnown = f.prices[list[i].Node.ID], true
	}
	return list
}

// decide returns the decision of a method with a budget for every pool.
func (f *fleet) decide(m Method, budget int) Decision {
	f.Helper()
	f.input.Problem.Nodes = nil
	for _, n := range f.nodes {
		if !n.Deleting {
			f.input.Problem.Nodes = append(f.input.Problem.Nodes, n)
		}
	}
	list := f.candidates()
	f.input.Totals = TotalsOf(snapshot(f.nodes...), list, func(n *model.Node) float64 { return f.prices[n.ID] })
	budgets := Budgets{}
	for name := range f.input.Pools {
		budgets[name] = budget
	}
	sims := []*Simulator{f.input.Simulator(list, m.Simulates), f.input.Simulator(list, m.Simulates)}
	fit, refused := m.FilterNodes(list)
	d := m.Decide(f.changed(Session{
		Input: &f.input, Budgets: budgets, Simulators: sims, Expired: func() bool { return false }, Grant: func(string, int) int { return 1 },
		Each: func(n int, do func(*Simulator, int)) {
			var group sync.WaitGroup
			for k, sim := range sims {
				group.Go(func() {
					for i := k; i < n; i += len(sims) {
						do(sim, i)
					}
				})
			}
			group.Wait()
		},
	}), fit)
	d.Obstacles = append(d.Obstacles, refused...)
	return d
}

// say renders a decision: every command with the instance types and the capacity type it launches.
func say(d Decision) string {
	var out []string
	for _, c := range d.Commands {
		text := c.Decision() + " " + strings.Join(sorted(names(c.Candidates)), "+")
		for _, claim := range c.Replacements {
			kinds := claim.Requirements.Get(capacityTypeKey)
			text += fmt.Sprintf(" -> %s %s", strings.Join(claim.InstanceTypes, ","), strings.Join(kinds.Values(), ","))
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func (f *fleet) want(d Decision, want string) {
	f.Helper()
	if got := say(d); got != want {
		f.Errorf("decided %q, want %q; obstacles: %v", got, want, d.Obstacles)
	}
}

// wantObstacle checks why a node is left alone.
func (f *fleet) wantObstacle(d Decision, node string, code Code, text string) {
	f.Helper()
	for _, o := range d.Obstacles {
		if o.Node.Name == node {
			if o.Code != code || text != "" && o.String() != text {
				f.Errorf("%s: obstacle %s %q, want %s %q", node, o.Code, o, code, text)
			}
			return
		}
	}
	f.Errorf("%s: no obstacle among %v, want %s", node, d.Obstacles, code)
}

// TestEveryNodeHasAReason: a method that considers nodes one by one has an obstacle for every node that it does not take.
func TestEveryNodeHasAReason(t *testing.T) {
	codes := map[Code]bool{}
	for seed := range uint64(80) {
		random := rand.New(rand.NewPCG(seed, 13)) //nolint:gosec // a test
		f := randomFleet(t, random, 2+random.IntN(8))
		for i, n := range f.nodes {
			if random.IntN(2) == 0 {
				drifted(n, 1+i%3)
			}
			switch random.IntN(5) {
			case 0:
				n.Pods = nil
			case 1:
				for _, p := range n.Pods {
					p.EvictionCost = 0
				}
			}
		}
		if seed%2 == 0 {
			// The assumptions of a waiting command prevent other moves.
			if d := f.decide(singleNode(), 2); len(d.Commands) > 0 {
				f.input.Underway = d.Commands[:1]
			}
		}
		static := f.input.Pools["other"]
		static.Static = seed%3 == 0
		f.input.Pools["other"] = static
		for _, m := range []Method{emptiness(), dispensable(), staticDrift(), drift(), singleNode()} {
			d := f.decide(m, 1+random.IntN(4))
			told := map[string]bool{}
			for _, c := range d.Commands {
				for _, candidate := range c.Candidates {
					told[candidate.Node.ID] = true
				}
			}
			for _, o := range d.Obstacles {
				if told[o.Node.ID] {
					t.Errorf("seed %d: %s says two things about %s", seed, m.Name, o.Node.Name)
				}
				told[o.Node.ID], codes[o.Code] = true, true
				if o.String() == string(o.Code) || o.Code.rule().Remedy == "" {
					t.Errorf("%s is not put into words, or nothing changes it", o.Code)
				}
			}
			for _, n := range f.nodes {
				if !told[n.ID] {
					t.Errorf("seed %d: %s leaves %s alone and does not say why", seed, m.Name, n.Name)
				}
			}
		}
	}
	for _, code := range []Code{NodePoolBudgetExhausted, IsDestination, notTogether, NodeLimit, NotCheaper, NotEmpty, Static, NotStatic} {
		if !codes[code] {
			t.Errorf("%s never came up", code)
		}
	}
}
