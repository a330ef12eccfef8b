package place

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Queue is the pods in order of trial, cut into runs of one class.
func (s *Placer) Queue() []PodRun { return permute(s, s.runs(s.Problem.Pods)) }

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
