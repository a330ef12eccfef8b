package provisioning

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/translate"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

// harness is a provisioner with an API server and a cloud in memory. The cloud offers one instance type with four cores.
type harness struct {
	*fakecluster.Cluster
	store *cluster.Store
	feed  *cluster.Watcher
	p     *Provisioner
	log   *logcapture.Buffer
}

func newHarness(t testing.TB, objects ...client.Object) *harness {
	t.Helper()
	w := &harness{Cluster: fakecluster.New(t, objects...), log: &logcapture.Buffer{}}
	w.Provider.Types = []*cloud.InstanceType{instanceType("small", "zone-1", "zone-2")}
	translator := translate.New(w.Cloud.Labels)
	w.store = cluster.NewStore(w.Cloud, translator)
	w.feed = cluster.NewWatcher(w.store, w.Time)
	w.p = New(Deps{
		Shared: w.Shared, Store: w.store, Feed: w.feed, Translator: translator,
		Log:        slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Scheduling: options.Scheduling{BatchIdleDuration: time.Second, BatchMaxDuration: 10 * time.Second, PreferencePolicy: options.PreferenceRespect},
	})
	return w
}

// instanceType is an instance type with four cores, on demand in the zones.
func instanceType(name string, zones ...string) *cloud.InstanceType {
	onDemand := cloud.In(v1.CapacityTypeLabelKey, "on-demand")
	it := &cloud.InstanceType{
		Name: name,
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(corev1.LabelInstanceTypeStable, name), cloud.In(corev1.LabelTopologyZone, zones...), onDemand,
		},
		Capacity: fakecluster.Resources("cpu", "4", "memory", "16Gi", "pods", "110"),
	}
	for _, zone := range zones {
		it.Offerings = append(it.Offerings, cloud.Offering{
			Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelTopologyZone, zone), onDemand},
			Price:        0.2, Available: true,
		})
	}
	return it
}

// readyPool is a pool that may launch.
func readyPool(name string, change ...func(*v1.NodePool)) *v1.NodePool {
	out := fakecluster.Pool()
	out.Name, out.UID = name, types.UID(name+"-uid")
	for _, f := range change {
		f(out)
	}
	set := condition.For(out, time.Now())
	set.True(v1.ConditionTypeValidationSucceeded)
	set.True(v1.ConditionTypeNodeClassReady)
	return out
}

func pendingPod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: fakecluster.Resources("cpu", "1")},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
	for _, f := range change {
		f(out)
	}
	return out
}

func selecting(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

// see shows pods to the store and to the provisioner, as the watch would.
func (w *harness) see(pods ...*corev1.Pod) {
	for _, pod := range pods {
		w.store.UpdatePod(pod)
		w.p.onPod(pod)
	}
}

// decide makes one pass.
func (w *harness) decide() {
	w.Helper()
	if err := w.p.pass(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// claims are the NodeClaims in the API server.
func (w *harness) claims() []v1.NodeClaim {
	w.Helper()
	var list v1.NodeClaimList
	if err := w.Client.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// eventsOf are the events of a reason.
func (w *harness) eventsOf(reason string) []string {
	var out []string
	for _, e := range w.Events() {
		if strings.Contains(e, " "+reason+" ") {
			out = append(out, e)
		}
	}
	return out
}

// passes is the number of passes that ran the solver: each is timed twice.
func (w *harness) passes() int {
	return int(w.Count("karpenter_scheduler_scheduling_duration_seconds")) / 2
}

// watches are the informers of a running provisioner.
type watches struct {
	cache *informertest.FakeInformers
	w     *harness
}

type fakeManager struct {
	manager.Manager
	watches
}

func (m fakeManager) GetCache() cache.Cache       { return m.cache }
func (m fakeManager) GetAPIReader() client.Reader { return m.w.Client }
func (m fakeManager) Add(manager.Runnable) error  { return nil }

// of is the informer for objects of this type.
func (ws watches) of(obj client.Object) *controllertest.FakeInformer {
	ws.w.Helper()
	informer, err := ws.cache.FakeInformerFor(ws.w.Context(), obj)
	if err != nil {
		ws.w.Fatal(err)
	}
	return informer
}

// late makes the informer for objects of this type deliver only on request.
func (ws watches) late(obj client.Object) *controllertest.FakeInformer {
	ws.w.Helper()
	gvks, _, err := ws.cache.Scheme.ObjectKinds(obj)
	if err != nil {
		ws.w.Fatal(err)
	}
	informer := controllertest.NewFakeInformer()
	ws.cache.InformersByGVK[gvks[0]] = informer
	return informer
}

// running runs script in a synctest bubble in which feed and provisioner run. prepare runs before they start.
func running(t *testing.T, prepare func(watches), script func(*harness, watches), objects ...client.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, objects...)
		w.p.Clock = clock.RealClock{}
		w.p.batcher = NewBatcher(w.p.Clock, w.p.Scheduling.BatchIdleDuration, w.p.Scheduling.BatchMaxDuration)
		ws := watches{w: w, cache: &informertest.FakeInformers{
			Scheme: w.Client.Scheme(), InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{},
		}}
		if prepare != nil {
			prepare(ws)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, part := range []interface {
			Register(manager.Manager) error
			Start(context.Context) error
		}{w.feed, w.p} {
			if err := part.Register(fakeManager{watches: ws}); err != nil {
				t.Fatal(err)
			}
			running.Go(func() {
				if err := part.Start(ctx); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		script(w, ws)
		cancel()
		running.Wait()
	})
}

// advance moves the clock of the bubble and waits until every goroutine is blocked.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
