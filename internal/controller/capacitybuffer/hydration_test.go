package capacitybuffer_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

func TestHydration(t *testing.T) {
	t.Attr("covers", "L346")
	seen := bufferOf("seen", ofTemplate("web", 2), inOrder(2))
	fresh := bufferOf("fresh", ofTemplate("web", 2))
	failing := bufferOf("failing", ofTemplate("none", 2), inOrder(2))
	workload := bufferOf("workload", ofScalable("Deployment", "web", 50), inOrder(1))
	w := newHarness(t, seen, fresh, failing, workload, podTemplate("web", "1"), deployment("web", 2, "3"))

	w.wantVirtual(0) // nothing was hydrated yet
	lists := 0
	w.Fail = func(op string, obj runtime.Object) error {
		if _, buffers := obj.(*v1beta1.CapacityBufferList); op == "list" && buffers {
			lists++
			if lists == 1 {
				return errors.New("boom")
			}
		}
		if _, template := obj.(*corev1.PodTemplate); op == "get" && template && lists == 2 {
			return errors.New("boom")
		}
		return nil
	}
	for _, trouble := range []string{"the list of buffers", "the template"} {
		if err := w.buffers.Hydrate(t.Context()); err == nil {
			t.Errorf("%s could not be read, and there is no error", trouble)
		}
	}
	for range 3 {
		if err := w.buffers.Hydrate(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if lists != 3 {
		t.Errorf("the buffers were listed %d times, want once more after two failures", lists)
	}
	w.wantVirtual(1000, "seen-1", "seen-2", "workload-1")
}

func TestHydrationLeavesAloneWhatTheControllerKnows(t *testing.T) {
	t.Attr("covers", "L346")
	b := bufferOf("b", ofTemplate("web", 1))
	w := newHarness(t, b, podTemplate("web", "1"))
	w.look(b, 30*time.Second)
	before := w.virtual()[0]
	if err := w.buffers.Hydrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.virtual()[0] != before {
		t.Error("hydration made other pods")
	}
}

func TestHydrationAfterARestart(t *testing.T) {
	t.Attr("covers", "L346")
	b := bufferOf("b", ofTemplate("web", 2))
	w := newHarness(t, b, podTemplate("web", "1"))
	w.look(b, 30*time.Second)
	w.restart()
	w.wantVirtual(0)
	if !w.store.Snapshot().HeadroomUnknown {
		t.Error("after a restart the headroom of nodes is not marked as unknown")
	}
	if err := w.buffers.Hydrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantVirtual(1000, "b-1", "b-2")
}

func TestHydrationIsSafeUnderConcurrency(t *testing.T) {
	t.Attr("covers", "L346")
	a, b := bufferOf("a", ofTemplate("web", 1), inOrder(1)), bufferOf("b", ofTemplate("web", 1), inOrder(1))
	w := newHarness(t, a, b, podTemplate("web", "1"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := w.buffers.Hydrate(t.Context()); err != nil {
				t.Error(err)
			}
			for _, p := range w.virtual() {
				_ = p.Shape.Requests.At(0)
			}
		})
		all.Go(func() {
			if _, err := w.Try(w.controller, a); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.wantVirtual(1000, "a-1", "b-1")
}

func TestABufferDeletedDuringHydrationStaysForgotten(t *testing.T) {
	t.Attr("covers", "L346")
	b := bufferOf("b", ofTemplate("web", 1), inOrder(1))
	w := newHarness(t, b, podTemplate("web", "1"))
	deleted := make(chan struct{})
	var once sync.Once
	w.Fail = func(op string, obj runtime.Object) error {
		// The list was read; the buffer is deleted before its template is read.
		if _, template := obj.(*corev1.PodTemplate); op == "get" && template {
			once.Do(func() {
				if err := w.Client.Delete(t.Context(), fakecluster.Must(w.Cluster, b)); err != nil {
					t.Error(err)
				}
				go func() {
					defer close(deleted)
					if _, err := w.Try(w.controller, b); err != nil {
						t.Error(err)
					}
				}()
			})
		}
		return nil
	}
	if err := w.buffers.Hydrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-deleted
	w.wantVirtual(0)
}
