// Package deletioncost writes controller.kubernetes.io/pod-deletion-cost on the pods of ReplicaSets, so that a ReplicaSet that shrinks deletes
// the pods of nodes that disruption would remove next. The package reads (gather), ranks (rank.go, pure) and writes (Queue).
//
// Source: specification of v1.15, pod deletion cost management.
package deletioncost

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// name and queueName are the names of the controllers in logs and metrics.
	name, queueName = "pod.deletioncost", "pod.deletioncost.queue"
	// period is the time between two passes, syncRetry that until the caches are checked again.
	period, syncRetry = time.Minute, time.Second
	// nodesPerPass limits how many nodes get new deletion costs in one pass, so that a new ranking does not write all pods of the cluster at once.
	// Nodes that are being removed are not limited: their pods should be the first that ReplicaSets delete.
	nodesPerPass = 50
)

// Deps are the dependencies of a Controller.
type Deps struct {
	deps.Shared
	Store *cluster.Store
	// Ready reports whether the Store is complete.
	Ready func() bool
	Log   *slog.Logger
	Queue *Queue
}

// Controller is the controller pod.deletioncost. It runs on the leader only.
type Controller struct {
	Deps
	pending *observe.GaugeStore
	// ranked is set once a pass has finished, for the consolidation state.
	ranked bool
	state  uint64
}

// New builds the controller.
func New(d Deps) *Controller {
	d.Log = d.Log.With(logfield.Controller(name))
	return &Controller{Deps: d, pending: observe.NewGaugeStore()}
}

// Register adds the controller to the manager.
func (c *Controller) Register(m manager.Manager) error { return m.Add(c) }

// NeedLeaderElection is true: two replicas would write different ranks.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start ranks until ctx ends.
func (c *Controller) Start(ctx context.Context) error {
	ctx = observe.WithController(ctx, name)
	for {
		wait := period
		if !c.Ready() {
			wait = syncRetry
		} else if err := c.pass(ctx); err != nil && ctx.Err() == nil {
			c.Log.ErrorContext(ctx, "ranking pods for deletion failed, retrying in "+period.String(), logfield.Error(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(wait):
		}
	}
}

// pass ranks all nodes and queues the pods whose deletion cost is another, unless nothing happened since the last pass that finished. The state
// is read before the cluster: what changes during the pass is ranked by the next one.
func (c *Controller) pass(ctx context.Context) error {
	state := c.Store.ConsolidationState(c.Clock.Now())
	if c.ranked && state == c.state {
		return nil
	}
	v, err := c.gather(ctx)
	if err != nil {
		return err
	}
	if len(v.nodes) == 0 {
		c.pending.ReplaceAll(nil)
		return nil
	}
	c.write(rankNodes(v.nodes, v.drift, v.underutilized), v.pods)
	c.ranked, c.state = true, state
	return nil
}

// write queues the pods of nodes with pods whose deletion cost is another, within the limit.
func (c *Controller) write(ranks []rank, podsOn map[string][]managedPod) {
	left, pods, pending := nodesPerPass, 0, map[string]int{}
	for _, r := range ranks {
		all := podsOn[r.node.ID]
		if !slices.ContainsFunc(all, func(p managedPod) bool { return !p.is(r.cost) }) {
			c.Queue.withdraw(all)
			continue
		}
		pending[r.node.Pool]++
		if r.group != leaving {
			if left == 0 {
				continue
			}
			left--
		}
		c.Queue.set(r.cost, all)
		pods += len(all)
	}
	samples := make(map[string][]observe.Sample, len(pending))
	for pool, n := range pending {
		samples[pool] = []observe.Sample{{Gauge: c.Metrics.Pods.DeletionCostPendingNodes, Labels: []string{pool}, Value: float64(n)}}
	}
	c.pending.ReplaceAll(samples)
	if pods > 0 {
		c.Log.Debug("writing the deletion costs of pods", logfield.PodCount(pods))
	}
}
