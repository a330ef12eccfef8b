package cluster

import (
	"context"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/observe"
)

const (
	// gaugePeriod is how often the gauges are refreshed.
	gaugePeriod = 5 * time.Second
	// complainAfter is how long the picture may be incomplete before that is logged, and complainEvery how often it is
	// from then on.
	errorAfter, errorEvery = 30 * time.Second, 10 * time.Second
)

// Gauges keeps the metrics that describe the picture itself: how many nodes it holds, and whether it is complete.
type Gauges struct {
	store   *Store
	feed    *Watcher
	metrics *observe.Metrics
	log     *slog.Logger
}

// NewGauges describes store, which feed fills.
func NewGauges(store *Store, feed *Watcher, metrics *observe.Metrics, log *slog.Logger) *Gauges {
	return &Gauges{store: store, feed: feed, metrics: metrics, log: log}
}

// Register adds the refresh to m.
func (g *Gauges) Register(m manager.Manager) error { return m.Add(g) }

// NeedLeaderElection is false: every replica has a picture.
func (g *Gauges) NeedLeaderElection() bool { return false }

// Start refreshes until ctx ends, and complains as long as the picture stays incomplete: nothing is planned meanwhile.
func (g *Gauges) Start(ctx context.Context) error {
	tick := time.NewTicker(gaugePeriod)
	defer tick.Stop()
	started := time.Now()
	complain := started.Add(errorAfter)
	for {
		now := time.Now()
		if synced := g.refresh(now.Sub(started)); !synced && !now.Before(complain) {
			complain = now.Add(errorEvery)
			g.log.Error("the picture of the cluster is not complete yet, nothing is planned before it is",
				"missing", g.feed.Missing(), "duration", now.Sub(started).String())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// refresh sets the gauges and reports whether the picture is complete; up is how long the process has been waiting if it
// is not.
func (g *Gauges) refresh(up time.Duration) (synced bool) {
	value, unsynced := 0.0, up.Seconds()
	if synced = g.feed.Ready(); synced {
		value, unsynced = 1, 0
	}
	g.metrics.Cluster.Synced.Set(value)
	g.metrics.Cluster.UnsyncedTime.Set(unsynced)
	g.metrics.Cluster.NodeCount.Set(float64(g.store.Snapshot().Nodes.Len()))
	return synced
}
