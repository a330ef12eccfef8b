package provisioning

import (
	"maps"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/podlatency"
)

// outlook is what to expect after a batch.
type outlook int

const (
	// alone is a batch that is no part of a series.
	alone outlook = iota
	// growing is a batch of a series after which more pods are expected.
	growing
	// ending is a batch of a series that is probably the last.
	ending
)

// seriesBatches is the number of batches, each shortly after the one before, from which on the next ones are expected too.
const seriesBatches = 3

// series tells from the pods of the last batches whether more of them are expected.
//
// Problem: workloads that are created one after the other look like one workload that is scaled up slowly, but only for the second is
// capacity worth keeping free. Approach: pods belong together if they share their shape. Invariant: only shapes of pods that arrived
// within the longest pause are kept.
type series struct {
	// pause is the longest time between the pods of a series.
	pause  time.Duration
	shapes map[*model.Shape]arrivals
	// latest is when the last pod arrived.
	latest time.Time
}

// arrivals are those of the pods of one shape.
type arrivals struct {
	// batches is the number of batches in a row that had such pods.
	batches int
	// last is when the last of them arrived.
	last time.Time
}

// arrival is a pod that waits, with the time when it was first seen.
type arrival struct {
	shape *model.Shape
	seen  time.Time
}

func newSeries(pause time.Duration) *series {
	return &series{pause: pause, shapes: map[*model.Shape]arrivals{}}
}

// outlook adds a batch, and returns what to expect after it: more pods if it was cut off at its maximum. After a batch that waited longer
// than configured, the pods probably all came; without such a wait, the batches of a series are too far apart to tell. The pods of at
// least half of the batch decide. Pods of earlier batches that still wait do not count.
func (s *series) outlook(closed window, waiting []arrival) outlook {
	if !closed.arrived {
		return alone
	}
	pods, second, later := s.add(waiting)
	switch {
	case closed.cutOff:
		return growing
	case pods == 0 || 2*second < pods:
		return alone
	case closed.extended:
		return ending
	case 2*later >= pods:
		return growing
	default:
		return alone
	}
}

// batchGroup is the pods of one shape in a batch.
type batchGroup struct {
	pods        int
	first, last time.Time
}

// add adds a batch. It returns how many of its pods are new, how many of them have had others of their shape in the batch before, and in
// so many batches that the next ones are expected too.
func (s *series) add(waiting []arrival) (pods, second, later int) {
	groups := map[*model.Shape]batchGroup{}
	now := s.latest
	for _, a := range waiting {
		if !a.seen.After(s.latest) {
			continue
		}
		g := groups[a.shape]
		if g.pods == 0 || a.seen.Before(g.first) {
			g.first = a.seen
		}
		if a.seen.After(g.last) {
			g.last = a.seen
		}
		g.pods++
		groups[a.shape] = g
		if g.last.After(now) {
			now = g.last
		}
	}
	s.latest = now
	for shape, g := range groups {
		batches, before := 1, s.shapes[shape]
		if g.first.Sub(before.last) <= s.pause {
			batches += before.batches
		}
		s.shapes[shape] = arrivals{batches, g.last}
		pods += g.pods
		if batches > 1 {
			second += g.pods
		}
		if batches >= seriesBatches {
			later += g.pods
		}
	}
	maps.DeleteFunc(s.shapes, func(_ *model.Shape, a arrivals) bool { return now.Sub(a.last) > s.pause })
	return pods, second, later
}

// arrivalsOf are the pods that were seen waiting: not virtual ones, for example.
func arrivalsOf(pods []*model.Pod, latency *podlatency.Tracker) (waiting []arrival) {
	for _, pod := range pods {
		if times, known := latency.Get(pod.UID); known {
			waiting = append(waiting, arrival{pod.Shape, times.Seen})
		}
	}
	return waiting
}
