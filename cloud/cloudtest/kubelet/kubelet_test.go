package kubelet_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/cloud/cloudtest/kubelet"
)

func TestTaints(t *testing.T) {
	got, err := kubelet.Taints("a=b:NoSchedule,c:NoExecute")
	want := []corev1.Taint{{Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule}, {Key: "c", Effect: corev1.TaintEffectNoExecute}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if got, err := kubelet.Taints("a=b"); err == nil {
		t.Errorf("a taint that names no effect is read as %v", got)
	}
}

func TestPairs(t *testing.T) {
	if got, err := kubelet.Pairs("cpu=1,memory=2Gi", "="); err != nil || got["cpu"] != "1" || got["memory"] != "2Gi" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := kubelet.Pairs("cpu", "="); err == nil {
		t.Errorf("a key without value is read as %v", got)
	}
}

// TestCheck checks what the kubelet refuses.
func TestCheck(t *testing.T) {
	for key, want := range map[string]bool{
		"team": true, "example.com/team": true, "kubernetes.azure.com/mode": true, "node.kubernetes.io/x": true, "topology.kubernetes.io/zone": true,
		"kubernetes.io/x": false, "x.k8s.io/y": false, "node-restriction.kubernetes.io/x": false,
	} {
		if err := kubelet.Check(map[string]string{key: "v"}, nil); (err == nil) != want || err != nil && !strings.Contains(err.Error(), key) {
			t.Errorf("label %s: %v", key, err)
		}
	}
	if err := kubelet.Check(nil, []corev1.Taint{{Key: "a", Effect: "Sometimes"}}); err == nil {
		t.Error("an unknown effect is accepted")
	}
}

func TestAllocatable(t *testing.T) {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	got := kubelet.Allocatable(capacity, map[string]string{"memory.available": "1Gi", "nodefs.available": "10%"},
		map[string]string{"cpu": "100m", "memory": "512Mi"}, map[string]string{"cpu": "3", "memory": "512Mi", "pid": "100"})
	for name, want := range map[corev1.ResourceName]string{corev1.ResourceCPU: "0", corev1.ResourceMemory: "2Gi", corev1.ResourceEphemeralStorage: "90Gi"} {
		if have := got[name]; have.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("%s is %s, want %s", name, have.String(), want)
		}
	}
	if have := capacity[corev1.ResourceMemory]; have.String() != "4Gi" {
		t.Error("the capacity is changed")
	}
}
