package translate_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// crowd returns n pods of some workloads, in random order. Some are bound, some are pending, some of these unschedulable, and many
// request resources that no other pod requests.
func crowd(n int) []*corev1.Pod {
	random := rand.New(rand.NewPCG(7, 7))
	out := make([]*corev1.Pod, n)
	for i := range out {
		workload := random.IntN(200)
		pod := workloadPod(workload, i)
		if workload%3 == 0 {
			own := corev1.ResourceName(fmt.Sprintf("example.com/device-%d", workload))
			pod.Spec.Containers[0].Resources.Requests[own] = resource.MustParse("1")
		}
		if workload%5 == 0 {
			pod.Spec.NodeSelector = map[string]string{v1.NodePoolLabelKey + "/wrong/twice": "x"}
		}
		if random.IntN(2) == 0 {
			pod.Spec.NodeName = ""
			pod.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}}
		}
		out[i] = pod
	}
	return out
}

// TestPodsInParallelEqualPodsInSequence compares parallel with sequential translation for lists of one and of several chunks, with
// GOMAXPROCS above 1, down to the indexes of resources.
func TestPodsInParallelEqualPodsInSequence(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	for _, n := range []int{0, 1, 600, 1025, 4000} {
		pods := crowd(n)
		one, many := translate.New(v1.CoreLabelRules()), translate.New(v1.CoreLabelRules())
		want := make([]*model.Pod, n)
		for i, pod := range pods {
			want[i] = one.Pod(pod)
		}
		got := many.Pods(pods)
		if diff := cmp.Diff(want, got, exact()); diff != "" {
			t.Errorf("%d pods (-one after the other +all at once):\n%s", n, diff)
		}
		if diff := cmp.Diff(one.Resources().Names(), many.Resources().Names()); diff != "" {
			t.Errorf("%d pods: names of resources (-one after the other +all at once):\n%s", n, diff)
		}
		for i := range got {
			first := slices.IndexFunc(want, func(p *model.Pod) bool { return p.Shape == want[i].Shape })
			labels := slices.IndexFunc(want, func(p *model.Pod) bool { return p.Labels == want[i].Labels })
			if got[i].Shape != got[first].Shape || got[i].Labels != got[labels].Labels {
				t.Fatalf("%d pods: pod %d does not share what it shares with pods %d and %d when they are read one after the other", n, i, first, labels)
			}
		}
	}
}

// BenchmarkPods translates the pods of a batch.
func BenchmarkPods(b *testing.B) {
	pods := crowd(4000)
	b.ReportAllocs()
	for b.Loop() {
		translate.New(v1.CoreLabelRules()).Pods(pods)
	}
}
