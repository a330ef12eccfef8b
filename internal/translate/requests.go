package translate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Problem: anyone who may create pods may make up resource names, thousands in each pod. If each had an index, they would be kept
// for good, and every vector with a later index would grow by all of them. Approach: only what offers resources adds names to the
// table (nodes, NodeClaims, instance types, limits of NodePools). Requests for other resources are kept in the shape of the pod, by name,
// and go with it. Invariant: a request that is above zero is in the vector or in the list, never in both. Cost: when the table grows,
// shapes with unoffered requests are looked through once more; ordinary pods have none.

// requests are those of a pod.
type requests struct {
	vector    resource.Vector
	unoffered []resource.Request
}

// podRequests returns the pod's total requests, including one pod.
func (a amounts) podRequests(pod *corev1.Pod) requests {
	r, ok := a.plainRequests(pod)
	if !ok {
		r = requests{}
		total := podresource.PodRequests(pod, podresource.PodResourcesOptions{
			UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: a.podLevelResize,
		})
		r.vector = vectorOf(min(len(total), a.resources.Len()))
		for name, q := range total {
			i := a.indexOf(name)
			r.add(i, name, amount(i, &q))
		}
	}
	r.vector[resource.Pods] = 1
	if len(r.unoffered) > 0 {
		r.unoffered = resource.SortRequests(r.unoffered)
		for i := range r.unoffered {
			r.unoffered[i].Amount = min(r.unoffered[i].Amount, maxAmount)
		}
		r.vector = r.vector.Set(resource.Unoffered, int64(len(r.unoffered)))
	}
	return r
}

// plainRequests returns the sum over containers and overhead, for pods whose requests depend only on these and whose amounts
// are all integers: nearly all pending pods.
func (a amounts) plainRequests(pod *corev1.Pod) (requests, bool) {
	spec := &pod.Spec
	if len(spec.InitContainers) > 0 || spec.Resources != nil || podresource.IsPodResizeInfeasible(pod) {
		return requests{}, false
	}
	r := requests{vector: make(resource.Vector, resource.Nodes)}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if s := statusOf(&pod.Status, c.Name); s != nil && (s.Resources != nil || s.AllocatedResources != nil) {
			return requests{}, false
		}
		if !a.accumulate(&r, c.Resources.Requests) {
			return requests{}, false
		}
	}
	return r, a.accumulate(&r, spec.Overhead)
}

// accumulate adds list to r, up to maxAmount; false if some amount is not an integer. Most lists have CPU and memory only: two look-ups are
// faster than iterating over a map.
func (a amounts) accumulate(r *requests, list corev1.ResourceList) bool {
	if len(list) == 2 {
		cpu, hasCPU := list[corev1.ResourceCPU]
		memory, hasMemory := list[corev1.ResourceMemory]
		if hasCPU && hasMemory {
			m, wholeCPU := exact(resource.CPU, &cpu)
			n, wholeMemory := exact(resource.Memory, &memory)
			r.add(resource.CPU, corev1.ResourceCPU, m)
			r.add(resource.Memory, corev1.ResourceMemory, n)
			return wholeCPU && wholeMemory
		}
	}
	for name, q := range list {
		i := a.indexOf(name)
		n, ok := exact(i, &q)
		if !ok {
			return false
		}
		r.add(i, name, n)
	}
	return true
}

// indexOf is the index of a requested resource, resource.Unoffered if it has none.
func (a amounts) indexOf(name corev1.ResourceName) int {
	if i, ok := a.resources.Lookup(string(name)); ok {
		return i
	}
	return resource.Unoffered
}

// add adds an amount. Both it and the sum so far are far from the range of int64.
func (r *requests) add(i int, name corev1.ResourceName, amount int64) {
	switch {
	case i != resource.Unoffered:
		r.vector = r.vector.Set(i, min(max(r.vector.At(i)+amount, -maxAmount), maxAmount))
	case amount > 0:
		r.unoffered = append(r.unoffered, resource.Request{Name: string(name), Amount: amount})
	}
}

// offered returns the shape with an amount in its vector for each of its unoffered requests that something offers by now; the shape
// itself if there is none. Source: scheduling specification, extended resources.
func (x *podSpecs) offered(s *model.Shape) *model.Shape {
	if len(s.Unoffered) == 0 {
		return s
	}
	names := x.amounts.resources.Names()
	requests, found := s.Requests, map[string]bool{}
	for i := resource.Unoffered + 1; i < len(names); i++ {
		if at, ok := resource.FindRequest(s.Unoffered, names[i]); ok {
			if len(found) == 0 {
				requests = requests.Clone()
			}
			found[names[i]] = true
			requests = requests.Set(i, s.Unoffered[at].Amount)
		}
	}
	if len(found) == 0 {
		return s
	}
	out := *s
	out.Unoffered = nil
	for _, r := range s.Unoffered {
		if !found[r.Name] {
			out.Unoffered = append(out.Unoffered, r)
		}
	}
	out.Requests = requests.Set(resource.Unoffered, int64(len(out.Unoffered)))
	return x.shapes.shared(&out)
}

// Offered returns the pod as it is translated now that more resources may be offered; the pod itself if nothing changed.
func (t *Translator) Offered(pod *model.Pod) *model.Pod {
	shape := t.specs.offered(pod.Shape)
	if shape == pod.Shape {
		return pod
	}
	out := *pod
	out.Shape = shape
	return &out
}

// OfferedPods is Offered for each of the pods. The list is not changed.
func (t *Translator) OfferedPods(pods []*model.Pod) []*model.Pod { return replaced(pods, t.Offered) }

// OfferedDaemonSets is OfferedPods for DaemonSets.
func (t *Translator) OfferedDaemonSets(sets []*model.DaemonSet) []*model.DaemonSet {
	return replaced(sets, func(d *model.DaemonSet) *model.DaemonSet {
		shape := t.specs.offered(d.Shape)
		if shape == d.Shape {
			return d
		}
		out := *d
		out.Shape = shape
		return &out
	})
}

// replaced is the list with a replacement for each value, or the list itself if none is replaced.
func replaced[T comparable](list []T, with func(T) T) []T {
	out := list
	for i, before := range list {
		after := with(before)
		if after == before {
			continue
		}
		if &out[0] == &list[0] {
			out = slices.Clone(list)
		}
		out[i] = after
	}
	return out
}
