package place

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Queue is the pods in order of trial, cut into runs of one class.
func (s *Placer) Queue() []PodRun { return permute(s, cheapFirst(s.runs())) }

// runs cuts the queue. Where the order of pods is arbitrary, those of a class follow its first one: placing a run takes little longer than
// placing a pod. It is not arbitrary where pods decide in which domains others may be.
func (s *Placer) runs() (runs []PodRun) {
	pods, classes := s.Problem.Pods, s.PodClasses()
	for start, end := 0, 0; start < len(pods); start = end {
		for end++; end < len(pods) && (classes[end] == classes[end-1] || arbitraryOrder(s, end-1, end)); {
			end++
		}
		runs = gather(runs, pods[start:end:end], classes[start:end])
	}
	return runs
}

// arbitraryOrder reports whether it is arbitrary which of two pods, which follow each other, comes first: they request the same, are equally
// old, and no constraint refers to them and others.
func arbitraryOrder(s *Placer, a, b int) bool {
	p, classes := &s.Problem, s.PodClasses()
	x, y := p.Pods[a], p.Pods[b]
	return compile.Independent(classes[a]) && compile.Independent(classes[b]) && x.Created == y.Created && x.Virtual == y.Virtual && x.Shape.Priority == y.Shape.Priority &&
		slices.Equal(classes[a].Needs, classes[b].Needs) && p.First[x.UID] == p.First[y.UID] && p.GroupOf(x)+p.GroupOf(y) == ""
}

// gather appends the pods to runs, one for each class, in the order of their first pods.
func gather(runs []PodRun, pods []*model.Pod, classes []*compile.Class) []PodRun {
	if !slices.ContainsFunc(classes, func(c *compile.Class) bool { return c != classes[0] }) {
		return append(runs, PodRun{classes[0], pods})
	}
	at := map[*compile.Class]int{}
	for i, c := range classes {
		n, known := at[c]
		if !known {
			n = len(runs)
			at[c] = n
			runs = append(runs, PodRun{Class: c})
		}
		runs[n].Pods = append(runs[n].Pods, pods[i])
	}
	return runs
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
