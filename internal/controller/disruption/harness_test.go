package disruption

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/api/condition"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/readyourwrites"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/translate"
	"github.com/karpenter-anew/karpenter/test/apiserver"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

// harness is an API server in memory whose watches feed a store, with a controller that runs in bubble time.
type harness struct {
	testing.TB
	client   client.Client
	store    *cluster.Store
	feed     *cluster.Watcher
	provider *provider
	registry *prometheus.Registry
	deps     Deps

	informers *informertest.FakeInformers
	// running is the controller that run started; nil while none runs.
	running *Controller
	// fault, when set, runs before every call; its error replaces the call.
	fault atomic.Pointer[fault]

	// creating, when set, runs before a NodeClaim is created; ordered after one was created or deleted.
	creating func(claim *v1.NodeClaim)
	ordered  func()

	// hide, when set, runs before an object is read by its name; its error replaces the object.
	hide func(name string, obj runtime.Object) error

	logs logcapture.Buffer

	// ends stop what runs until the test ends.
	ends []func()

	mu     sync.Mutex
	seen   map[string]client.Object
	events []string
}

// fault decides whether a call fails. It may be called from several goroutines.
type fault func(op string, obj runtime.Object) error

// fail makes calls fail from now on.
func (w *harness) fail(f fault) { w.fault.Store(&f) }

// heal ends fail.
func (w *harness) heal() { w.fault.Store(nil) }

// inBubble runs a test in a bubble in which time passes only when all goroutines wait. The bubble starts at midnight, UTC.
func inBubble(t *testing.T, name string, tell func(w *harness)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t)
			w.begin(w.feed.Start)
			tell(w)
			w.end()
		})
	})
}

func newHarness(t testing.TB) *harness {
	p := &provider{}
	class := cloud.NodeClass{
		GVK: kwok.SchemeGroupVersion.WithKind("KWOKNodeClass"),
		New: func() cloud.NodeClassObject { return &kwok.KWOKNodeClass{} },
	}
	c := cloud.Cloud{Name: "test", Provider: p, NodeClasses: []cloud.NodeClass{class}, Labels: v1.CoreLabelRules()}
	w := newHarnessIn(t, c, translate.New(c.Labels))
	w.provider = p
	return w
}

// newHarnessIn is a harness in a cloud.
func newHarnessIn(t testing.TB, c cloud.Cloud, translator *translate.Translator) *harness {
	w := &harness{
		TB: t, registry: prometheus.NewRegistry(), seen: map[string]client.Object{},
		informers: &informertest.FakeInformers{Scheme: apiserver.Scheme()},
	}
	b := apiserver.New().WithInterceptorFuncs(w.intercept()).
		WithStatusSubresource(&v1.NodeClaim{}, &v1.NodePool{}, &corev1.Node{}, &opsv1alpha1.DisruptionPlan{})
	for _, index := range nodelookup.Indexes() {
		b = b.WithIndex(index.Object, index.Field, index.Values)
	}
	w.client = b.Build()
	w.store = cluster.NewStore(c, translator)
	w.store.PodGroups.Track()
	w.feed = w.newFeed()
	w.deps = Deps{
		Shared: deps.Shared{
			Client: readyourwrites.New(w.client, clock.RealClock{}), Live: w.client, Clock: clock.RealClock{}, Cloud: c,
			Recorder: observe.NewRecorder(sink{w}, clock.RealClock{}), Metrics: observe.NewMetrics(w.registry, nil),
		},
		Store: w.store, Feed: w.feed, Translator: translator,
		Log: slog.New(slog.NewTextHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	return w
}

// newFeed is a feed of the store that is not running yet.
func (w *harness) newFeed() *cluster.Watcher {
	f := cluster.NewWatcher(w.store, clock.RealClock{})
	if err := f.Register(fakeManager{w: w}); err != nil {
		w.Fatal(err)
	}
	return f
}

// restart forgets all memory of the process: the store is rebuilt from the API.
func (w *harness) restart() (stop func()) {
	w.Helper()
	w.store = cluster.NewStore(w.deps.Cloud, w.deps.Translator)
	w.store.PodGroups.Track()
	w.feed = w.newFeed()
	w.deps.Store, w.deps.Feed = w.store, w.feed
	stop = w.launch(w.feed.Start)
	for _, key := range slices.Sorted(maps.Keys(w.seen)) {
		informer, err := w.informers.GetInformer(w.Context(), w.seen[key])
		if err != nil {
			w.Fatal(err)
		}
		informer.(*controllertest.FakeInformer).Add(w.seen[key])
	}
	return stop
}

// begin runs f until the test ends.
func (w *harness) begin(f func(context.Context) error) { w.ends = append(w.ends, w.launch(f)) }

// end ends the test early: what has begun stops, the last first.
func (w *harness) end() {
	for _, stop := range slices.Backward(w.ends) {
		stop()
	}
	w.ends = nil
}

// launch runs f until stop is called. It returns once f is blocked.
func (w *harness) launch(f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error)
	go func() { done <- f(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	}
}

// run starts a fresh controller, as after a restart of the process.
func (w *harness) run() (stop func()) {
	c := New(w.deps)
	if err := c.Register(fakeManager{w: w}); err != nil {
		w.Fatal(err)
	}
	end := w.launch(c.Start)
	w.running = c
	return func() {
		w.running = nil
		end()
	}
}

// pass lets time pass, and checks that every node that is not disrupted then has an obstacle.
func (w *harness) pass(d time.Duration) {
	w.Helper()
	before, passes := w.store.Snapshot().Nodes, w.passes()
	time.Sleep(d) // of the bubble's clock: no real time passes
	synctest.Wait()
	if w.running != nil && w.fault.Load() == nil && w.passes() > passes {
		w.wantReasons(before)
	}
}

// passes is how many passes there have been.
func (w *harness) passes() float64 {
	w.Helper()
	if w.running == nil {
		return 0
	}
	return w.metric(evaluations, "reason=empty")
}

type fakeManager struct {
	manager.Manager
	w *harness
}

func (m fakeManager) GetCache() cache.Cache       { return m.w.informers }
func (m fakeManager) GetAPIReader() client.Reader { return m.w.client }
func (m fakeManager) Add(manager.Runnable) error  { return nil }

// intercept makes calls fail on demand, and shows every change to the watches before the call returns.
func (w *harness) intercept() interceptor.Funcs {
	check := func(op string, obj runtime.Object) error {
		if f := w.fault.Load(); f != nil {
			return (*f)(op, obj)
		}
		return nil
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if w.hide != nil {
				if err := w.hide(key.Name, obj); err != nil {
					return err
				}
			}
			if w.got(key, obj) {
				return nil
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := check("list", list); err != nil {
				return err
			}
			if w.listed(list, opts) {
				return nil
			}
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := check("create", obj); err != nil {
				return err
			}
			if claim, ok := obj.(*v1.NodeClaim); ok && w.creating != nil {
				w.creating(claim)
			}
			return w.announce(obj, w.shown(ctx, c, obj, func() error { return c.Create(ctx, obj, opts...) }))
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return w.shown(ctx, c, obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := check("delete", obj); err != nil {
				return err
			}
			return w.announce(obj, w.shown(ctx, c, obj, func() error { return c.Delete(ctx, obj, opts...) }))
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := check("patch", obj); err != nil {
				return err
			}
			return w.shown(ctx, c, obj, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := check("patch-"+sub, obj); err != nil {
				return err
			}
			return w.shown(ctx, c, obj, func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
	}
}

// announce calls ordered after a NodeClaim was created or deleted.
func (w *harness) announce(obj client.Object, err error) error {
	if _, ok := obj.(*v1.NodeClaim); ok && err == nil && w.ordered != nil {
		w.ordered()
	}
	return err
}

// shown makes a change and tells the watches about it.
func (w *harness) shown(ctx context.Context, c client.Client, obj client.Object, change func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := change(); err != nil {
		return err
	}
	informer, err := w.informers.GetInformer(ctx, obj)
	if err != nil {
		return err
	}
	watch := informer.(*controllertest.FakeInformer)
	key := seenKey(obj, client.ObjectKeyFromObject(obj))
	before, known := w.seen[key]
	now := obj.DeepCopyObject().(client.Object)
	switch err := c.Get(ctx, client.ObjectKeyFromObject(obj), now); {
	case err != nil:
		watch.Delete(before)
		delete(w.seen, key)
		return nil
	case known:
		watch.Update(before, now)
	default:
		watch.Add(now)
	}
	w.seen[key] = now
	return nil
}

// seenKey is where seen holds an object of this kind.
func seenKey(kind client.Object, key client.ObjectKey) string { return fmt.Sprintf("%T/%s", kind, key) }

// sink records events as "Reason kind/name: message".
type sink struct{ w *harness }

func (s sink) Event(object runtime.Object, _, reason, message string) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	kind := strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1."), "*"))
	s.w.events = append(s.w.events, fmt.Sprintf("%s %s/%s: %s", reason, kind, object.(client.Object).GetName(), message))
}

func (s sink) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	s.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (s sink) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	s.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// provider lists instance types and does nothing else.
type provider struct {
	cloud.Provider
	types []*cloud.InstanceType
	err   error
	// asked, when set, is called before every response.
	asked func()
}

func (p *provider) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	if p.asked != nil {
		p.asked()
	}
	return p.types, p.err
}

// instanceType is on offer in zone-1 on demand.
func instanceType(name string, price float64) *cloud.InstanceType {
	return &cloud.InstanceType{Name: name, Offerings: []cloud.Offering{{
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(corev1.LabelTopologyZone, "zone-1"), cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand),
		},
		Price: price, Available: false,
	}}}
}

func (w *harness) create(objects ...client.Object) {
	w.Helper()
	for _, o := range objects {
		if err := w.client.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *harness) remove(o client.Object) {
	w.Helper()
	if err := w.client.Delete(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

const classLabel = "karpenter.kwok.sh/kwoknodeclass"

func (w *harness) pool(name string, budgets []v1.Budget, changes ...func(*v1.NodePool)) {
	w.Helper()
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid"), Generation: 1}}
	p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: kwok.Group, Kind: "KWOKNodeClass", Name: "default"}
	p.Spec.Disruption = v1.Disruption{
		ConsolidateAfter: v1.NewNillableDuration(0), ConsolidationPolicy: v1.ConsolidationPolicyWhenEmpty, Budgets: budgets,
	}
	for _, change := range changes {
		change(p)
	}
	w.create(p)
}

// budget is one budget for all reasons.
func budget(nodes string) []v1.Budget { return []v1.Budget{{Nodes: nodes}} }

// nodeAndClaim is a Node with its NodeClaim.
type nodeAndClaim struct {
	node  *corev1.Node
	claim *v1.NodeClaim
}

// addNode adds an empty, initialized, consolidatable node.
func (w *harness) addNode(pool, name string, changes ...func(*nodeAndClaim)) {
	w.Helper()
	labels := map[string]string{
		v1.NodePoolLabelKey: pool, classLabel: "default", v1.CapacityTypeLabelKey: v1.CapacityTypeOnDemand,
		corev1.LabelTopologyZone: "zone-1", corev1.LabelInstanceTypeStable: "small",
		v1.NodeRegisteredLabelKey: "true", v1.NodeInitializedLabelKey: "true",
	}
	m := &nodeAndClaim{
		node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-node-uid"), Labels: labels, Annotations: map[string]string{}},
			Spec:       corev1.NodeSpec{ProviderID: "test://" + name},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		},
		claim: &v1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, UID: types.UID(name + "-uid"), Finalizers: []string{v1.TerminationFinalizer},
				Labels: map[string]string{v1.NodePoolLabelKey: pool, v1.CapacityTypeLabelKey: v1.CapacityTypeOnDemand},
			},
			Spec:   v1.NodeClaimSpec{NodeClassRef: &v1.NodeClassReference{Group: kwok.Group, Kind: "KWOKNodeClass", Name: "default"}},
			Status: v1.NodeClaimStatus{ProviderID: "test://" + name, NodeName: name},
		},
	}
	set := condition.For(m.claim, time.Now())
	for _, t := range []string{v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized, v1.ConditionTypeConsolidatable} {
		set.True(t)
	}
	for _, change := range changes {
		change(m)
	}
	if m.claim != nil {
		w.create(m.claim)
	}
	if m.node != nil {
		w.create(m.node)
	}
}

// pod is an ordinary running pod on a node.
func (w *harness) pod(node, name string, changes ...func(*corev1.Pod)) {
	w.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, change := range changes {
		change(p)
	}
	w.create(p)
}

func ofDaemonSet(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", Controller: new(true)}}
}

func protected(p *corev1.Pod) {
	p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
}

func (w *harness) claim(name string) *v1.NodeClaim {
	w.Helper()
	c := &v1.NodeClaim{}
	if err := w.client.Get(w.Context(), client.ObjectKey{Name: name}, c); err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *harness) node(name string) *corev1.Node {
	w.Helper()
	n := &corev1.Node{}
	if err := w.client.Get(w.Context(), client.ObjectKey{Name: name}, n); err != nil {
		w.Fatal(err)
	}
	return n
}
