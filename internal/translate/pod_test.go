package translate_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// BenchmarkPod translates pods of a thousand workloads as an informer delivers them, one after the other.
func BenchmarkPod(b *testing.B) {
	for _, kind := range []struct {
		name string
		edit func(*corev1.Pod)
	}{
		{"plain", func(*corev1.Pod) {}},
		{"topology", func(pod *corev1.Pod) {
			own := &metav1.LabelSelector{MatchLabels: map[string]string{"app": pod.Labels["app"]}}
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: own},
				{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: own},
			}
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: own}},
			}}
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			pods := make([]*corev1.Pod, 20000)
			for i := range pods {
				pods[i] = workloadPod(i%1000, i/1000)
				kind.edit(pods[i])
			}
			t := translate.New(v1.CoreLabelRules())
			kept := make([]*model.Pod, len(pods))
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				kept[i%len(kept)] = t.Pod(pods[i%len(pods)])
			}
		})
	}
}

// workloadPod is the n-th pod of a workload, labelled as a Deployment does.
func workloadPod(workload, n int) *corev1.Pod {
	app := fmt.Sprintf("app-%03d", workload)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", workload%20), Name: fmt.Sprintf("%s-5d4f8c7b9d-%05d", app, n), UID: types.UID(fmt.Sprintf("%s-%d", app, n)),
			Labels: map[string]string{"app": app, "app.kubernetes.io/instance": app, "pod-template-hash": "5d4f8c7b9d", "tier": "web"},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-1",
			Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewMilliQuantity(int64(100+workload), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("256Mi"),
			}}}},
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
				{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
			},
		},
	}
}

func TestEveryWellKnownLabelMayBeSelected(t *testing.T) {
	t.Attr("covers", "L025")
	rules := v1.CoreLabelRules().With([]string{"cloud.test/family"}, []string{"cloud.test"})
	values := map[string]string{v1.CapacityTypeLabelKey: v1.CapacityTypeSpot}
	pending := func() *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}}}
	}
	for key := range rules.WellKnown {
		value := values[key]
		if value == "" {
			value = "x"
		}
		pod := pending()
		pod.Spec.NodeSelector = map[string]string{key: value}
		if why := translate.New(rules).Pod(pod).Rejected; why != "" {
			t.Errorf("selecting %s is refused: %s", key, why)
		}
	}
	pod := pending()
	pod.Spec.NodeSelector = map[string]string{"cloud.test/other": "x"}
	if translate.New(rules).Pod(pod).Rejected == "" {
		t.Error("a label beside them in the provider's domain may be selected")
	}
}
