package place

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Pods that are spread beside pods of DaemonSets, or that affinity binds to these or keeps away from them, depend on how many nodes other
// pods need. They are placed last, and on nodes that are not repacked after that. Small problems are also solved with all pods in one queue:
// the others may choose domains in which they share nodes with these pods. So are what-ifs that are asked to try some of these pods first.

// SplitConcerned separates the runs of such pods from those of others, unless the strategy or the problem mixes them. The pods that the strategy
// puts last are at the end of what is placed last.
func SplitConcerned(s *Placer, queue []PodRun) (others, concerned []PodRun) {
	concern := slices.ContainsFunc(queue, func(r PodRun) bool { return r.Class.Concerned() })
	queue, last := postpone(s, queue)
	switch {
	case !concern:
		return append(queue, last...), nil
	case s.strategy.Mixed, slices.ContainsFunc(queue, func(r PodRun) bool { return r.Class.Concerned() && s.Problem.First[r.Pods[0].UID] }):
		return nil, append(queue, last...)
	}
	for _, r := range queue {
		if r.Class.Concerned() {
			concerned = append(concerned, r)
		} else {
			others = append(others, r)
		}
	}
	return others, append(concerned, last...)
}

// Mixes reports whether it matters that a strategy mixes pods: pods of DaemonSets concern some of the pods, and others not.
func Mixes(r *compile.Run) bool {
	concerned := 0
	for _, c := range r.PodClasses() {
		if c.Concerned() {
			concerned++
		}
	}
	return concerned > 0 && concerned < len(r.Problem.Pods)
}

// PlaceConcerned places pods that pods of DaemonSets concern, after all others, and those that may depend on them. What fits nowhere is tried
// again without the domains that have no node: for kube-scheduler they are none.
func PlaceConcerned(s *Placer, queue []PodRun) {
	for _, r := range s.Unschedulable {
		if r.Class.Pinned {
			queue = append(queue, r)
		}
	}
	s.Unschedulable = slices.DeleteFunc(s.Unschedulable, func(r PodRun) bool { return r.Class.Pinned })
	for _, exact := range []bool{false, true} {
		before := s.Unschedulable
		s.Unschedulable = nil
		s.Daemons.Activate(s.Run, exact)
		s.PlaceAll(queue)
		queue = s.Unschedulable
		s.Unschedulable = before
	}
	s.Unschedulable = append(s.Unschedulable, queue...)
	s.Tighten()
	Settle(s)
	s.FillHosts()
}

// Reopen lets nodes take pods after they were repacked: they are numbered anew.
func Reopen(s *Placer) {
	s.Counts.Rehost(s.Run)
	for _, on := range s.Open {
		on.Trial = false
	}
	reopen(s)
}

// reopen lists the open nodes by template anew, and has all pods consider them again.
func reopen(s *Placer) {
	for _, t := range s.Templates {
		t.Open = compile.OpenNodes{}
	}
	for i, on := range s.Open {
		on.UpdateSlack()
		on.Template.Open.Add(i, on.Slack)
	}
	s.Classes.Retry()
}
