package cluster

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/observe"
)

// gaugePeriod is how often the gauges are refreshed.
const gaugePeriod = 5 * time.Second

// Gauges keeps the metrics that describe the picture itself: how many nodes it holds, and whether it is complete.
type Gauges struct {
	store   *Store
	feed    *Feed
	metrics *observe.Metrics
}

// NewGauges describes store, which feed fills.
func NewGauges(store *Store, feed *Feed, metrics *observe.Metrics) *Gauges {
	return &Gauges{store: store, feed: feed, metrics: metrics}
}

// Register adds the refresh to m.
func (g *Gauges) Register(m manager.Manager) error { return m.Add(g) }

// NeedLeaderElection is false: every replica has a picture.
func (g *Gauges) NeedLeaderElection() bool { return false }

// Start refreshes until ctx ends.
func (g *Gauges) Start(ctx context.Context) error {
	tick := time.NewTicker(gaugePeriod)
	defer tick.Stop()
	for started := time.Now(); ; {
		g.refresh(time.Since(started))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// refresh sets the gauges; up is how long the process has been waiting if the picture is not complete yet.
func (g *Gauges) refresh(up time.Duration) {
	synced, unsynced := 0.0, up.Seconds()
	if g.feed.Ready() {
		synced, unsynced = 1, 0
	}
	g.metrics.Cluster.Synced.Set(synced)
	g.metrics.Cluster.UnsyncedTime.Set(unsynced)
	g.metrics.Cluster.NodeCount.Set(float64(g.store.Snapshot().Nodes.Len()))
}
