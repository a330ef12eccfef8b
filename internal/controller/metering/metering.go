// Package metering shows the state of the cluster's objects as metrics: nodes with what is on them, pods with how long they have
// been waiting, limits and use of NodePools, and the conditions of our own objects, whose changes it also tells as events.
//
// It keeps no copies: informers hand over the objects that their caches hold, and what is derived from them is worked out
// when somebody scrapes. Nothing here is needed for anything else; what a restart forgets is not told.
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

// Deps is what the meters are built from.
type Deps struct {
	deps.Shared
	// Waits is how long pods have been waiting for a place, as the provisioner knows it.
	Waits *podlatency.Tracker
	// Buffers says whether CapacityBuffers exist.
	Buffers bool
}

// Meters watches and shows everything. It runs on the leader only, like everything whose numbers are to be summed.
type Meters struct {
	subscriptions []subscription
	cache         cache.Cache
}

// New builds the meters. They show nothing before they are started.
func New(d Deps) *Meters {
	m := &Meters{}
	occupied := newOccupancy(d)
	m.watch(&corev1.Node{}, handle(occupied.putNode, occupied.dropNode))
	m.watch(&corev1.Pod{}, handle(occupied.putPod, occupied.dropPod))
	pools := newPools(d)
	m.watch(&v1.NodePool{}, handle(pools.put, pools.drop))
	m.watch(&v1.NodeClaim{}, newStatuses(d, ofNodeClaims(d)).handler())
	m.watch(&v1.NodePool{}, newStatuses(d, ofNodePools(d)).handler())
	m.watch(&corev1.Node{}, newStatuses(d, ofNodes(d)).handler())
	for _, class := range d.Cloud.NodeClasses {
		m.watch(class.New(), newStatuses(d, ofNodeClasses(d, class)).handler())
	}
	if d.Buffers {
		m.watch(&v1beta1.CapacityBuffer{}, newStatuses(d, ofBuffers(d)).handler())
	}
	return m
}

// subscription is a kind of object and who hears of it.
type subscription struct {
	object  client.Object
	handler toolscache.ResourceEventHandler
}

func (m *Meters) watch(object client.Object, handler toolscache.ResourceEventHandler) {
	m.subscriptions = append(m.subscriptions, subscription{object, handler})
}

// Register adds the meters to the manager.
func (m *Meters) Register(to manager.Manager) error {
	m.cache = to.GetCache()
	return to.Add(m)
}

// NeedLeaderElection is true.
func (m *Meters) NeedLeaderElection() bool { return true }

// Start subscribes and listens until ctx ends.
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

// handle calls put with every object as it is now, and drop with the last that was seen of one that is gone.
func handle[T client.Object](put, drop func(T)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { with(o, put) },
		UpdateFunc: func(_, o any) { with(o, put) },
		DeleteFunc: func(o any) { with(o, drop) },
	}
}

// with calls f if the object is of the kind. A deletion that the watch has missed comes wrapped.
func with[T client.Object](o any, f func(T)) {
	if late, missed := o.(toolscache.DeletedFinalStateUnknown); missed {
		o = late.Obj
	}
	if object, ok := o.(T); ok {
		f(object)
	}
}
