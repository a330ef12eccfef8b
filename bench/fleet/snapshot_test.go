package fleet

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/bench/upstream"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

const nodes, podsPerNode = 5000, 30

func node(i int) *corev1.Node {
	name := fmt.Sprintf("node-%04d", i)
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("128Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3), corev1.LabelArchStable: "amd64",
			corev1.LabelOSStable: "linux", corev1.LabelInstanceTypeStable: "m.8xlarge", v1.CapacityTypeLabelKey: v1.CapacityTypeSpot,
		}},
		Spec:   corev1.NodeSpec{ProviderID: "fleet://" + name},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
}

func pod(i, k int) *corev1.Pod {
	name := fmt.Sprintf("pod-%04d-%02d", i, k)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": fmt.Sprintf("app-%d", k)}},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%04d", i), Containers: []corev1.Container{{
			Name: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1Gi"),
			}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// BenchmarkSnapshot is one snapshot of 5 000 nodes with 150 000 pods after one pod has changed.
func BenchmarkSnapshot(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		store := cluster.NewStore(cloud.Cloud{}.WithDefaults(), translate.New(v1.CoreLabelRules()))
		for i := range nodes {
			store.UpdateNode(node(i))
			for k := range podsPerNode {
				store.UpdatePod(pod(i, k))
			}
		}
		store.Snapshot()
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i = (i + 1) % nodes
			store.UpdatePod(pod(i, 0))
			if store.Snapshot().Nodes.Len() != nodes {
				b.Fatal("nodes are missing")
			}
		}
	})
	b.Run("upstream", func(b *testing.B) {
		ctx := context.Background()
		fleet := upstream.NewFleet()
		for i := range nodes {
			if err := fleet.UpdateNode(ctx, node(i)); err != nil {
				b.Fatal(err)
			}
			for k := range podsPerNode {
				if err := fleet.UpdatePod(ctx, pod(i, k)); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i = (i + 1) % nodes
			if err := fleet.UpdatePod(ctx, pod(i, 0)); err != nil {
				b.Fatal(err)
			}
			if fleet.Snapshot() != nodes {
				b.Fatal("nodes are missing")
			}
		}
	})
}
