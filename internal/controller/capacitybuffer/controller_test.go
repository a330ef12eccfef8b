package capacitybuffer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

func TestStatusOfAResolvedBuffer(t *testing.T) {
	t.Attr("covers", "L341")
	t.Run("a PodTemplate", func(t *testing.T) {
		b := bufferOf("b", ofTemplate("web", 2))
		w := newHarness(t, b, podTemplate("web", "1"))
		w.look(b, 30*time.Second)
		got := fakecluster.Must(w.Cluster, b).Status
		if *got.Replicas != 2 || got.PodTemplateRef.Name != "web" || *got.PodTemplateGeneration != 3 || *got.ProvisioningStrategy != v1beta1.ActiveCapacity {
			t.Errorf("status %+v", got)
		}
		w.wantCondition(b, readyFor, resolved)
		w.wantCondition(b, placing, "")
		if c := got.Conditions[0]; c.ObservedGeneration != 1 || !c.LastTransitionTime.Time.Equal(w.Time.Now()) {
			t.Errorf("condition %+v", c)
		}
	})
	workloads := map[string]client.Object{
		"Deployment": deployment("web", 10, "1"),
		"StatefulSet": &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(10)), Template: podOf("1")},
		},
		"ReplicaSet": &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(10)), Template: podOf("1")},
		},
	}
	for kind, workload := range workloads {
		t.Run("a "+kind+", after a PodTemplate", func(t *testing.T) {
			b := bufferOf("b", ofScalable(kind, "web", 20), inOrder(7), func(b *v1beta1.CapacityBuffer) {
				b.Status.PodTemplateRef, b.Status.PodTemplateGeneration = &v1beta1.LocalObjectRef{Name: "old"}, new(int64(1))
			})
			w := newHarness(t, b, workload)
			w.look(b, 30*time.Second)
			if got := fakecluster.Must(w.Cluster, b).Status; *got.Replicas != 2 || got.PodTemplateRef != nil || got.PodTemplateGeneration != nil {
				t.Errorf("status %+v, want two replicas and no word about a PodTemplate", got)
			}
			w.wantVirtual(1000, "b-1", "b-2")
		})
	}
}

func TestBuffersThatCannotBeResolved(t *testing.T) {
	t.Attr("covers", "L341 L344 N246")
	for name, c := range map[string]struct {
		change func(*v1beta1.CapacityBuffer)
		want   string
		err    string
	}{
		"without a reference": {
			func(*v1beta1.CapacityBuffer) {}, "False/ResolutionFailed/neither podTemplateRef nor scalableRef is set", "",
		},
		"without its PodTemplate": {ofTemplate("none", 1), `False/PodTemplateNotFound/PodTemplate "none" not found`, ""},
		"without its workload":    {ofScalable("Deployment", "none", 10), `False/ScalableRefNotFound/Deployment "none" not found`, ""},
		"of an unsupported kind": {
			ofScalable("DaemonSet", "web", 10),
			`False/ResolutionFailed/unsupported kind "DaemonSet" of scalableRef, want Deployment, StatefulSet or ReplicaSet`, "unsupported kind",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := bufferOf("b", c.change)
			w := newHarness(t, b, podTemplate("web", "1"))
			// The virtual pods of the last success are removed.
			good := bufferOf("b", ofTemplate("web", 1))
			w.store.Buffers.SetHeadroom(nil)
			fakecluster.Change(w.Cluster, b, func(b *v1beta1.CapacityBuffer) { b.Spec = good.Spec })
			w.look(b, 30*time.Second)
			w.wantVirtual(1000, "b-1")
			w.wantTriggers("b-uid")
			fakecluster.Change(w.Cluster, b, func(now *v1beta1.CapacityBuffer) { now.Spec = b.Spec })

			result, err := w.Try(w.controller, b)
			if c.err == "" && (err != nil || result.RequeueAfter != 30*time.Second) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%+v, %v, want an error with %q", result, err, c.err)
			}
			w.wantCondition(b, readyFor, c.want)
			w.wantCondition(b, placing, "False/NotReadyForProvisioning/the buffer is not ready for provisioning")
			w.wantVirtual(0)
			w.wantTriggers("shop/b")
			_, _ = w.Try(w.controller, b)
			w.wantTriggers()
		})
	}
	t.Run("because the API server returns an error: the virtual pods stay", func(t *testing.T) {
		b := bufferOf("b", ofTemplate("web", 1))
		w := newHarness(t, b, podTemplate("web", "1"))
		w.look(b, 30*time.Second)
		w.wantTriggers("b-uid")
		w.Fail = fakecluster.Always("get", &corev1.PodTemplate{}, errors.New("boom"))
		if _, err := w.Try(w.controller, b); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("error %v", err)
		}
		w.wantCondition(b, readyFor, `False/ResolutionFailed/getting PodTemplate "web": boom`)
		w.wantVirtual(1000, "b-1")
		w.wantTriggers()
	})
}

func TestABufferFollowsWhatItRefersTo(t *testing.T) {
	t.Attr("covers", "L343")
	b := bufferOf("b", ofTemplate("web", 1))
	w := newHarness(t, b, podTemplate("web", "1"))
	w.look(b, 30*time.Second)
	w.wantVirtual(1000, "b-1")
	first := w.virtual()[0]

	w.Time.Step(30 * time.Second)
	w.look(b, 30*time.Second)
	if w.virtual()[0] != first {
		t.Error("nothing changed, and there are other virtual pods")
	}
	fakecluster.Change(w.Cluster, podTemplate("web", "1"), func(p *corev1.PodTemplate) {
		p.Template.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", "2")
		p.Generation = 4
	})
	w.look(b, 30*time.Second)
	w.wantVirtual(2000, "b-1")
	if got := fakecluster.Must(w.Cluster, b).Status.PodTemplateGeneration; *got != 4 {
		t.Errorf("generation %d in the status, want 4", *got)
	}
	fakecluster.Change(w.Cluster, b, func(b *v1beta1.CapacityBuffer) { b.Spec.Replicas, b.Generation = new(int32(3)), 2 })
	w.look(b, 30*time.Second)
	w.wantVirtual(2000, "b-1", "b-2", "b-3")
	if got := fakecluster.Must(w.Cluster, b).Status.Conditions[0].ObservedGeneration; got != 2 {
		t.Errorf("generation %d was observed, want 2", got)
	}
	if first.Name != "capacity-buffer-b-1" || first.Shape.Requests.At(0) != 1000 {
		t.Errorf("a virtual pod that was handed out has changed: %+v", first)
	}
}

func TestTriggersAndTheirPods(t *testing.T) {
	t.Attr("covers", "L344 N246 N247")
	b := bufferOf("b", ofTemplate("web", 1))
	w := newHarness(t, b, podTemplate("web", "1"))
	w.look(b, 30*time.Second)
	w.look(b, 30*time.Second)
	w.wantTriggers("b-uid", "b-uid")

	t.Run("a status that another client has written is written again a second later", func(*testing.T) {
		fakecluster.Change(w.Cluster, b, func(b *v1beta1.CapacityBuffer) { b.Spec.Replicas = new(int32(2)) })
		for _, err := range []error{fakecluster.Conflict(), fakecluster.NotFound()} {
			w.Fail = fakecluster.Always("patch-status", &v1beta1.CapacityBuffer{}, err)
			w.look(b, time.Second)
			w.wantTriggers()
		}
		w.Fail = nil
		w.look(b, 30*time.Second)
		w.wantTriggers("b-uid")
		w.wantVirtual(1000, "b-1", "b-2")
	})
	t.Run("other errors are returned", func(t *testing.T) {
		fakecluster.Change(w.Cluster, b, func(b *v1beta1.CapacityBuffer) { b.Spec.Replicas = new(int32(3)) })
		w.Fail = fakecluster.Always("patch-status", &v1beta1.CapacityBuffer{}, errors.New("boom"))
		if _, err := w.Try(w.controller, b); err == nil {
			t.Error("no error")
		}
		w.Fail = nil
		w.wantTriggers()
	})
	t.Run("the virtual pods and headroom of a deleted buffer are removed", func(t *testing.T) {
		w.store.UpdateNodeClaim(w.LaunchedClaim("a"))
		w.store.Buffers.SetHeadroom(map[string]cluster.Headroom{"test://a": {"shop/b": 1}})
		w.Delete(b)
		w.look(b, 0)
		w.wantTriggers("shop/b")
		w.look(b, 0)
		w.wantTriggers()
		w.wantVirtual(0)
		if n, _ := w.store.Snapshot().Nodes.Get("test://a"); n.Headroom != 0 {
			t.Errorf("the node still has headroom for %d", n.Headroom)
		}
	})
	t.Run("the virtual pods of a buffer that is being deleted are removed", func(*testing.T) {
		going := bufferOf("going", ofTemplate("web", 1), func(b *v1beta1.CapacityBuffer) { b.Finalizers = []string{"test/keep"} })
		w.Add(going)
		w.look(going, 30*time.Second)
		w.wantVirtual(1000, "going-1")
		w.Delete(going)
		w.look(going, 0)
		w.wantVirtual(0)
	})
}

func TestAnEmptyBufferHasNoVirtualPods(t *testing.T) {
	t.Attr("covers", "L345")
	b := bufferOf("b", ofTemplate("web", 0))
	w := newHarness(t, b, podTemplate("web", "1"))
	w.look(b, 30*time.Second)
	w.wantVirtual(0)
	w.wantCondition(b, readyFor, resolved)
	w.wantTriggers("b-uid")
}

func TestRegister(t *testing.T) {
	w := newHarness(t)
	w.Register(t, w.controller)
}

func TestBuffersAreListedByName(t *testing.T) {
	w := newHarness(t, podTemplate("web", "1"))
	for _, name := range []string{"c", "a", "b"} {
		b := bufferOf(name, ofTemplate("web", 1))
		w.Add(b)
		w.look(b, 30*time.Second)
	}
	w.wantVirtual(1000, "a-1", "b-1", "c-1")
	var uids []string
	for _, p := range w.virtual() {
		uids = append(uids, p.UID)
	}
	if want := []string{"a-uid-1", "b-uid-1", "c-uid-1"}; !slices.Equal(uids, want) {
		t.Errorf("UIDs %q, want %q", uids, want)
	}
}
