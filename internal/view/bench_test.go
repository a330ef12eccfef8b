package view_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/internal/view"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

const benchNodes, podsPerNode = 5000, 20

const benchPool = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
status: {conditions: [{type: Ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  disruption: {consolidateAfter: 0s, budgets: [{nodes: "10%"}]}
  template: {spec: {nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}, requirements: []}}
`

// large is a cluster of 5 000 nodes with 100 000 pods.
func large(b *testing.B) *fixed {
	b.Helper()
	vendor, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		b.Fatal(err)
	}
	m, err := scenariorun.Reader(b).Read("pool", strings.NewReader(benchPool))
	if err != nil {
		b.Fatal(err)
	}
	objects := m.Objects
	for i := range benchNodes {
		objects = append(objects, node(i)...)
		for k := range podsPerNode {
			objects = append(objects, pod(i, k))
		}
	}
	return &fixed{state: view.ClusterState{Objects: objects, Version: 1, Cloud: vendor, Options: simulation.Options{Now: noon()}}}
}

func node(i int) []client.Object {
	name := fmt.Sprintf("node-%04d", i)
	labels := map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: "test-zone-a", corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		corev1.LabelInstanceTypeStable: "c-16x-amd64-linux", v1.CapacityTypeLabelKey: v1.CapacityTypeOnDemand, v1.NodePoolLabelKey: "web",
		v1.NodeInitializedLabelKey: "true", v1.NodeRegisteredLabelKey: "true",
	}
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("32Gi"), corev1.ResourcePods: resource.MustParse("110")}
	created := metav1.NewTime(noon().Add(-24 * time.Hour))
	claim := &v1.NodeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: "claim-" + name, UID: types.UID("claim-" + name), Labels: labels, CreationTimestamp: created},
		Spec:       v1.NodeClaimSpec{NodeClassRef: &v1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"}},
		Status:     v1.NodeClaimStatus{NodeName: name, ProviderID: "kwok://" + name, Capacity: amounts, Allocatable: amounts},
	}
	for _, c := range []string{v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized, v1.ConditionTypeConsolidatable} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue, LastTransitionTime: created})
	}
	return []client.Object{claim, &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels, CreationTimestamp: created},
		Spec:       corev1.NodeSpec{ProviderID: "kwok://" + name},
		Status: corev1.NodeStatus{Capacity: amounts, Allocatable: amounts, Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: created},
		}},
	}}
}

func pod(i, k int) *corev1.Pod {
	name, always := fmt.Sprintf("pod-%04d-%02d", i, k), true
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": fmt.Sprintf("app-%d", (i+k)%200)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("app-%d", (i+k)%200), UID: "u", Controller: &always}},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%04d", i), Containers: []corev1.Container{{
			Name: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewMilliQuantity(int64(100*(1+(i+k)%7)), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("1Gi"),
			}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// BenchmarkViews computes each view of 5 000 nodes and 100 000 pods for a state that was not seen before. Fleet does not wait for the engine longer
// than its patience; the others do.
func BenchmarkViews(b *testing.B) {
	cluster := large(b)
	for _, each := range []struct {
		name string
		ask  func(context.Context, *view.Views) error
	}{
		{"fleet", func(ctx context.Context, v *view.Views) error { _, err := v.Fleet(ctx, time.Time{}); return err }},
		{"node", func(ctx context.Context, v *view.Views) error {
			_, err := v.Node(ctx, "node-0042", time.Time{})
			return err
		}},
		{"pending", func(ctx context.Context, v *view.Views) error { _, err := v.Pending(ctx, time.Time{}); return err }},
		{"moves", func(ctx context.Context, v *view.Views) error { _, err := v.Moves(ctx, time.Time{}); return err }},
		{"cost", func(ctx context.Context, v *view.Views) error { _, err := v.Cost(ctx, time.Time{}); return err }},
		{"pools", func(ctx context.Context, v *view.Views) error { _, err := v.Pools(ctx, time.Time{}); return err }},
	} {
		b.Run(each.name, func(b *testing.B) {
			for b.Loop() {
				v := view.New(cluster, nil, clock.RealClock{})
				if err := each.ask(b.Context(), v); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if _, err := v.Pending(b.Context(), time.Time{}); err != nil { // so that no engine runs beside the next one
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
