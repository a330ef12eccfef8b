package cluster

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// gaugePeriod is how often the gauges are refreshed.
	gaugePeriod = 5 * time.Second
	// errorAfter is how long the cluster state may be incomplete before an error is logged, errorEvery the time between errors.
	errorAfter, errorEvery = 30 * time.Second, 10 * time.Second
)

// Gauges updates the metrics of the cluster state: the number of nodes, and whether it is synced.
type Gauges struct {
	store   *Store
	feed    *Watcher
	metrics *observe.Metrics
	log     *slog.Logger
	clock   clock.Clock
}

// NewGauges returns the gauges of store, which feed updates.
func NewGauges(store *Store, feed *Watcher, metrics *observe.Metrics, log *slog.Logger, clock clock.Clock) *Gauges {
	return &Gauges{store: store, feed: feed, metrics: metrics, log: log, clock: clock}
}

// Register adds the refresh to m.
func (g *Gauges) Register(m manager.Manager) error { return m.Add(g) }

// NeedLeaderElection returns false: every replica has the cluster state.
func (g *Gauges) NeedLeaderElection() bool { return false }

// Start refreshes the gauges until ctx ends, and logs an error while the cluster state is incomplete, because no
// plans are made meanwhile.
func (g *Gauges) Start(ctx context.Context) error {
	timer := g.clock.NewTimer(gaugePeriod)
	defer timer.Stop()
	started := g.clock.Now()
	complain := started.Add(errorAfter)
	for {
		now := g.clock.Now()
		if synced := g.refresh(now.Sub(started)); !synced && !now.Before(complain) {
			complain = now.Add(errorEvery)
			g.log.Error("cluster state is not synced, scheduling and disruption are paused",
				logfield.Missing(g.feed.Missing()), logfield.Duration(now.Sub(started)))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C():
			timer.Reset(gaugePeriod)
		}
	}
}

// refresh sets the gauges and reports whether the cluster state is complete; up is how long the process has waited.
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
