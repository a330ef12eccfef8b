package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// InOrder is the pods of the problem in order of trial: those of First before all others; existing pods before virtual ones, which stand
// for headroom; where limits may leave some without a node, by priority; those that request extended resources before others use up the
// nodes that have them; those that volumes bind to a few zones before pods of the same spread that have a choice take the skew of these
// zones; then large before small, and old before young.
//
// The pods of a group follow its first pod, so that a group has its places before the next group takes any; see together.
//
// What is compiled gets its numbers in this order, so that nothing depends on the order of the input. Shapes are few and pods are many:
// shapes are ranked, and pods are distributed by rank. Pods mostly come in an order in which those of a rank need no sorting.
// Source: scheduling specification, queue.
func (p *Problem) InOrder() []*model.Pod {
	places, shapes := p.shapes()
	ranks, many := p.ranks(shapes)
	buckets, shift := 2*many, 0
	if len(p.First) > 0 {
		buckets, shift = 3*many, many
	}
	ends := make([]int, buckets+1)
	for i, pod := range p.Pods {
		at := ranks[places[i]]
		if !p.First[pod.UID] {
			at += shift
		}
		if pod.Virtual {
			at += many
		}
		places[i] = int32(at) //nolint:gosec // there are not more ranks than pods
		ends[at+1]++
	}
	for i := range buckets {
		ends[i+1] += ends[i]
	}
	pods := make([]*model.Pod, len(p.Pods))
	for i, pod := range p.Pods {
		pods[ends[places[i]]] = pod
		ends[places[i]]++
	}
	start := 0
	for _, end := range ends[:buckets] {
		if same := pods[start:end]; !slices.IsSortedFunc(same, older) {
			slices.SortFunc(same, older)
		}
		start = end
	}
	return p.together(pods, ends[:buckets])
}

// shapes lists the shapes of the pods, and returns the number of each pod's.
func (p *Problem) shapes() (of []int32, shapes []*model.Shape) {
	of = make([]int32, len(p.Pods))
	known := map[*model.Shape]int32{}
	for i, pod := range p.Pods {
		if i > 0 && pod.Shape == p.Pods[i-1].Shape {
			of[i] = of[i-1]
			continue
		}
		number, ok := known[pod.Shape]
		if !ok {
			number = int32(len(shapes)) //nolint:gosec // there are not more shapes than pods
			known[pod.Shape] = number
			shapes = append(shapes, pod.Shape)
		}
		of[i] = number
	}
	return of, shapes
}

// ranks numbers shapes in order of trial, with one number for shapes that compare equal, and returns how many numbers there are.
func (p *Problem) ranks(shapes []*model.Shape) (ranks []int, many int) {
	limited := slices.ContainsFunc(p.Pools, func(pool *model.Pool) bool { return len(pool.Limits) > 0 }) ||
		slices.ContainsFunc(p.Pods, func(pod *model.Pod) bool { return p.GroupOf(pod) != "" })
	sorted := make([]int, len(shapes))
	for i := range sorted {
		sorted[i] = i
	}
	zones := spreadZones(shapes)
	order := func(a, b int) int { return compareShapes(shapes[a], shapes[b], limited, zones) }
	slices.SortFunc(sorted, order)
	ranks = make([]int, len(shapes))
	for i, shape := range sorted {
		if i > 0 && order(sorted[i-1], shape) != 0 {
			many++
		}
		ranks[shape] = many
	}
	return ranks, many + 1
}

func older(a, b *model.Pod) int {
	if a.Created != b.Created {
		return cmp.Compare(a.Created, b.Created)
	}
	return strings.Compare(a.UID, b.UID)
}

func compareShapes(a, b *model.Shape, byPriority bool, zones zoneCounts) int {
	if byPriority && a.Priority != b.Priority {
		return cmp.Compare(b.Priority, a.Priority)
	}
	if x, y := asksForRare(a), asksForRare(b); x != y {
		if x {
			return -1
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(zones.of(a), zones.of(b)),
		cmp.Compare(b.Requests.At(resource.CPU), a.Requests.At(resource.CPU)),
		cmp.Compare(b.Requests.At(resource.Memory), a.Requests.At(resource.Memory)),
	)
}

// asksForRare reports whether the shape requests an extended resource, which most nodes do not have.
func asksForRare(s *model.Shape) bool {
	for i, amount := range s.Requests {
		if amount > 0 && i > resource.Nodes {
			return true
		}
	}
	return false
}

// inOrder are nodes by ID.
func inOrder(nodes []*model.Node) []*model.Node {
	byID := func(a, b *model.Node) int { return strings.Compare(a.ID, b.ID) }
	if slices.IsSortedFunc(nodes, byID) {
		return nodes
	}
	return slices.SortedFunc(slices.Values(nodes), byID)
}
