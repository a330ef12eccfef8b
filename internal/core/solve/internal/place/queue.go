package place

import "slices"

// Queue is the pods in order of trial, cut into runs of one class.
func (s *Placer) Queue() []PodRun { return permute(s, cheapFirst(s.runs())) }

// runs cuts the queue.
func (s *Placer) runs() []PodRun {
	pods, classes := s.Problem.Pods, s.PodClasses()
	cuts := 0
	for i, c := range classes {
		if i > 0 && c != classes[i-1] {
			cuts++
		}
	}
	runs := make([]PodRun, 0, cuts+1)
	for start, end := 0, 0; start < len(pods); start = end {
		for end < len(pods) && classes[end] == classes[start] {
			end++
		}
		runs = append(runs, PodRun{classes[start], pods[start:end:end]})
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
