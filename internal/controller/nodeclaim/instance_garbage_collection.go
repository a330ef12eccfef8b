package nodeclaim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/controller/singleton"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// The first passes after a start run often, because a crash may leave instances behind.
	instanceEarlyPeriod = 10 * time.Second
	instanceEarlyPasses = 20
	instanceWorkers     = 100
)

// InstanceGarbage is the controller instance.garbagecollection: it terminates instances without a NodeClaim, for instance because its
// finalizer was removed by hand or a launch was interrupted.
type InstanceGarbage struct {
	deps.Shared
	launches *runningLaunches
	passes   int
	// firstSeen is the creation time of instances for which the provider has none.
	firstSeen map[string]time.Time
	// launchedBy is the latest launch that an instance without a NodeClaim can be of.
	launchedBy map[string]uint64
}

// NewInstanceGarbage builds the controller. Instances that lifecycle may be launching are kept.
func NewInstanceGarbage(shared deps.Shared, lifecycle *Lifecycle) *InstanceGarbage {
	shared.Cloud = shared.Cloud.WithDefaults()
	return &InstanceGarbage{Shared: shared, launches: &lifecycle.launches, firstSeen: map[string]time.Time{}, launchedBy: map[string]uint64{}}
}

// Register adds the controller to the manager.
func (g *InstanceGarbage) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named("instance.garbagecollection").
		WatchesRawSource(singleton.Source()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1, // passes are counted without a lock
			RateLimiter:             ratelimit.New[reconcile.Request](time.Second, garbagePeriod, 10, 100),
		}).
		Complete(g)
}

// Reconcile runs one pass over all instances. It lists them before the NodeClaims, so that the list of NodeClaims includes those of
// all instances listed.
func (g *InstanceGarbage) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, "instance.garbagecollection")
	ended := g.launches.oldest()
	instances, err := g.Cloud.Provider.List(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("listing instances: %w", err)
	}
	latest := g.launches.latest()
	suspects, err := g.orphansAmong(ctx, g.Client, g.oldEnough(instances))
	if err == nil && len(suspects) > 0 {
		suspects, err = g.orphansAmong(ctx, g.Live, suspects) // the cache alone is not enough to terminate an instance
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	suspects = g.notLaunching(suspects, ended, latest)
	errs := parallel.ForEach(suspects, instanceWorkers, func(instance *v1.NodeClaim) error { return g.collect(ctx, instance) })
	if err := errors.Join(errs...); err != nil {
		return reconcile.Result{}, err
	}
	if g.passes++; g.passes <= instanceEarlyPasses {
		return requeue.After(instanceEarlyPeriod), nil
	}
	return requeue.After(garbagePeriod), nil
}

// oldEnough keeps the running instances that are as old as orphans have to be: the NodeClaim of a younger one may not be written yet.
func (g *InstanceGarbage) oldEnough(instances []*v1.NodeClaim) []*v1.NodeClaim {
	now, minAge := g.Clock.Now(), g.Cloud.OrphanAge
	seen := map[string]time.Time{}
	var out []*v1.NodeClaim
	for _, instance := range instances {
		id, born := instance.Status.ProviderID, instance.CreationTimestamp.Time
		if born.IsZero() {
			born = now
			if first, ok := g.firstSeen[id]; ok {
				born = first
			}
			seen[id] = born
		}
		if instance.DeletionTimestamp == nil && now.Sub(born) >= minAge {
			out = append(out, instance)
		}
	}
	g.firstSeen = seen
	return out
}

// orphansAmong keeps the instances that no managed NodeClaim of the reader owns.
func (g *InstanceGarbage) orphansAmong(ctx context.Context, r client.Reader, instances []*v1.NodeClaim) ([]*v1.NodeClaim, error) {
	var list v1.NodeClaimList
	if err := r.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing nodeclaims: %w", err)
	}
	var claims []*v1.NodeClaim
	for i := range list.Items {
		if managed.Is(g.Cloud, &list.Items[i]) {
			claims = append(claims, &list.Items[i])
		}
	}
	return orphans(instances, claims), nil
}

// orphans returns the instances that no NodeClaim owns. An instance with the UID or the name of a NodeClaim that is being launched belongs
// to it: its provider ID is not recorded yet, however late that is.
func orphans(instances, claims []*v1.NodeClaim) []*v1.NodeClaim {
	owned, launching, launchingUIDs := map[string]bool{}, map[string]bool{}, map[types.UID]bool{}
	for _, claim := range claims {
		if claim.Status.ProviderID == "" {
			launching[claim.Name], launchingUIDs[claim.UID] = true, true
		} else {
			owned[claim.Status.ProviderID] = true
		}
	}
	var out []*v1.NodeClaim
	for _, instance := range instances {
		launched := instance.Name != "" && launching[instance.Name] || instance.UID != "" && launchingUIDs[instance.UID]
		if !owned[instance.Status.ProviderID] && !launched {
			out = append(out, instance)
		}
	}
	return out
}

// notLaunching keeps the instances that no running launch can be about to return. oldest is the oldest launch that had not ended before
// the instances were listed, latest the last that began before the list was complete. An instance is of a launch up to the latest when it
// is first seen here; once all of these have ended, a later list says which NodeClaim it is for, if it is for any. No clock is involved:
// that of the cloud may differ from ours, and a launch may take any time.
func (g *InstanceGarbage) notLaunching(instances []*v1.NodeClaim, oldest, latest uint64) []*v1.NodeClaim {
	launchedBy := map[string]uint64{}
	var out []*v1.NodeClaim
	for _, instance := range instances {
		id := instance.Status.ProviderID
		by, ok := g.launchedBy[id]
		if !ok {
			by = latest
		}
		launchedBy[id] = by
		if by < oldest {
			out = append(out, instance)
		}
	}
	g.launchedBy = launchedBy
	return out
}

// collect terminates one instance and deletes its Node, if it has one.
func (g *InstanceGarbage) collect(ctx context.Context, instance *v1.NodeClaim) error {
	err := g.Cloud.Provider.Delete(ctx, instance)
	if cloud.IgnoreNodeClaimNotFound(err) != nil {
		return fmt.Errorf("terminating instance %q without nodeclaim: %w", instance.Status.ProviderID, err)
	}
	if err == nil {
		observe.Log(ctx).Info("garbage collecting instance without nodeclaim", logfield.ProviderID(instance.Status.ProviderID))
	}
	nodes, err := nodelookup.NodesOf(ctx, g.Client, instance)
	if err != nil {
		return err
	}
	for i := range nodes {
		if err := g.Client.Delete(ctx, &nodes[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting node %q of an instance without nodeclaim: %w", nodes[i].Name, err)
		}
	}
	return nil
}
