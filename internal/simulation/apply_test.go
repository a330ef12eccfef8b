package simulation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// held are the objects of a cluster with a Deployment of two pods, a StatefulSet of one, and a pod that the scheduler has not seen yet.
const held = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 7
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, uid: web-uid}
spec: {replicas: 2, template: {spec: {containers: []}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-7d, uid: web-7d-uid, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: web-uid, controller: true}]}
spec: {replicas: 2, template: {spec: {containers: []}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-7d-a, labels: {pod-template-hash: 7d}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-7d, uid: web-7d-uid, controller: true}]}
spec: {nodeName: box, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: web-7d-b, labels: {pod-template-hash: 7d}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-7d, uid: web-7d-uid, controller: true}]}
spec: {nodeName: box, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: web-7d-over, labels: {pod-template-hash: 7d}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-7d, uid: web-7d-uid, controller: true}]}
spec: {nodeName: box, containers: []}
status: {phase: Failed}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db-uid, controller: true}]}
spec: {nodeName: box, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: fresh}
spec: {containers: []}
---
apiVersion: v1
kind: Node
metadata: {name: box, labels: {from: cluster}}
`

func TestApply(t *testing.T) {
	const template = "template: {spec: {priorityClassName: high, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}"
	pods := []string{"db-0", "fresh", "web-7d-a", "web-7d-b", "web-7d-over"}
	for _, c := range []struct {
		name, manifests string
		want            []string // pods besides those of the cluster
	}{
		{"nothing", "", nil},
		{"a pod", "apiVersion: v1\nkind: Pod\nmetadata: {name: more}\nspec: {containers: []}\n", []string{"more"}},
		{"a workload that is not there", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: api}\nspec: {replicas: 2, " + template + "}", []string{"api-1", "api-2"}},
		{"more of one that is there", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5, " + template + "}", []string{"web-3", "web-4", "web-5"}},
		{"as many", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, " + template + "}", nil},
		{"fewer", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 0, " + template + "}", nil},
		{"of that name elsewhere", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: other}\nspec: {replicas: 1, " + template + "}", []string{"web-1"}},
		{"an ordered one", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {replicas: 2, " + template + "}", []string{"db-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, o := range simulation.Apply(read(t, held), read(t, c.manifests)) {
				if pod, ok := o.(*corev1.Pod); ok {
					got = append(got, pod.Name)
				}
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(slices.Concat(pods, c.want)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pods (-want +got)\n%s", diff)
			}
		})
	}
}

// TestApplyReplacesAndAdmits checks that manifests replace objects, that their pods are admitted by the cluster's classes, and
// pods of the cluster stay as they are.
func TestApplyReplacesAndAdmits(t *testing.T) {
	manifests := "apiVersion: v1\nkind: Node\nmetadata: {name: box, labels: {from: manifest}}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: more}\nspec: {priorityClassName: high, containers: []}\n"
	nodes := 0
	for _, o := range simulation.Apply(read(t, held), read(t, manifests)) {
		switch o := o.(type) {
		case *corev1.Node:
			if nodes++; o.Labels["from"] != "manifest" {
				t.Error("the node is still the cluster's")
			}
		case *corev1.Pod:
			if admitted := len(o.Status.Conditions) > 0; admitted != (o.Name == "more") {
				t.Errorf("pod %s was admitted: %t", o.Name, admitted)
			}
			if o.Name == "more" && (o.Spec.Priority == nil || *o.Spec.Priority != 7) {
				t.Errorf("the pod has the priority %v, want that of the cluster's class", o.Spec.Priority)
			}
		}
	}
	if nodes != 1 {
		t.Errorf("%d nodes, want the one described anew", nodes)
	}
}

// TestApplyKeepsStatuses checks that objects keep the status that they have in the cluster, unless the manifest has one.
func TestApplyKeepsStatuses(t *testing.T) {
	const budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: db}\nspec: {maxUnavailable: %s}\n"
	cluster := strings.Replace(budget, "%s", "1", 1) + "status: {disruptionsAllowed: 3, currentHealthy: 4, desiredHealthy: 1, expectedPods: 4}\n"
	for manifest, want := range map[string]int32{
		strings.Replace(budget, "%s", "2", 1): 3,
		strings.Replace(budget, "%s", "2", 1) + "status: {disruptionsAllowed: 1, currentHealthy: 4, desiredHealthy: 1, expectedPods: 4}\n": 1,
	} {
		objects := simulation.Apply(read(t, cluster), read(t, manifest))
		if len(objects) != 1 {
			t.Fatalf("%d objects", len(objects))
		}
		got, ok := objects[0].(*policyv1.PodDisruptionBudget)
		if !ok || got.Status.DisruptionsAllowed != want || got.Spec.MaxUnavailable.IntValue() != 2 {
			t.Errorf("applied is %v, want %d disruptions allowed", got, want)
		}
	}
}

func read(t *testing.T, text string) []client.Object {
	t.Helper()
	reader, err := manifest.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := reader.Read("in.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m.Objects
}
