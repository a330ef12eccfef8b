package capacitybuffer

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
