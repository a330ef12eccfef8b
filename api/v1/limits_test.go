package v1_test

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func TestLimitsExceeded(t *testing.T) {
	amounts := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	limits := v1.Limits(amounts("8", "16Gi"))
	for _, tc := range []struct {
		name string
		used corev1.ResourceList
		want corev1.ResourceName
	}{
		{"nothing is used", nil, ""},
		{"all is used", amounts("8", "16Gi"), ""},
		{"more memory", amounts("1", "17Gi"), corev1.ResourceMemory},
		{"more of both", amounts("9", "17Gi"), corev1.ResourceCPU},
		{"what has no limit", corev1.ResourceList{corev1.ResourcePods: resource.MustParse("100")}, ""},
	} {
		if got := limits.Exceeded(tc.used); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestNodesOfLimits(t *testing.T) {
	for text, want := range map[string]int64{"7": 7, "0": 0, "-1": 0, "10E": math.MaxInt64, "1e30": math.MaxInt64} {
		got, limited := v1.Limits{v1.ResourceNodes: resource.MustParse(text)}.Nodes()
		if got != want || !limited {
			t.Errorf("nodes %s: got %d, %t, want %d", text, got, limited, want)
		}
	}
	if _, limited := (v1.Limits{}).Nodes(); limited {
		t.Error("no limit counts as one")
	}
}
