package translate_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	coreresource "github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// asking returns a pod that requests one CPU and one of each resource.
func asking(names ...string) *corev1.Pod {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	for _, name := range names {
		list[corev1.ResourceName(name)] = resource.MustParse("1")
	}
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: list}}}
	return pod
}

// daemonSet returns a DaemonSet of such pods.
func daemonSet(name string, pod *corev1.Pod) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{}
	set.Namespace, set.Name, set.Spec.Template.Spec = "a", name, pod.Spec
	return set
}

// invented returns that many names of resources that nothing offers.
func invented(pod, names int) []string {
	out := make([]string, names)
	for i := range out {
		out[i] = fmt.Sprintf("a.b/%d-%d", pod, i)
	}
	return out
}

// offering returns an instance type with one of a resource.
func offering(name corev1.ResourceName) []*cloud.InstanceType {
	return []*cloud.InstanceType{{Name: "m", Capacity: corev1.ResourceList{name: resource.MustParse("1")}}}
}

// TestInventedResourcesLeaveNothingBehind checks that pods with many resource names do not enlarge the vectors of later pods, and that
// they keep one entry each.
func TestInventedResourcesLeaveNothingBehind(t *testing.T) {
	tr := translate.New(v1.CoreLabelRules())
	for i := range 10 {
		shape := tr.Pod(asking(invented(i, 1000)...)).Shape
		if got := shape.Requests.At(coreresource.Unoffered); got != 1000 || len(shape.Requests) > coreresource.Unoffered+1 {
			t.Errorf("pod %d asks for %d unoffered resources in %d entries", i, got, len(shape.Requests))
		}
		tr.DaemonSet(daemonSet("b", asking(invented(i, 1000)...)), nil)
	}
	if got, want := tr.Resources().Len(), coreresource.NewTable().Len(); got != want {
		t.Errorf("the table has %d entries, want %d", got, want)
	}
	tr.Catalog(offering("example.com/gpu"))
	if got, want := len(tr.Pod(asking("example.com/gpu")).Shape.Requests), coreresource.Unoffered+2; got != want {
		t.Errorf("a later pod has %d entries, want %d", got, want)
	}
}

// TestResourcesThatAreOfferedLater checks that pods translated before and after a resource is offered are alike, whatever offers it.
func TestResourcesThatAreOfferedLater(t *testing.T) {
	const gpu, other = "example.com/gpu", "example.com/other"
	one := corev1.ResourceList{gpu: resource.MustParse("1")}
	for name, offer := range map[string]func(*translate.Translator){
		"instance type": func(tr *translate.Translator) { tr.Catalog(offering(gpu)) },
		"node": func(tr *translate.Translator) {
			tr.Node("id", &corev1.Node{Status: corev1.NodeStatus{Allocatable: one}}, nil)
		},
		"nodeclaim": func(tr *translate.Translator) {
			tr.Node("id", nil, &v1.NodeClaim{Spec: v1.NodeClaimSpec{Resources: v1.ResourceRequirements{Requests: one}}})
		},
		"limit": func(tr *translate.Translator) {
			tr.Pool(&v1.NodePool{Spec: v1.NodePoolSpec{Limits: v1.Limits(one)}}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := translate.New(v1.CoreLabelRules())
			pod := asking(gpu, other)
			early := tr.Pod(pod)
			if want := []coreresource.Request{{Name: gpu, Amount: 1}, {Name: other, Amount: 1}}; cmp.Diff(want, early.Shape.Unoffered) != "" {
				t.Fatalf("before: unoffered %v, want %v", early.Shape.Unoffered, want)
			}
			if tr.Offered(early) != early {
				t.Error("a pod changes before anything is offered")
			}
			offer(tr)
			late := tr.Pod(pod)
			if i := tr.Resources().Index(gpu); late.Shape.Requests.At(i) != 1 || len(late.Shape.Unoffered) != 1 || late.Shape.Requests.At(coreresource.Unoffered) != 1 {
				t.Errorf("after: requests %v, unoffered %v", late.Shape.Requests, late.Shape.Unoffered)
			}
			if got := tr.Offered(early); got.Shape != late.Shape {
				t.Errorf("the early pod has another shape: %v instead of %v", got.Shape, late.Shape)
			}
			if len(early.Shape.Unoffered) != 2 {
				t.Error("a shape was changed in place")
			}
			tr.Catalog(offering(other))
			fresh := translate.New(v1.CoreLabelRules())
			fresh.Resources().Index(gpu)
			fresh.Resources().Index(other)
			if diff := cmp.Diff(fresh.Pod(pod).Shape, tr.OfferedPods([]*model.Pod{early})[0].Shape, exact()); diff != "" {
				t.Errorf("all offered (-translated late +translated early):\n%s", diff)
			}
		})
	}
}

// TestZeroRequestsNeedNoOffer checks that a request of zero, which kube-scheduler ignores, does not keep a pod from nodes.
func TestZeroRequestsNeedNoOffer(t *testing.T) {
	pod := asking()
	pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("0")
	if shape := translate.New(v1.CoreLabelRules()).Pod(pod).Shape; len(shape.Unoffered) > 0 || shape.Requests.At(coreresource.Unoffered) != 0 {
		t.Errorf("requests %v, unoffered %v", shape.Requests, shape.Unoffered)
	}
}

// TestDaemonSetsThatAskForResourcesOfferedLater checks that daemons are updated as pods are.
func TestDaemonSetsThatAskForResourcesOfferedLater(t *testing.T) {
	tr := translate.New(v1.CoreLabelRules())
	sets := []*model.DaemonSet{
		tr.DaemonSet(daemonSet("plain", asking()), nil),
		tr.DaemonSet(daemonSet("gpu", asking("example.com/gpu")), nil),
	}
	if got := tr.OfferedDaemonSets(sets); &got[0] != &sets[0] {
		t.Error("the list is copied although nothing is offered")
	}
	tr.Catalog(offering("example.com/gpu"))
	got := tr.OfferedDaemonSets(sets)
	if got[0] != sets[0] || len(got[1].Shape.Unoffered) != 0 || len(sets[1].Shape.Unoffered) != 1 {
		t.Errorf("unoffered %v, and %v before", got[1].Shape.Unoffered, sets[1].Shape.Unoffered)
	}
}

// BenchmarkLaterPod translates a pod after ten pods with 25 000 resource names each are gone.
func BenchmarkLaterPod(b *testing.B) {
	tr := translate.New(v1.CoreLabelRules())
	for i := range 10 {
		tr.Pod(asking(invented(i, 25_000)...))
	}
	tr.Catalog(offering("example.com/gpu"))
	pods := make([]*corev1.Pod, b.N)
	for i := range pods {
		pods[i] = asking("example.com/gpu")
		pods[i].Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(i), resource.DecimalSI)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, pod := range pods {
		tr.Pod(pod)
	}
}
