package disruption

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/internal/prediction"
)

// TestPredictedSizesAreUsed: a recreated pod has the requests that an autoscaler sets for its workload.
func TestPredictedSizesAreUsed(t *testing.T) {
	t.Attr("covers", "W033")
	deployed := func(p *corev1.Pod) {
		p.Labels = map[string]string{"pod-template-hash": "5f6"}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5f6", Controller: new(true)}}
	}
	inSet := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", Controller: new(true)}}
	}
	web := prediction.Target{Namespace: "default", APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	db := prediction.Target{Namespace: "default", APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db"}
	cpu := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: quantity(amount)}
	}
	for _, tt := range []struct {
		name      string
		owner     func(*corev1.Pod)
		asks      int64
		predicted prediction.Predictions
		moves     bool
	}{
		{"a pod that fits", deployed, 600, nil, true},
		{"a pod that will not fit any more", deployed, 600, prediction.Predictions{web: {"app": {Requests: cpu("900m")}}}, false},
		{"a pod that will fit only then", deployed, 900, prediction.Predictions{web: {"app": {Requests: cpu("600m")}}}, true},
		{"a pod that does not fit", deployed, 900, nil, false},
		{"a pod that asks for more while it starts", deployed, 600, prediction.Predictions{web: {"app": {Requests: cpu("600m"), StartupCPU: new(quantity("900m"))}}}, false},
		{"a pod of a StatefulSet", inSet, 600, prediction.Predictions{db: {"app": {Requests: cpu("900m")}}}, false},
		{"a prediction for another container", deployed, 600, prediction.Predictions{web: {"sidecar": {Requests: cpu("900m")}}}, true},
		{"a prediction for another workload", deployed, 600, prediction.Predictions{db: {"app": {Requests: cpu("900m")}}}, true},
	} {
		inBubble(t, tt.name, func(w *harness) {
			l := w.live(ondemand(2))
			w.pool("pool", budget("100%"), underutilized)
			l.of("pool", "a", "x2")
			w.unmanagedNode("b", 2)
			w.pod("b", "there", asks(1300))
			w.pod("a", "moving", asks(tt.asks), tt.owner)
			w.deps.Predictions = &prediction.Store{}
			w.deps.Predictions.Replace(tt.predicted, true)
			defer w.run()()
			w.pass(30 * time.Second)
			if got := w.metric("karpenter_nodeclaims_disrupted_total", "reason=underutilized") == 1; got != tt.moves {
				w.Errorf("moved %t, want %t", got, tt.moves)
			}
		})
	}
}
