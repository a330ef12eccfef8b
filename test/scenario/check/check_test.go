package check

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

func list(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("3")}
}

func waiting(name, cpu string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Reason: corev1.PodReasonUnschedulable}}
	return pod
}

// right is a valid plan: a on a new node of 2 cores, b on the existing node of 1 core, c too large for any type.
func right() Subject {
	instanceType := &cloud.InstanceType{
		Name:         "two",
		Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelInstanceTypeStable, "two")},
		Capacity:     list("2"),
		Offerings: []cloud.Offering{
			{Price: 0.5, Available: true, Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelTopologyZone, "a")}},
			{Price: 0.1, Available: false, Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelTopologyZone, "b")}},
		},
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: corev1.NodeStatus{Capacity: list("1"), Allocatable: list("1")}}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.NodePoolLabelKey: "pool"}}}
	claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelInstanceTypeStable, "two")}
	claim.Spec.Resources.Requests = list("2")
	return Subject{
		Objects:    []client.Object{pool, node, waiting("a", "1500m"), waiting("b", "1"), waiting("c", "9")},
		Types:      map[string][]*cloud.InstanceType{"pool": {instanceType}},
		Claims:     []Claim{{Object: claim, Pods: []types.UID{"a"}, Price: 0.5, Cheapest: "two"}},
		Placements: []Placement{{Node: "node", Pods: []types.UID{"b"}}},
		Refused:    []types.UID{"c"},
	}
}

func TestJudgeFindsViolations(t *testing.T) {
	if errs := Judge(right()); len(errs) > 0 {
		t.Fatalf("violations of a valid plan: %v", errs)
	}
	object := func(s *Subject, i int) *corev1.Pod { pod, _ := s.Objects[i].(*corev1.Pod); return pod }
	for want, spoil := range map[string]func(*Subject){
		"pod c is unschedulable and is named 0 times": func(s *Subject) { s.Refused = nil },
		"pod c is unschedulable and is named 2 times": func(s *Subject) { s.Ignored = []types.UID{"c"} },
		"is named and does not exist":                 func(s *Subject) { s.Ignored = []types.UID{"z"} },
		"the cheapest choice costs $0.5":              func(s *Subject) { s.Claims[0].Price = 0.1 },
		"too small: cpu 9 of 2":                       func(s *Subject) { s.Claims[0].Pods, s.Refused = []types.UID{"c"}, []types.UID{"a"} },
		"requests less than its pods":                 func(s *Subject) { s.Claims[0].Object.Spec.Resources.Requests = list("1") },
		"does not tolerate its taints":                func(s *Subject) { s.Claims[0].Object.Spec.Taints = []corev1.Taint{{Key: "k", Effect: "NoSchedule"}} },
		"pod a may not run there": func(s *Subject) {
			object(s, 2).Spec.NodeSelector = map[string]string{"topology.kubernetes.io/zone": "b"}
		},
		"which cannot launch":                   func(s *Subject) { s.Types = nil },
		"beyond its limit 1":                    func(s *Subject) { s.Objects[0].(*v1.NodePool).Spec.Limits = v1.Limits(list("1")) },
		"node is overcommitted: 1500m of 1 cpu": func(s *Subject) { s.Placements[0].Pods, s.Claims[0].Pods = []types.UID{"a"}, []types.UID{"b"} },
		"which is being deleted":                func(s *Subject) { now := metav1.NewTime(time.Unix(1, 0)); s.Objects[1].SetDeletionTimestamp(&now) },
		"pod a is refused, but would fit a two": func(s *Subject) { s.Claims, s.Refused = nil, []types.UID{"a", "c"} },
		"waits for driver gpu.io, which two does not have": func(s *Subject) {
			s.Claims[0].Object.Annotations = map[string]string{v1.RequestedDRADriversAnnotationKey: "gpu.io"}
		},
		"has 1 values of node.kubernetes.io/instance-type, minValues of its pool is 2": func(s *Subject) {
			two := 2
			s.Objects[0].(*v1.NodePool).Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{
				Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &two,
			}}
		},
		"does not meet the requirements of its pool": func(s *Subject) {
			s.Objects[0].(*v1.NodePool).Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{cloud.In("topology.kubernetes.io/zone", "b")}
		},
		`pods are placed on "x", which does not exist`: func(s *Subject) { s.Placements[0].Node = "x" },
	} {
		s := right()
		spoil(&s)
		found := false
		var all []string
		for _, err := range Judge(s) {
			all = append(all, err.Error())
			found = found || strings.Contains(err.Error(), want)
		}
		if !found {
			t.Errorf("want %q among %q", want, all)
		}
	}
}
