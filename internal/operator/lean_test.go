package operator

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	podresource "k8s.io/component-helpers/resource"
	"sigs.k8s.io/randfill"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// randomPods generates pods in which every field has a random value or none.
func randomPods(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.4).NumElements(1, 3).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(int64(c.Intn(5000)), resource.DecimalSI)
		},
		func(m *metav1.Time, c randfill.Continue) { *m = metav1.Unix(int64(c.Intn(1e6)), 0) },
		func(s *intstr.IntOrString, c randfill.Continue) { *s = intstr.FromInt32(int32(c.Intn(9))) },
		func(c *corev1.PodCondition, r randfill.Continue) {
			types := []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady, corev1.PodResizePending, corev1.PodResizeInProgress, corev1.ContainersReady}
			reasons := []string{corev1.PodReasonUnschedulable, corev1.PodReasonSchedulerError, corev1.PodReasonInfeasible, corev1.PodReasonDeferred}
			status := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}
			*c = corev1.PodCondition{Type: types[r.Intn(len(types))], Status: status[r.Intn(len(status))], Reason: reasons[r.Intn(len(reasons))]}
		},
		func(p *corev1.ContainerRestartPolicy, _ randfill.Continue) { *p = corev1.ContainerRestartPolicyAlways },
		func(p *corev1.ContainerPort, c randfill.Continue) {
			*p = corev1.ContainerPort{Name: "http", ContainerPort: 80, HostPort: int32(c.Intn(2) * 8080), HostIP: "10.0.0.1"}
		},
	)
}

// named gives the statuses the names of the containers.
func named(pod *corev1.Pod) {
	for i := range pod.Status.ContainerStatuses {
		if i < len(pod.Spec.Containers) {
			pod.Status.ContainerStatuses[i].Name = pod.Spec.Containers[i].Name
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		if i < len(pod.Spec.InitContainers) {
			pod.Status.InitContainerStatuses[i].Name = pod.Spec.InitContainers[i].Name
		}
	}
}

// amounts are the requests of a pod as the helper library computes them.
func amounts(pod *corev1.Pod) string {
	options := podresource.PodResourcesOptions{UseStatusResources: true}
	return fmt.Sprint(podresource.PodRequests(pod, options), podresource.PodLimits(pod, options), podresource.IsPodResizeInfeasible(pod))
}

func TestLeanPodsKeepTheirMeaning(t *testing.T) {
	l, translator := newLean(), translate.New(v1.CoreLabelRules())
	now := time.Unix(5e5, 0)
	for seed := range int64(300) {
		pod := &corev1.Pod{}
		randomPods(seed).Fill(pod)
		named(pod)
		small := pod.DeepCopy()
		for range 2 { // idempotent
			if _, err := l.transform(small); err != nil {
				t.Fatal(err)
			}
		}
		if was, is := translator.Pod(pod), translator.Pod(small); was.Shape != is.Shape || was.Labels != is.Labels || was.Node != is.Node || was.Rejected != is.Rejected {
			t.Fatalf("seed %d: the engine sees another pod", seed)
		}
		if was, is := amounts(pod), amounts(small); was != is {
			t.Fatalf("seed %d: amounts %s, want %s", seed, is, was)
		}
		if diff := cmp.Diff(translate.VolumeClaims(pod), translate.VolumeClaims(small)); diff != "" {
			t.Fatalf("seed %d: claims: %s", seed, diff)
		}
		for name, rule := range map[string]func(*corev1.Pod) bool{
			"Provisionable": podrules.Provisionable, "Reschedulable": podrules.Reschedulable, "Terminal": podrules.Terminal,
			"ToleratesDisruption": podrules.ToleratesDisruption,
			"Disruptable":         func(p *corev1.Pod) bool { return podrules.Disruptable(p, now) },
			"Drainable":           func(p *corev1.Pod) bool { return podrules.Drainable(p, now) },
		} {
			if rule(pod) != rule(small) {
				t.Fatalf("seed %d: %s changed", seed, name)
			}
		}
	}
}

func TestLeanPodsKeepTheirMetadata(t *testing.T) {
	l := newLean()
	for seed := range int64(100) {
		pod := &corev1.Pod{}
		randomPods(seed).Fill(pod)
		small := pod.DeepCopy()
		if _, err := l.transform(small); err != nil {
			t.Fatal(err)
		}
		pod.ManagedFields = nil
		if diff := cmp.Diff(pod.ObjectMeta, small.ObjectMeta); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if pod.Spec.NodeName != small.Spec.NodeName {
			t.Fatalf("seed %d: on node %q, want %q", seed, small.Spec.NodeName, pod.Spec.NodeName)
		}
	}
}

// replica returns one of many pods with the same spec.
func replica(node string) *corev1.Pod {
	pod := &corev1.Pod{}
	randomPods(7).NilChance(0).Fill(pod)
	pod.Spec.NodeName = node
	return pod
}

func TestPodsOfOneWorkloadShareTheirParts(t *testing.T) {
	l := newLean()
	a, b, other := replica("a"), replica("b"), replica("c")
	other.Labels = map[string]string{"app": "other"}
	other.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("42")}
	for _, pod := range []*corev1.Pod{a, b, other} {
		if _, err := l.transform(pod); err != nil {
			t.Fatal(err)
		}
	}
	if &a.Spec.Containers[0] != &b.Spec.Containers[0] {
		t.Error("equal containers are there twice")
	}
	if a.Spec.NodeName != "a" || b.Spec.NodeName != "b" {
		t.Errorf("nodes are %q and %q", a.Spec.NodeName, b.Spec.NodeName)
	}
	if &a.Spec.Containers[0] == &other.Spec.Containers[0] || other.Labels["app"] != "other" {
		t.Error("what differs is shared")
	}
	if cpu := other.Spec.Containers[0].Resources.Requests.Cpu(); cpu.Value() != 42 {
		t.Errorf("the other pod asks for %s", cpu)
	}
}

func TestMemoryForSharingIsBounded(t *testing.T) {
	l := newLean()
	for i := range mostShared + 10 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"n": fmt.Sprint(i)}}}
		if _, err := l.transform(pod); err != nil {
			t.Fatal(err)
		}
		if pod.Labels["n"] != fmt.Sprint(i) {
			t.Fatalf("pod %d has labels %v", i, pod.Labels)
		}
	}
	if len(l.shared) > mostShared {
		t.Errorf("%d parts are remembered", len(l.shared))
	}
}

// TestMemoryForSharingIsBoundedInBytes checks that large parts of pods, such as annotations of a megabyte, do not stay once their pods
// are gone, and that pods of one workload share theirs all the same.
func TestMemoryForSharingIsBoundedInBytes(t *testing.T) {
	l := newLean()
	annotated := func(i, size int) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"n": fmt.Sprint(i), "text": strings.Repeat("x", size)}}}
		if _, err := l.transform(pod); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	held := func() (bytes int) {
		for key := range l.shared {
			bytes += len(key)
		}
		return bytes
	}
	for i := range 3 * maxSharedBytes / (8 << 10) {
		one, other := annotated(i, 8<<10), annotated(i, 8<<10)
		if reflect.ValueOf(one.Annotations).Pointer() != reflect.ValueOf(other.Annotations).Pointer() {
			t.Fatalf("equal annotations of pods %d are there twice", i)
		}
		if l.bytes > maxSharedBytes {
			t.Fatalf("%d bytes are remembered after %d pods", l.bytes, i)
		}
	}
	if got := held(); got != l.bytes {
		t.Errorf("%d bytes are remembered, counted as %d", got, l.bytes)
	}
	before := held()
	if pod := annotated(0, maxSharedPart); held() != before || len(pod.Annotations["text"]) != maxSharedPart {
		t.Errorf("%d bytes are remembered of a part that is too large to be shared", held()-before)
	}
}
