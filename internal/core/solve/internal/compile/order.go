package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// InOrder is the pods of the problem in order of trial: existing pods before virtual ones, which stand for headroom; where limits may
// leave some without a node, by priority; those that request extended resources before others use up the nodes that have them; then
// large before small, and old before young.
//
// What is compiled gets its numbers in this order, so that nothing depends on the order of the input. Shapes are few and pods are many:
// shapes are ranked, and pods are distributed by rank. Pods mostly come in an order in which those of a rank need no sorting.
// Source: scheduling specification, queue.
func (p *Problem) InOrder() []*model.Pod {
	ranks, many := p.ranks()
	ends := make([]int, 2*many+1)
	places := make([]int32, len(p.Pods))
	for i, pod := range p.Pods {
		at := ranks[pod.Shape]
		if pod.Virtual {
			at += many
		}
		places[i] = int32(at)
		ends[at+1]++
	}
	for i := range 2 * many {
		ends[i+1] += ends[i]
	}
	pods := make([]*model.Pod, len(p.Pods))
	for i, pod := range p.Pods {
		pods[ends[places[i]]] = pod
		ends[places[i]]++
	}
	start := 0
	for _, end := range ends[:2*many] {
		if same := pods[start:end]; !slices.IsSortedFunc(same, older) {
			slices.SortFunc(same, older)
		}
		start = end
	}
	return pods
}

// ranks numbers the shapes of the pods in order of trial, with one number for shapes that compare equal, and returns how
// many numbers there are.
func (p *Problem) ranks() (ranks map[*model.Shape]int, many int) {
	limited := slices.ContainsFunc(p.Pools, func(pool *model.Pool) bool { return len(pool.Limits) > 0 })
	ranks = map[*model.Shape]int{}
	var shapes []*model.Shape
	var last *model.Shape
	for _, pod := range p.Pods {
		if pod.Shape == last {
			continue
		}
		last = pod.Shape
		if _, known := ranks[pod.Shape]; !known {
			ranks[pod.Shape] = 0
			shapes = append(shapes, pod.Shape)
		}
	}
	order := func(a, b *model.Shape) int { return compareShapes(a, b, limited) }
	slices.SortFunc(shapes, order)
	for i, shape := range shapes {
		if i > 0 && order(shapes[i-1], shape) != 0 {
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

func compareShapes(a, b *model.Shape, byPriority bool) int {
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
