package demo

import (
	"fmt"
	"time"
)

// phaseLimit is how long a phase may take before the demo fails: a fixed part and a part for each pod, far above what is usual.
func phaseLimit(pods int) time.Duration {
	return 2*time.Minute + time.Duration(pods)*200*time.Millisecond
}

// figures are what the demo reports at the end.
type figures struct {
	catalog    string
	pods       int
	nodes      int
	pricePerH  float64
	cluster    time.Duration
	controller time.Duration
	running    time.Duration
	podsGone   time.Duration
	nodesGone  time.Duration
}

func (f figures) String() string {
	return fmt.Sprintf("%d pods on %d nodes, $%.4f/h (%s) · cluster %.1f s, controller %.1f s, pods running %.1f s, pods gone %.1f s, nodes gone %.1f s",
		f.pods, f.nodes, f.pricePerH, f.catalog, f.cluster.Seconds(), f.controller.Seconds(), f.running.Seconds(), f.podsGone.Seconds(),
		f.nodesGone.Seconds())
}

// wholeLoop scales up and down again and measures each phase.
func wholeLoop(p *Play) (fmt.Stringer, error) {
	s, show := p.Settings, p.Show
	f := figures{catalog: s.Catalog, pods: s.Pods, cluster: p.Cluster, controller: p.Controller}
	if err := p.Pool(); err != nil {
		return f, err
	}
	for _, phase := range []struct {
		replicas int
		what     string
		took     *time.Duration
		done     func(Counts) bool
	}{
		{s.Pods, fmt.Sprintf("%d pods running", s.Pods), &f.running, func(c Counts) bool { return c.Running == s.Pods && c.Pending == 0 }},
		{0, "pods gone", &f.podsGone, func(c Counts) bool { return c.Running+c.Pending == 0 }},
		{0, "nodes gone", &f.nodesGone, func(c Counts) bool { return c.Nodes+c.Claims == 0 }},
	} {
		took := stopwatch()
		if err := p.Scale(phase.replicas); err != nil {
			return f, err
		}
		err := Poll(p.Ctx, phaseLimit(s.Pods), phase.what, func() (bool, error) {
			now, err := p.Count()
			if err != nil {
				return false, err
			}
			show.Counts(now)
			if now.Nodes > f.nodes || phase.replicas > 0 {
				f.nodes, f.pricePerH = max(f.nodes, now.Nodes), max(f.pricePerH, now.PricePerHour)
			}
			return phase.done(now), nil
		})
		if err != nil {
			return f, err
		}
		*phase.took = took()
		show.Line(phase.what)
	}
	return f, nil
}
