package main

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
func wholeLoop(p *play) (fmt.Stringer, error) {
	s, show := p.settings, p.show
	f := figures{catalog: s.catalog, pods: s.pods, cluster: p.cluster, controller: p.controller}
	if err := p.pool(); err != nil {
		return f, err
	}
	for _, phase := range []struct {
		replicas int
		what     string
		took     *time.Duration
		done     func(counts) bool
	}{
		{s.pods, fmt.Sprintf("%d pods running", s.pods), &f.running, func(c counts) bool { return c.running == s.pods && c.pending == 0 }},
		{0, "pods gone", &f.podsGone, func(c counts) bool { return c.running+c.pending == 0 }},
		{0, "nodes gone", &f.nodesGone, func(c counts) bool { return c.nodes+c.claims == 0 }},
	} {
		start := time.Now()
		if err := p.scale(phase.replicas); err != nil {
			return f, err
		}
		err := poll(p.stack.ctx, phaseLimit(s.pods), phase.what, func() (bool, error) {
			now, err := p.stack.count()
			if err != nil {
				return false, err
			}
			show.counts(now)
			if now.nodes > f.nodes || phase.replicas > 0 {
				f.nodes, f.pricePerH = max(f.nodes, now.nodes), max(f.pricePerH, now.pricePerH)
			}
			return phase.done(now), nil
		})
		if err != nil {
			return f, err
		}
		*phase.took = time.Since(start)
		show.line(phase.what)
	}
	return f, nil
}
