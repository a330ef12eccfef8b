// Package metering exposes objects of the cluster as metrics: nodes with their pods, the time that pods have been waiting, limits and
// usage of NodePools, and the conditions of Karpenter's own objects, whose changes it also publishes as events.
//
// It keeps no copies: it refers to the objects of the informers' caches, and a scrape computes the values. No other package depends on
// it; a restart loses samples that are not recorded yet.
//
// Source: disruption specification, metrics; API specification, Prometheus metrics and status-engine events.
package metering

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/podlatency"
)

// Deps is what Meters is built from.
type Deps struct {
	deps.Shared
	// PodLatency has the times at which the provisioner decided about pods.
	PodLatency *podlatency.Tracker
	// Buffers is set if the kind CapacityBuffer exists.
	Buffers bool
}

// Meters watches the objects and exposes the metrics. It runs on the leader only, so that sums over replicas are right.
type Meters struct {
	subscriptions []subscription
	cache         cache.Cache
}

// New builds Meters. It exposes nothing before it is started.
func New(d Deps) *Meters {
	m := &Meters{}
	nodes := newNodes(d)
	m.watch(&corev1.Node{}, handle(nodes.putNode, nodes.dropNode))
	m.watch(&corev1.Pod{}, handle(nodes.putPod, nodes.dropPod))
	pools := newPools(d)
	m.watch(&v1.NodePool{}, handle(pools.put, pools.drop))
	m.watch(&v1.NodeClaim{}, thenOnDelete(newStatuses(d, ofNodeClaims(d)).handler(), pools.dropMember))
	m.watch(&v1.NodePool{}, newStatuses(d, ofNodePools(d)).handler())
	m.watch(&corev1.Node{}, thenOnDelete(newStatuses(d, ofNodes(d)).handler(), pools.dropMember))
	for _, class := range d.Cloud.NodeClasses {
		m.watch(class.New(), newStatuses(d, ofNodeClasses(d, class)).handler())
	}
	if d.Buffers {
		m.watch(&v1beta1.CapacityBuffer{}, newStatuses(d, ofBuffers(d)).handler())
	}
	return m
}

// subscription is a kind of object and the handler of its events.
type subscription struct {
	object  client.Object
	handler toolscache.ResourceEventHandler
}

func (m *Meters) watch(object client.Object, handler toolscache.ResourceEventHandler) {
	m.subscriptions = append(m.subscriptions, subscription{object, handler})
}

// Register adds Meters to the manager.
func (m *Meters) Register(to manager.Manager) error {
	m.cache = to.GetCache()
	return to.Add(m)
}

// NeedLeaderElection is true.
func (m *Meters) NeedLeaderElection() bool { return true }

// Start handles events until ctx ends.
func (m *Meters) Start(ctx context.Context) error {
	for _, s := range m.subscriptions {
		informer, err := m.cache.GetInformer(ctx, s.object)
		if err != nil {
			return fmt.Errorf("watching %T for metrics: %w", s.object, err)
		}
		registration, err := informer.AddEventHandler(s.handler)
		if err != nil {
			return fmt.Errorf("listening to %T for metrics: %w", s.object, err)
		}
		defer func() { _ = informer.RemoveEventHandler(registration) }()
	}
	<-ctx.Done()
	return nil
}

// handle calls put with the current version of an object, and drop with the last version of a deleted one.
func handle[T client.Object](put, drop func(T)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { with(o, put) },
		UpdateFunc: func(_, o any) { with(o, put) },
		DeleteFunc: func(o any) { with(o, drop) },
	}
}

// thenOnDelete calls drop after the handler has handled a deletion. Two handlers of a kind would be called in any order.
func thenOnDelete(first toolscache.ResourceEventHandler, drop func(client.Object)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    first.OnAdd,
		UpdateFunc: first.OnUpdate,
		DeleteFunc: func(o any) {
			first.OnDelete(o)
			with(o, drop)
		},
	}
}

// with calls f if the object is of the kind. A deletion that the watch has missed comes as a tombstone.
func with[T client.Object](o any, f func(T)) {
	if tombstone, missed := o.(toolscache.DeletedFinalStateUnknown); missed {
		o = tombstone.Obj
	}
	if object, ok := o.(T); ok {
		f(object)
	}
}
