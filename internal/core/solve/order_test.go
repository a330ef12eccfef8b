package solve

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// text is everything that a plan decides.
func text(p Plan) string {
	var b strings.Builder
	names := func(pods []*model.Pod) {
		for _, pod := range pods {
			fmt.Fprintf(&b, " %s", pod.UID)
		}
		b.WriteByte('\n')
	}
	for _, c := range p.NodeClaims {
		fmt.Fprintf(&b, "%s %v %v %v %v $%v:", c.Pool, c.Requirements, c.Labels, c.InstanceTypes, c.Requests, c.Price)
		names(c.Pods)
	}
	for _, at := range p.Placements {
		b.WriteString(at.Node.Name)
		names(at.Pods)
	}
	for _, u := range p.Unschedulable {
		b.WriteString(u.Reasons.String())
		names(u.Pods)
	}
	return b.String()
}

// mixedConstraints is a random problem of few pods with many kinds of constraints, in every one of which the order of what is compiled
// could decide.
func mixedConstraints(r *rand.Rand) Problem {
	keys := []string{zoneKey, capacityTypeKey, "test/rack", "test/row", hostnameKey}
	apps := []string{"a", "b", "c"}
	selecting := func() *topology.Selector {
		return topology.NewSelector(requirement.NewSet(requirement.New("app", requirement.In, apps[r.IntN(len(apps))])))
	}
	var all []*model.Pod
	for i := range 2 + r.IntN(7) {
		s := shape(int64(300+400*r.IntN(4)), gi)
		for range r.IntN(3) {
			s.Spreads = append(s.Spreads, topology.Spread{Key: keys[r.IntN(len(keys))], MaxSkew: 1, Namespace: "default", Selector: selecting(), Soft: r.IntN(3) == 0})
		}
		for range r.IntN(3) {
			s.Affinities = append(s.Affinities, topology.Affinity{
				Key: keys[r.IntN(len(keys))], Anti: r.IntN(3) > 0, Weight: int32(r.IntN(2) * 10), Selector: selecting(), Namespaces: []string{"default"},
			})
		}
		if r.IntN(3) == 0 {
			s.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, []string{"zone-a", "zone-b"}[r.IntN(2)]))
		}
		labels := &model.Labels{Namespace: "default", Values: map[string]string{"app": apps[r.IntN(len(apps))]}}
		for k := range 1 + r.IntN(4) {
			name := fmt.Sprintf("pod-%02d-%d", i, k)
			all = append(all, &model.Pod{UID: name, Namespace: "default", Name: name, Shape: s, Labels: labels})
		}
	}
	p := pool("default", instanceType("s", 2, 8, 0.1), instanceType("m", 4, 16, 0.19), instanceType("l", 8, 32, 0.5))
	for _, key := range []string{"test/rack", "test/row"} {
		p.Requirements = p.Requirements.Add(requirement.New(key, requirement.In, "one", "two"))
	}
	in := problem(all, p)
	for i := range r.IntN(4) {
		name := fmt.Sprint("node-", i)
		labels := requirement.NewSet(requirement.New(hostnameKey, requirement.In, name), requirement.New(zoneKey, requirement.In, []string{"zone-a", "zone-b"}[r.IntN(2)]))
		n := &model.Node{ID: name, Name: name, NodeName: name, Launched: true, Initialized: true, Requirements: labels, Allocatable: resource.Vector{2000, 8 * gi, 110}}
		n.Pods = []*model.Pod{{UID: "on-" + name, Namespace: "default", Name: "on-" + name, Node: name, Shape: all[r.IntN(len(all))].Shape, Labels: all[0].Labels}}
		for _, pod := range n.Pods {
			for _, a := range pod.Shape.Affinities {
				if a.Anti && a.Required() && len(n.AntiAffinityPods) == 0 {
					n.AntiAffinityPods = n.Pods
				}
			}
		}
		in.Nodes = append(in.Nodes, n)
	}
	return in
}

// TestTheOrderOfTheInputDoesNotMatter: pods and nodes may come in any order.
func TestTheOrderOfTheInputDoesNotMatter(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 12))
		in := mixedConstraints(r)
		want := text(Solve(in))
		for range 3 {
			r.Shuffle(len(in.Pods), func(i, j int) { in.Pods[i], in.Pods[j] = in.Pods[j], in.Pods[i] })
			r.Shuffle(len(in.Nodes), func(i, j int) { in.Nodes[i], in.Nodes[j] = in.Nodes[j], in.Nodes[i] })
			if got := text(Solve(in)); got != want {
				t.Errorf("seed %d: in another order\n%s\nwant\n%s", seed, got, want)
			}
		}
	}
}
