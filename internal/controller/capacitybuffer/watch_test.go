package capacitybuffer

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

func TestAPodTemplateWakesTheBuffersThatReferToIt(t *testing.T) {
	t.Attr("covers", "L343")
	refer := func(namespace, name, template string) *v1beta1.CapacityBuffer {
		b := &v1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if template != "" {
			b.Spec.PodTemplateRef = &v1beta1.LocalObjectRef{Name: template}
		}
		return b
	}
	w := fakecluster.New(t, refer("shop", "a", "web"), refer("shop", "b", "web"), refer("shop", "c", "other"), refer("shop", "d", ""), refer("pub", "e", "web"))
	c := New(&Buffers{Deps: Deps{Shared: w.Shared}}, nil)
	var woken []string
	for _, request := range c.ofTemplate(t.Context(), &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}) {
		woken = append(woken, request.String())
	}
	if want := []string{"shop/a", "shop/b"}; !slices.Equal(woken, want) {
		t.Errorf("woke %q, want %q", woken, want)
	}
}

func TestAWorkloadWakesTheBuffersThatReferToIt(t *testing.T) {
	t.Attr("covers", "N245")
	refer := func(namespace, name, group, kind, to string) *v1beta1.CapacityBuffer {
		b := &v1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		b.Spec.ScalableRef = &v1beta1.ScalableRef{APIGroup: group, Kind: kind, Name: to}
		return b
	}
	w := fakecluster.New(t,
		refer("shop", "a", "apps", "Deployment", "web"), refer("shop", "b", "", "Deployment", "web"), refer("shop", "other", "apps", "Deployment", "db"),
		refer("shop", "kind", "apps", "StatefulSet", "web"), refer("shop", "group", "example.com", "Deployment", "web"), refer("pub", "place", "apps", "Deployment", "web"),
		&v1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "template"}},
	)
	c := New(&Buffers{Deps: Deps{Shared: w.Shared}}, nil)
	for kind, want := range map[string][]string{"Deployment": {"shop/a", "shop/b"}, "StatefulSet": {"shop/kind"}, "ReplicaSet": nil} {
		var woken []string
		for _, request := range c.ofWorkload(kind)(t.Context(), &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}) {
			woken = append(woken, request.String())
		}
		if !slices.Equal(woken, want) {
			t.Errorf("a %s woke %q, want %q", kind, woken, want)
		}
	}
}

// TestOnlyANewSpecOfAWorkloadWakes: the status of a workload changes with each of its pods.
func TestOnlyANewSpecOfAWorkloadWakes(t *testing.T) {
	t.Attr("covers", "N245")
	of := func(generation int64) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: generation}}
	}
	p := newSpec{}
	if !p.Create(event.CreateEvent{Object: of(1)}) || !p.Delete(event.DeleteEvent{Object: of(1)}) || !p.Update(event.UpdateEvent{ObjectOld: of(1), ObjectNew: of(2)}) {
		t.Error("creation, deletion or a new generation of a workload is not seen")
	}
	if p.Update(event.UpdateEvent{ObjectOld: of(1), ObjectNew: of(1)}) {
		t.Error("a new status of a workload wakes its buffers")
	}
}
