package operator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

const (
	// leastInterval is the least time between two states, objectsPerSecond how many objects the views may go through in a second, on average:
	// 100 000 pods make it about two seconds.
	leastInterval    = time.Second
	objectsPerSecond = 50_000
	// restFactor is how many of these intervals the engine rests: it takes about ten times as long as the views that do without it.
	restFactor = 10
	// stateAge is how long a state is the same while no object changes: the answers of the engine depend on the time, too.
	stateAge = time.Minute
)

// errNotReady means that the caches of the process are not filled yet.
var errNotReady = errors.New("the caches of this process are not filled yet: retry in some seconds")

// informers are those of the process.
type informers interface {
	GetInformer(ctx context.Context, object client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// stored is what an informer of client-go has.
type stored interface{ GetStore() toolscache.Store }

// liveState is the cluster as the informers of the process have it. It implements view.Cluster. Nothing is read from the API server, and nothing is
// done while no client asks. It is safe for concurrent use.
type liveState struct {
	informers informers
	// kinds are watched by the controllers anyway. named are those of them that views look up by name and that edits change, which are few objects
	// each: caches leave the kind out of them.
	kinds   []client.Object
	named   map[reflect.Type]schema.GroupVersionKind
	ready   func() bool
	leading func() bool
	clock   clock.PassiveClock

	// changes counts events.
	changes atomic.Uint64

	mu sync.Mutex
	// stores are those of kinds, in their order; nil before the first question.
	stores []toolscache.Store
	// seen is what changes was when the state was made.
	seen  uint64
	state simulation.ClusterState
}

// newLiveState returns the state of a cluster with kinds that the process watches already.
func newLiveState(a assembly, place cloud.Cloud, watched []client.Object, ready func() bool) *liveState {
	gates := a.options.FeatureGates
	kinds := append(slices.Clone(watched), &policyv1.PodDisruptionBudget{})
	for _, class := range place.NodeClasses {
		kinds = append(kinds, class.New())
	}
	if gates.NodeOverlay {
		kinds = append(kinds, &v1alpha1.NodeOverlay{})
	}
	unknown := []string{
		"what only the memory of the controller has: backoff after failed commands, and requests that autoscalers of pods are about to set",
	}
	if gates.CapacityBuffer {
		unknown = append(unknown, "capacity that is kept free for CapacityBuffers")
	}
	if gates.OperationsPolicy {
		kinds = append(kinds, &opsv1alpha1.OperationsPolicy{}, &opsv1alpha1.DisruptionPlan{})
	}
	settings := simulation.ControllerOptions(a.options.Scheduling, gates)
	settings.IgnoreBuffers = true // the objects that they refer to are not cached
	return &liveState{
		informers: a.manager.GetCache(), kinds: kinds, named: namedKinds(place, kinds), ready: ready, leading: a.leading, clock: a.clock,
		state: simulation.ClusterState{Cloud: place, Options: settings, Origin: originOf(a, place), Unknown: unknown},
	}
}

// originOf is a name for the cluster.
func originOf(a assembly, place cloud.Cloud) string {
	if place.ClusterName != "" {
		return place.ClusterName
	}
	return a.manager.GetConfig().Host
}

// State implements view.Cluster.
func (l *liveState) State(ctx context.Context) (simulation.ClusterState, error) {
	if !l.ready() {
		return simulation.ClusterState{}, errNotReady
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stores == nil {
		if err := l.subscribe(ctx); err != nil {
			return simulation.ClusterState{}, err
		}
	}
	now, changes := l.clock.Now(), l.changes.Load()
	age := now.Sub(l.state.Options.Now)
	if l.state.Version > 0 && (age < l.state.Rest/restFactor || changes == l.seen && age < stateAge) {
		return l.shown(), nil
	}
	l.seen = changes // before the objects are read: what changes meanwhile is seen next time
	l.state.Objects = l.objects()
	l.state.Version++
	l.state.Options.Now = now
	interval := max(leastInterval, time.Duration(len(l.state.Objects))*time.Second/objectsPerSecond)
	l.state.Rest = restFactor * interval
	return l.shown(), nil
}

// shown is the state, with what a process that is not the leader does not know.
func (l *liveState) shown() simulation.ClusterState {
	out := l.state
	if !l.leading() {
		out.Unknown = append(out.Unknown[:len(out.Unknown):len(out.Unknown)], "decisions, commands, and offerings that are unavailable after failed launches: this replica of the controller is not the leader, which alone decides")
	}
	return out
}

// subscribe counts events from now on.
func (l *liveState) subscribe(ctx context.Context) error {
	count := func() { l.changes.Add(1) }
	stores := make([]toolscache.Store, 0, len(l.kinds))
	for _, kind := range l.kinds {
		informer, err := l.informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("reading the cache of %T: %w", kind, err)
		}
		has, ok := informer.(stored)
		if !ok {
			return fmt.Errorf("reading the cache of %T: an informer of type %T has no store", kind, informer)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { count() }, UpdateFunc: func(_, _ any) { count() }, DeleteFunc: func(any) { count() },
		})
		if err != nil {
			return fmt.Errorf("watching the cache of %T: %w", kind, err)
		}
		stores = append(stores, has.GetStore())
	}
	l.stores = stores
	return nil
}

// objects are all objects of the caches. They are shared with the controllers; none is changed.
func (l *liveState) objects() []client.Object {
	var out []client.Object
	for _, store := range l.stores {
		for _, item := range store.List() {
			if o, ok := item.(client.Object); ok {
				out = append(out, l.withKind(o))
			}
		}
	}
	return out
}

// withKind is an object of a named kind with its kind, and any other object as it is.
func (l *liveState) withKind(o client.Object) client.Object {
	kind, ok := l.named[reflect.TypeOf(o)]
	if !ok {
		return o
	}
	copied, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return o
	}
	copied.GetObjectKind().SetGroupVersionKind(kind)
	return copied
}

// namedKinds are those of kinds that views look up by name and that edits change.
func namedKinds(place cloud.Cloud, kinds []client.Object) map[reflect.Type]schema.GroupVersionKind {
	out := map[reflect.Type]schema.GroupVersionKind{}
	for _, class := range place.NodeClasses {
		out[reflect.TypeOf(class.New())] = class.GVK
	}
	for _, kind := range kinds {
		switch kind.(type) {
		case *v1.NodePool:
			out[reflect.TypeOf(kind)] = v1.SchemeGroupVersion.WithKind("NodePool")
		case *v1alpha1.NodeOverlay:
			out[reflect.TypeOf(kind)] = v1alpha1.SchemeGroupVersion.WithKind("NodeOverlay")
		case *opsv1alpha1.OperationsPolicy:
			out[reflect.TypeOf(kind)] = opsv1alpha1.SchemeGroupVersion.WithKind("OperationsPolicy")
		case *policyv1.PodDisruptionBudget:
			out[reflect.TypeOf(kind)] = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
		case *appsv1.DaemonSet:
			out[reflect.TypeOf(kind)] = appsv1.SchemeGroupVersion.WithKind("DaemonSet")
		}
	}
	return out
}

// CanEdit implements edits.Kinds.
func (l *liveState) CanEdit(o client.Object) bool {
	_, ok := l.named[reflect.TypeOf(o)]
	return ok
}

// Editable implements edits.Kinds.
func (l *liveState) Editable() string {
	var names []string
	for _, kind := range l.named {
		names = append(names, kind.Kind)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
