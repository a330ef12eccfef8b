package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/apiserver"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

// watches are the informers of a Watcher, which have not delivered any object.
type watches struct {
	t      *testing.T
	cache  *informertest.FakeInformers
	reader client.Reader
	by     map[string]*controllertest.FakeInformer
}

func newWatches(t *testing.T, stored ...client.Object) *watches {
	t.Helper()
	w := &watches{t: t, by: map[string]*controllertest.FakeInformer{}}
	w.cache = &informertest.FakeInformers{Scheme: apiserver.Scheme(), InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{}}
	w.reader = apiserver.New().WithObjects(stored...).Build()
	for _, k := range newStore().kinds() {
		gvks, _, err := apiserver.Scheme().ObjectKinds(k.object)
		if err != nil {
			t.Fatal(err)
		}
		w.by[k.name()] = controllertest.NewFakeInformer()
		w.cache.InformersByGVK[gvks[0]] = w.by[k.name()]
	}
	return w
}

// deliver marks the initial lists of the kinds as delivered; of all kinds when none is named.
func (w *watches) deliver(kinds ...string) {
	for name, informer := range w.by {
		if len(kinds) == 0 || slices.Contains(kinds, name) {
			informer.Synced()
		}
	}
}

// fakeManager implements the methods of a manager that a Watcher calls.
type fakeManager struct {
	manager.Manager
	w *watches
}

func (m fakeManager) GetCache() cache.Cache       { return m.w.cache }
func (m fakeManager) GetAPIReader() client.Reader { return m.w.reader }
func (m fakeManager) Add(manager.Runnable) error  { return nil }

// runFeed runs a Watcher with a new store until the test ends. It must be called in a bubble.
func (w *watches) runFeed() (*Store, *Watcher) {
	w.t.Helper()
	s := newStore()
	f := NewWatcher(s, clock.RealClock{})
	if err := f.Register(fakeManager{w: w}); err != nil {
		w.t.Fatal(err)
	}
	w.background(f.Start)
	return s, f
}

// background runs f until the test ends.
func (w *watches) background(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := f(ctx); err != nil {
			w.t.Error(err)
		}
	})
	synctest.Wait()
	w.t.Cleanup(func() { cancel(); running.Wait() })
}

// pass advances the clock of a synctest bubble, in which nothing takes time, and waits until all goroutines are blocked.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestClusterStateIsCompleteOnceEveryKindHasBeenDelivered(t *testing.T) {
	t.Attr("covers", "L382")
	synctest.Test(t, func(t *testing.T) {
		w := newWatches(t)
		s, f := w.runFeed()
		w.by["Node"].Add(node("n", "test://1"))
		w.deliver("Node", "NodeClaim", "NodePool", "DaemonSet", "Namespace", "StorageClass", "CSINode", "VolumeAttachment", "PersistentVolume", "PersistentVolumeClaim")
		pass(time.Minute)
		if f.Ready() {
			t.Fatal("complete without the pods")
		}
		if diff := cmp.Diff([]string{"Pod"}, f.Missing()); diff != "" {
			t.Error(diff)
		}
		if _, ok := NewUsage(s, f).PoolUsage("default"); ok {
			t.Error("usage is reported from incomplete cluster state")
		}
		w.deliver("Pod")
		pass(time.Second)
		if !f.Ready() || len(f.Missing()) != 0 {
			t.Fatalf("not complete, missing %v", f.Missing())
		}
		// Later objects cannot make it incomplete again, not even a claim that is not launched yet.
		w.by["NodeClaim"].Add(claim("a", ""))
		s.Created(claim("b", ""), time.Now())
		w.by["Node"].Add(node("m", "test://2"))
		pass(time.Minute)
		if !f.Ready() {
			t.Error("an unlaunched claim or a new node made the cluster state incomplete")
		}
		if _, ok := s.Snapshot().Nodes.Get("nodeclaim/a"); !ok {
			t.Error("the unlaunched claim is not in the snapshot")
		}
	})
}

func TestIncompleteClusterStateIsReported(t *testing.T) {
	t.Attr("covers", "L383")
	synctest.Test(t, func(t *testing.T) {
		w := newWatches(t)
		s, f := w.runFeed()
		metrics := observe.NewMetrics(prometheus.NewRegistry(), nil)
		log := &logcapture.Buffer{}
		w.background(NewGauges(s, f, metrics, slog.New(slog.NewTextHandler(log, nil)), clock.RealClock{}).Start)
		value := func(g prometheus.Gauge) float64 { return testutil.ToFloat64(g) }

		pass(20 * time.Second)
		if synced, for20s := value(metrics.Cluster.Synced), value(metrics.Cluster.UnsyncedTime); synced != 0 || for20s != 20 {
			t.Errorf("synced %v for %v s, want 0 for 20 s", synced, for20s)
		}
		if log.String() != "" {
			t.Errorf("complained within half a minute: %s", log.String())
		}
		pass(41 * time.Second)
		if got := value(metrics.Cluster.UnsyncedTime); got != 60 {
			t.Errorf("unsynced for %v s, want 60 s", got)
		}
		if got := strings.Count(log.String(), "level=ERROR"); got != 4 { // after 30, 40, 50 and 60 s
			t.Errorf("complained %d times, want 4:\n%s", got, log.String())
		}
		if !strings.Contains(log.String(), "Pod") {
			t.Errorf("the log does not say what is missing:\n%s", log.String())
		}
		w.by["Node"].Add(node("n", "test://1"))
		w.deliver()
		pass(10 * time.Second)
		if synced, unsynced, nodes := value(metrics.Cluster.Synced), value(metrics.Cluster.UnsyncedTime), value(metrics.Cluster.NodeCount); synced != 1 || unsynced != 0 || nodes != 1 {
			t.Errorf("synced %v, unsynced for %v s, %v nodes; want 1, 0 s, 1", synced, unsynced, nodes)
		}
		before := log.String()
		pass(time.Minute)
		if log.String() != before {
			t.Errorf("complained although complete:\n%s", log.String())
		}
	})
}

func TestClusterStateCanBeReadAtAnyTime(t *testing.T) {
	t.Attr("covers", "L384")
	s := newStore()
	f := NewWatcher(s, clock.RealClock{})
	var work sync.WaitGroup
	for i := range 8 {
		name, id := fmt.Sprintf("n%d", i), fmt.Sprintf("test://%d", i)
		work.Go(func() {
			for j := range 50 {
				s.UpdateNodeClaim(claim(name, id))
				s.UpdateNode(node(name, id))
				s.UpdatePod(boundPod(fmt.Sprintf("%s-%d", name, j), name))
				s.Nominate(time.Now(), id)
				f.Ready()
				f.Missing()
				s.Snapshot()
			}
		})
	}
	work.Wait()
	if got := s.Snapshot().Nodes.Len(); got != 8 {
		t.Errorf("%d nodes, want 8", got)
	}
	for _, n := range s.Snapshot().Nodes.Sorted() {
		if len(n.Pods) != 50 {
			t.Errorf("%d pods on %s, want 50", len(n.Pods), n.Name)
		}
	}
}

func TestAClaimThatWasDeletedUnseenIsForgotten(t *testing.T) {
	t.Attr("covers", "C157 C158 L385 N240")
	synctest.Test(t, func(t *testing.T) {
		w := newWatches(t, claim("there", ""), claim("launched", "test://1"))
		s, _ := w.runFeed()
		w.deliver()
		pass(confirmAfter - time.Second) // just before it looks for such claims
		s.Created(claim("gone", ""), time.Now())
		s.Created(claim("there", ""), time.Now()) // the watch is late, but it exists
		w.by["NodeClaim"].Add(claim("launched", "test://1"))
		has := func(id string) bool {
			_, ok := s.Snapshot().Nodes.Get(id)
			return ok
		}
		pass(10 * time.Second)
		if !has("nodeclaim/gone") {
			t.Error("a claim is doubted before the watch had time to show it")
		}
		pass(50 * time.Second)
		if has("nodeclaim/gone") {
			t.Error("a claim that does not exist still counts")
		}
		if !has("nodeclaim/there") || !has("test://1") {
			t.Error("a claim that exists was forgotten")
		}
	})
}

// TestAPodOfTheSameNameReplacesTheFormerOne checks an update after the watch missed the deletion of another pod with the name.
func TestAPodOfTheSameNameReplacesTheFormerOne(t *testing.T) {
	t.Attr("covers", "L373")
	synctest.Test(t, func(t *testing.T) {
		w := newWatches(t)
		s, _ := w.runFeed()
		w.deliver()
		w.by["Node"].Add(node("n", ""))
		w.by["Node"].Add(node("m", ""))
		former := boundPod("web-0", "n")
		w.by["Pod"].Add(former)
		again := boundPod("web-0", "m")
		again.UID = types.UID("another")
		w.by["Pod"].Update(former, again)
		snapshot := s.Snapshot()
		n, _ := snapshot.Nodes.Get("node/n")
		m, _ := snapshot.Nodes.Get("node/m")
		if len(n.Pods) != 0 || n.Used.At(0) != 0 || len(m.Pods) != 1 || m.Used.At(0) != 1000 {
			t.Errorf("%d pods on n, %d on m; want the one on m", len(n.Pods), len(m.Pods))
		}
		// A pod whose deletion is delivered only when the watch lists again.
		w.by["Pod"].Add(boundPod("late", "n"))
		forget(func(p *corev1.Pod) { s.DeletePod(string(p.UID)) })(toolscache.DeletedFinalStateUnknown{Obj: boundPod("late", "n")})
		if n, _ := s.Snapshot().Nodes.Get("node/n"); len(n.Pods) != 0 {
			t.Error("a pod whose deletion was learned of late still counts")
		}
	})
}
