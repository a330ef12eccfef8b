package disrupt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// bill is the cost of all nodes.
func (f *fleet) bill() float64 {
	sum := 0.0
	for _, n := range f.nodes {
		sum += f.prices[n.ID]
	}
	return sum
}

// carryOut applies a command to the cluster: launches get any instance type that their NodeClaims allow.
func (f *fleet) carryOut(c Command, random *rand.Rand, serial int) {
	f.Helper()
	gone := map[string]bool{}
	for _, id := range c.IDs() {
		gone[id] = true
	}
	f.nodes = slices.DeleteFunc(f.nodes, func(n *model.Node) bool { return gone[n.ID] })
	move := func(to *model.Node, pods []*model.Pod) {
		for _, p := range pods {
			moved := *p
			moved.Node = to.NodeName
			to.Pods, to.Used = append(to.Pods, &moved), to.Used.Add(moved.Shape.Requests)
		}
		if !to.Used.Fits(to.Allocatable) {
			f.Fatalf("too much on %s after %s", to.Name, c.Text("x"))
		}
	}
	for _, at := range c.Placements {
		i := slices.IndexFunc(f.nodes, func(n *model.Node) bool { return n.ID == at.Node.ID })
		if i < 0 {
			f.Fatalf("%s is gone, and %s counts on it", at.Node.Name, c.Text("x"))
		}
		move(f.nodes[i], at.Pods)
	}
	for i, claim := range c.Replacements {
		it := claim.InstanceTypes[random.IntN(len(claim.InstanceTypes))]
		kind := claim.Requirements.Get(capacityTypeKey).Values()[0]
		move(f.nodeOf(claim.Pool, fmt.Sprintf("r%d-%d", serial, i), kind, it), claim.Pods)
	}
}

// TestAFrozenFleetConverges: without new or deleted pods, every pass saves money until nothing is left to do.
// From then on each pass sees the same cluster, and decides the same.
func TestAFrozenFleetConverges(t *testing.T) {
	for _, tt := range []struct {
		nodes  int
		policy string
		seed   uint64
	}{{200, whenEmptyOrUnderutilized, 1}, {200, Balanced, 2}, {60, whenEmptyOrUnderutilized, 3}, {60, Balanced, 4}, {30, whenEmptyOrUnderutilized, 5}} {
		t.Run(fmt.Sprintf("%d nodes, %s", tt.nodes, tt.policy), func(t *testing.T) {
			random := rand.New(rand.NewPCG(tt.seed, 7)) //nolint:gosec // a test
			f := randomFleet(t, random, tt.nodes)
			for name, p := range f.input.Pools {
				p.Policy = tt.policy
				f.input.Pools[name] = p
			}
			budget := max(tt.nodes/10, 2)
			before, moves := f.bill(), 0
			for pass := 0; ; pass++ {
				if pass > 5*tt.nodes {
					t.Fatalf("no rest after %d passes and %d moves", pass, moves)
				}
				d := f.decide(multiNode(), budget)
				if len(d.Commands) == 0 {
					d = f.decide(singleNode(), budget)
				}
				if len(d.Commands) == 0 {
					break
				}
				was := f.bill()
				for _, c := range d.Commands {
					moves++
					f.carryOut(c, random, moves)
				}
				if is := f.bill(); is >= was-1e-9 {
					t.Fatalf("pass %d: %s costs $%.3f where $%.3f was paid", pass, say(d), is, was)
				}
			}
			t.Logf("%d moves, $%.2f/h → $%.2f/h, %d nodes", moves, before, f.bill(), len(f.nodes))
			for range 3 {
				random.Shuffle(len(f.nodes), func(i, k int) { f.nodes[i], f.nodes[k] = f.nodes[k], f.nodes[i] })
				for _, m := range []Method{multiNode(), singleNode(), drift(), dispensable()} {
					f.want(f.decide(m, 100), "")
				}
			}
		})
	}
}
