package place

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Queue is the pods in order of trial, cut into runs of one class: existing pods before virtual ones, which stand for
// headroom; where limits may leave some without a node, by priority; those that request extended resources before others
// use up the nodes that have them; then large before small, and old before young.
//
// Shapes are few and pods are many: shapes are ranked, and pods are distributed by rank. Pods mostly come in an order in
// which those of a rank need no sorting. Source: scheduling specification, queue.
func (s *Placer) Queue() []PodRun {
	ranks, many := s.ranks()
	ends := make([]int, 2*many+1)
	place := func(p *model.Pod) int {
		if p.Virtual {
			return many + ranks[p.Shape]
		}
		return ranks[p.Shape]
	}
	places := make([]int32, len(s.Problem.Pods))
	for i, p := range s.Problem.Pods {
		at := place(p)
		places[i] = int32(at)
		ends[at+1]++
	}
	for i := range 2 * many {
		ends[i+1] += ends[i]
	}
	pods := make([]*model.Pod, len(s.Problem.Pods))
	for i, p := range s.Problem.Pods {
		pods[ends[places[i]]] = p
		ends[places[i]]++
	}
	start := 0
	for _, end := range ends[:2*many] {
		if same := pods[start:end]; !slices.IsSortedFunc(same, older) {
			slices.SortFunc(same, older)
		}
		start = end
	}
	return s.runs(pods)
}

// ranks numbers the shapes of the pods in order of trial, with one number for shapes that compare equal, and returns how
// many numbers there are.
func (s *Placer) ranks() (ranks map[*model.Shape]int, many int) {
	limited := slices.ContainsFunc(s.Problem.Pools, func(p *model.Pool) bool { return len(p.Limits) > 0 })
	ranks = make(map[*model.Shape]int, min(len(s.Problem.Pods), len(s.Groups.ByShape)))
	var shapes []*model.Shape
	for _, p := range s.Problem.Pods {
		if _, known := ranks[p.Shape]; !known {
			ranks[p.Shape] = 0
			shapes = append(shapes, p.Shape)
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

// runs cuts the queue.
func (s *Placer) runs(pods []*model.Pod) []PodRun {
	cuts := 0
	for i, p := range pods {
		if i > 0 && !s.Classes.SameClass(p, pods[i-1]) {
			cuts++
		}
	}
	runs := make([]PodRun, 0, cuts+1)
	var last *compile.Class
	start := 0
	for i, p := range pods {
		if i > 0 && s.Classes.SameClass(p, pods[i-1]) {
			continue
		}
		if c := s.Classes.Of(p); c != last {
			if last != nil {
				runs = append(runs, PodRun{last, pods[start:i:i]})
			}
			last, start = c, i
		}
	}
	if last != nil {
		runs = append(runs, PodRun{last, pods[start:]})
	}
	return cheapFirst(runs)
}

// cheapFirst moves the runs of expensive classes behind the others, so that no other pod waits for them.
func cheapFirst(runs []PodRun) []PodRun {
	expensive := func(r PodRun) bool { return r.Class.Expensive() }
	if !slices.ContainsFunc(runs, expensive) {
		return runs
	}
	var first, last []PodRun
	for _, r := range runs {
		if expensive(r) {
			last = append(last, r)
		} else {
			first = append(first, r)
		}
	}
	return append(first, last...)
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
