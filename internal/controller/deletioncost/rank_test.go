package deletioncost

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// in is a node of a pool "p" or "q", which is the first letter of its name.
func in(g group, name string, ratio float64) standing {
	return standing{node: &model.Node{ID: name, Name: name, Pool: name[:1]}, ratio: ratio, group: g}
}

func TestRanking(t *testing.T) {
	t.Attr("covers", "N155 N156 N157")
	all := disrupt.Budgets{"p": 100, "q": 100}
	for _, tt := range []struct {
		name          string
		nodes         []standing
		drift, unused disrupt.Budgets
		want          string
	}{
		{"nodes that are leaving all get the lowest cost", []standing{in(leaving, "p1", 1), in(leaving, "p2", 2)}, all, all, "p2=-2147483648 p1=-2147483648"},
		{"the best savings come first", []standing{in(consolidatable, "p1", 1), in(consolidatable, "p2", 3), in(consolidatable, "p3", 2)}, all, all, "p2=-3 p3=-2 p1=-1"},
		{"equal savings are ordered by name", []standing{in(consolidatable, "p2", 1), in(consolidatable, "p1", 1)}, all, all, "p1=-2 p2=-1"},
		{"drifted nodes come before others", []standing{in(consolidatable, "p1", 9), in(drifted, "p2", 1), in(staying, "p3", 5)}, all, all, "p2=-2 p1=-1 p3="},
		{"leaving nodes do not count in the list", []standing{in(leaving, "p1", 9), in(drifted, "p2", 1)}, all, all, "p1=-2147483648 p2=-1"},
		{
			"a budget keeps the best of its pool, the others stay",
			[]standing{in(consolidatable, "p1", 1), in(consolidatable, "p2", 2), in(consolidatable, "q1", 1.5), in(drifted, "p3", 1), in(drifted, "q2", 2)},
			disrupt.Budgets{"p": 1},
			disrupt.Budgets{"p": 1, "q": 1},
			"p3=-3 p2=-2 q1=-1 q2= p1=",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range rankNodes(tt.nodes, copyOf(tt.drift), copyOf(tt.unused)) {
				got = append(got, r.node.Name+"="+r.cost)
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
		})
	}
}

func copyOf(b disrupt.Budgets) disrupt.Budgets {
	out := disrupt.Budgets{}
	for pool, n := range b {
		out[pool] = n
	}
	return out
}

func TestPinningPods(t *testing.T) {
	t.Attr("covers", "N155 N158")
	owner := func(apiVersion, kind string, controls bool) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "o", Controller: &controls}}
	}
	for name, tt := range map[string]struct {
		namespace     string
		owners        []metav1.OwnerReference
		phase         corev1.PodPhase
		pins, written bool
	}{
		"of a ReplicaSet":                     {owners: owner("apps/v1", "ReplicaSet", true), written: true},
		"of a Job":                            {owners: owner("batch/v1", "Job", true)},
		"of a DaemonSet":                      {owners: owner("apps/v1", "DaemonSet", true)},
		"of a StatefulSet":                    {owners: owner("apps/v1", "StatefulSet", true), pins: true},
		"of another kind":                     {owners: owner("example.com/v1", "Rollout", true), pins: true},
		"of a ReplicaSet of another group":    {owners: owner("example.com/v1", "ReplicaSet", true)},
		"a ReplicaSet that does not control":  {owners: owner("apps/v1", "ReplicaSet", false), pins: true},
		"without an owner":                    {pins: true},
		"of the system":                       {namespace: "kube-system"},
		"without an owner that has succeeded": {phase: corev1.PodSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: tt.namespace, OwnerReferences: tt.owners}, Status: corev1.PodStatus{Phase: tt.phase}}
			if pins(pod) != tt.pins || written(pod) != tt.written {
				t.Errorf("pins: %v, written: %v", pins(pod), written(pod))
			}
		})
	}
}

// BenchmarkRanking ranks 100 000 nodes, without reading them.
func BenchmarkRanking(b *testing.B) {
	nodes := make([]standing, 100_000)
	for i := range nodes {
		nodes[i] = in(group(i%4), fmt.Sprintf("p%06d", i*7919%len(nodes)), float64(i%97))
	}
	for b.Loop() {
		rankNodes(nodes, disrupt.Budgets{"p": 20_000}, disrupt.Budgets{"p": 20_000})
	}
}
