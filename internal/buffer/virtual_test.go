package buffer

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

func headroom() *v1beta1.CapacityBuffer {
	return &v1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-buffer", UID: "1234-5678"}}
}

func template() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "kept"}},
		Spec: corev1.PodSpec{
			NodeName: "pinned",
			Containers: []corev1.Container{{
				Name:      "app",
				Resources: corev1.ResourceRequirements{Requests: amounts("cpu", "1"), Limits: amounts("memory", "1Gi")},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "data"},
					{Name: "scratch"},
					{Name: "config"},
				},
				VolumeDevices: []corev1.VolumeDevice{{Name: "data"}},
			}},
			InitContainers: []corev1.Container{{Name: "init", VolumeMounts: []corev1.VolumeMount{{Name: "data"}}}},
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
				{Name: "config", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
			NodeSelector:              map[string]string{"tier": "gold"},
			Tolerations:               []corev1.Toleration{{Key: "own", Operator: corev1.TolerationOpExists}},
			Affinity:                  &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone"}},
			Priority:                  new(int32(100)),
		},
	}
}

func TestAVirtualPodIsItsTemplateWithoutVolumes(t *testing.T) {
	t.Attr("covers", "L345")
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	source := template()
	got := Pod(headroom(), source, now)
	if diff := cmp.Diff(template(), source); diff != "" {
		t.Errorf("the template was changed (-before +after):\n%s", diff)
	}

	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "capacity-buffer-web-buffer-1", UID: "1234-5678-1",
			Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{
				"note": "kept", "karpenter.sh/capacity-buffer-fake-pod": "true",
				"karpenter.sh/capacity-buffer-name": "web-buffer", "karpenter.sh/capacity-buffer-namespace": "shop",
			},
			CreationTimestamp: metav1.NewTime(now),
		},
		Spec: template().Spec,
		Status: corev1.PodStatus{
			Phase:      corev1.PodPending,
			Conditions: []corev1.PodCondition{{Type: "PodScheduled", Status: "False", Reason: "Unschedulable"}},
		},
	}
	want.Spec.NodeName = ""
	want.Spec.Priority = new(int32(math.MinInt32))
	want.Spec.Volumes = want.Spec.Volumes[2:]
	want.Spec.Containers[0].VolumeMounts = want.Spec.Containers[0].VolumeMounts[2:]
	want.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{}
	want.Spec.InitContainers[0].VolumeMounts = []corev1.VolumeMount{}
	want.Spec.Containers[0].Resources.Requests = amounts("cpu", "1", "memory", "1Gi")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("virtual pod (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(amounts("cpu", "1", "memory", "1Gi"), Requests(got)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestVirtualPodsAreNumbered(t *testing.T) {
	t.Attr("covers", "L345")
	translator, now := translate.New(v1.CoreLabelRules()), time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	build := func(replicas int32, at time.Time) []*model.Pod {
		return Pods(translator, headroom(), Pod(headroom(), template(), at), replicas)
	}
	for _, none := range []int32{0, -1} {
		if got := build(none, now); len(got) != 0 {
			t.Errorf("%d replicas give %d pods", none, len(got))
		}
	}
	pods, later := build(3, now), build(3, now.Add(time.Hour))
	if len(pods) != 3 {
		t.Fatalf("%d pods, want 3", len(pods))
	}
	for i, p := range pods {
		if name, uid := fmt.Sprintf("capacity-buffer-web-buffer-%d", i+1), fmt.Sprintf("1234-5678-%d", i+1); p.Name != name || p.UID != uid || p.Namespace != "shop" {
			t.Errorf("pod %d is %s with UID %s, want %s with %s", i, p.ID(), p.UID, name, uid)
		}
		if later[i].UID != p.UID {
			t.Errorf("pod %d has another UID when built again: %s, %s", i, p.UID, later[i].UID)
		}
		if !p.Virtual || p.Rejected != "" || p.Node != "" || p.Shape != pods[0].Shape || p.Labels != pods[0].Labels {
			t.Errorf("pod %d is %+v", i, p)
		}
		if p.Shape.Requests.At(resource.CPU) != 1000 || p.Shape.Priority != math.MinInt32 || len(p.Shape.Spreads) != 1 {
			t.Errorf("pod %d asks for %+v", i, p.Shape)
		}
		if got := Of(p); got != (types.NamespacedName{Namespace: "shop", Name: "web-buffer"}) {
			t.Errorf("pod %d belongs to %s", i, got)
		}
	}
}

func TestPodsThatFitNowhereAreVirtual(t *testing.T) {
	hopeless := template()
	hopeless.Spec.NodeSelector = map[string]string{v1.NodePoolLabelKey + "/x/y": "z"}
	got := Pods(translate.New(v1.CoreLabelRules()), headroom(), Pod(headroom(), hopeless, time.Now()), 1)
	if got[0].Rejected != "" {
		t.Errorf("rejected: %s; virtual pods are not validated", got[0].Rejected)
	}
}

func TestAMistypedNumberIsBounded(t *testing.T) {
	got := Pods(translate.New(v1.CoreLabelRules()), headroom(), Pod(headroom(), template(), time.Now()), math.MaxInt32)
	if len(got) != maxPods {
		t.Errorf("%d pods, want %d", len(got), maxPods)
	}
}
