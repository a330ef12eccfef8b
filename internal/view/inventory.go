package view

import (
	"cmp"
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cost"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// inventory are the nodes of a state with their pods and prices, without the engine. It is not changed.
type inventory struct {
	// nodes are all nodes, by name. place is the index of a node by the name of its Node and, unless a Node has that name, of its NodeClaim.
	nodes []Node
	place map[string]int
	// pods are the pods of each node, in the order of nodes; waiting those without a node that have not finished.
	pods    [][]*corev1.Pod
	waiting []*corev1.Pod
	pools   []*v1.NodePool
	types   map[string][]*cloud.InstanceType
	prices  map[string]cost.Prices
	totals  Totals
}

func newInventory(ctx context.Context, s ClusterState) *inventory {
	in := &inventory{place: map[string]int{}, types: simulation.InstanceTypes(ctx, s.Objects, s.Cloud, s.Options), prices: map[string]cost.Prices{}}
	for name, types := range in.types {
		in.prices[name] = cost.PricesOf(types)
	}
	var nodes []*corev1.Node
	claims := map[string]*v1.NodeClaim{} // by provider ID, or by name without one
	podsOn := map[string][]*corev1.Pod{}
	for _, o := range s.Objects {
		switch o := o.(type) {
		case *corev1.Node:
			nodes = append(nodes, o)
		case *v1.NodeClaim:
			claims[cmp.Or(o.Status.ProviderID, o.Name)] = o
		case *v1.NodePool:
			in.pools = append(in.pools, o)
		case *corev1.Pod:
			switch {
			case podrules.Terminal(o):
			case o.Spec.NodeName != "":
				podsOn[o.Spec.NodeName] = append(podsOn[o.Spec.NodeName], o)
			default:
				in.waiting = append(in.waiting, o)
			}
		}
	}
	slices.SortFunc(in.pools, func(a, b *v1.NodePool) int { return cmp.Compare(a.Name, b.Name) })
	used := map[*v1.NodeClaim]bool{}
	for _, n := range nodes {
		claim := claims[n.Spec.ProviderID]
		if n.Spec.ProviderID == "" {
			claim = nil
		}
		used[claim] = true
		in.nodes = append(in.nodes, in.node(n, claim, podsOn[n.Name]))
	}
	for _, claim := range claims {
		if !used[claim] {
			in.nodes = append(in.nodes, in.node(nil, claim, nil))
		}
	}
	slices.SortFunc(in.nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.NodeClaim, b.NodeClaim)) })
	in.pods = make([][]*corev1.Pod, len(in.nodes))
	for i, n := range in.nodes {
		in.pods[i] = podsOn[n.Name]
		if n.NodeClaim == n.Name && n.State == Launching {
			in.pods[i] = nil
		}
	}
	in.index()
	in.totals = totalsOf(in.nodes)
	in.totals.Pending = len(in.waiting)
	return in
}

// index makes nodes known by their names. Names of Nodes come first.
func (in *inventory) index() {
	for i, n := range in.nodes {
		if n.NodeClaim != "" {
			in.place[n.NodeClaim] = i
		}
	}
	for i, n := range in.nodes {
		if n.State != Launching {
			in.place[n.Name] = i
		}
	}
}

// node is one node. n is nil for a NodeClaim without a Node, claim for nodes that Karpenter does not manage.
func (in *inventory) node(n *corev1.Node, claim *v1.NodeClaim, pods []*corev1.Pod) Node {
	var out Node
	var offering cost.Offering
	if claim != nil {
		out.Name, out.NodeClaim, out.Labels = claim.Name, claim.Name, claim.Labels
		out.NodePool, out.Created = claim.Labels[v1.NodePoolLabelKey], claim.CreationTimestamp.UTC()
		out.Allocatable, offering = amountsOf(claim.Status.Allocatable), cost.OfferingOf(claim.Labels)
	}
	if n != nil {
		out.Name, out.Labels, out.Allocatable = n.Name, n.Labels, amountsOf(n.Status.Allocatable)
		out.NodePool = cmp.Or(out.NodePool, n.Labels[v1.NodePoolLabelKey])
		if of := cost.OfferingOf(n.Labels); claim == nil || !offering.Complete() && of.Complete() {
			offering = of
		}
		if claim == nil {
			out.Created = n.CreationTimestamp.UTC()
		}
	}
	out.InstanceType, out.Zone, out.CapacityType = offering.InstanceType, offering.Zone, offering.CapacityType
	if price, known := in.prices[out.NodePool].Of(offering); known {
		out.PricePerHour = &price
	}
	requested := Amounts{}
	for _, p := range pods {
		requested.add(requestsOf(p))
	}
	out.Requested, out.State = &requested, stateOf(n, claim)
	return out
}

// stateOf is the state of a node, but for Blocked, which needs the engine.
func stateOf(n *corev1.Node, claim *v1.NodeClaim) State {
	switch {
	case claim != nil && claim.DeletionTimestamp != nil || n != nil && n.DeletionTimestamp != nil:
		return Draining
	case n == nil:
		return Launching
	case slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1.DisruptedTaintKey }):
		return Disrupting
	case ready(n) && (claim == nil || n.Labels[v1.NodeInitializedLabelKey] == "true"):
		return Ready
	case claim != nil && n.Labels[v1.NodeInitializedLabelKey] != "true":
		return Starting
	}
	return NotReady
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func (a *Amounts) add(b Amounts) {
	a.CPU += b.CPU
	a.Memory += b.Memory
	a.Pods += b.Pods
}

func amountsOf(list corev1.ResourceList) Amounts {
	return Amounts{CPU: list.Cpu().MilliValue(), Memory: list.Memory().Value(), Pods: list.Pods().Value()}
}

// requestsOf are the requests of a pod, with one pod.
func requestsOf(p *corev1.Pod) Amounts {
	if p.Spec.Resources == nil && len(p.Spec.InitContainers) == 0 && len(p.Status.ContainerStatuses) == 0 {
		out := Amounts{Pods: 1}
		for i := range p.Spec.Containers {
			list := p.Spec.Containers[i].Resources.Requests
			out.CPU += list.Cpu().MilliValue()
			out.Memory += list.Memory().Value()
		}
		out.CPU += p.Spec.Overhead.Cpu().MilliValue()
		out.Memory += p.Spec.Overhead.Memory().Value()
		return out
	}
	out := amountsOf(podresource.PodRequests(p, podresource.PodResourcesOptions{UseStatusResources: true}))
	out.Pods = 1
	return out
}

// totalsOf are the sums over nodes.
func totalsOf(nodes []Node) Totals {
	t := Totals{Nodes: len(nodes), States: map[State]int{}, Requested: &Amounts{}}
	for i := range nodes {
		n := &nodes[i]
		t.States[n.State]++
		t.Allocatable.add(n.Allocatable)
		if n.Requested != nil {
			t.Requested.add(*n.Requested)
		}
		if n.PricePerHour != nil {
			t.PricePerHour += *n.PricePerHour
		} else {
			t.UnknownPrices++
		}
	}
	return t
}

// priced divides the price of nodes by a property; nodes without it are left out. The most expensive come first.
func priced(nodes []Node, by func(*Node) string) []Priced {
	sums := map[string]*Priced{}
	for i := range nodes {
		name := by(&nodes[i])
		if name == "" {
			continue
		}
		p := sums[name]
		if p == nil {
			p = &Priced{Name: name}
			sums[name] = p
		}
		p.include(&nodes[i])
	}
	out := []Priced{}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, *sums[name])
	}
	slices.SortStableFunc(out, func(a, b Priced) int { return cmp.Compare(b.PricePerHour, a.PricePerHour) })
	return out
}

func (p *Priced) include(n *Node) {
	p.Nodes++
	if n.PricePerHour == nil {
		p.UnknownPrices++
		return
	}
	p.PricePerHour += *n.PricePerHour
}
