package explain

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// fourOfFront is the cluster of the tests with four pods of the ReplicaSet front, the last of them on node-2, and with nothing pending.
func fourOfFront(t *testing.T, changes ...func([]client.Object)) Question {
	t.Helper()
	q := shop(t, quiet, free, small("front-1"))
	first, found := find[*corev1.Pod](q.Objects, "shop", "front-1")
	if !found {
		t.Fatal("there is no pod front-1")
	}
	for _, name := range []string{"front-2", "front-3", "front-4"} {
		pod := first.DeepCopy()
		pod.Name, pod.UID = name, types.UID(name)
		if name == "front-4" {
			pod.Spec.NodeName = "node-2"
		}
		q.Objects = append(q.Objects, pod)
	}
	for _, change := range changes {
		change(q.Objects)
	}
	return q
}

// protected makes a pod that must not be disrupted.
func protected(pod string) func([]client.Object) {
	return change(pod, func(p *corev1.Pod) { p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"} })
}

func TestWorkload(t *testing.T) {
	leaving, second := leaving("node-1", "web-1"), leaving("node-2", "web-2")
	locked := change("front", func(b *policyv1.PodDisruptionBudget) {
		b.Spec.MinAvailable, b.Status.DisruptionsAllowed = new(intstr.FromInt32(4)), 0
	})
	for _, c := range []struct {
		name    string
		changes []func([]client.Object)
		want    string
	}{
		{"nothing happens", nil, `ReplicaSet shop/front has 4 pods
  4 pods are on a node: front-1, front-2, front-3, front-4
    on node-1, node-2
`},
		{"a node is being deleted", leaving, `ReplicaSet shop/front has 4 pods
  3 pods are on a node: front-1, front-2, front-3
    on node-1
    The node is being deleted. For the first of the pods:
      it fits on node "node-2"
  1 pod is on a node: front-4
    on node-2
`},
		{"a node is being deleted, and pods must stay", append(leaving, graceful("web-1"), protected("front-2"), protected("front-3")), `ReplicaSet shop/front has 4 pods
  2 pods are on a node: front-2, front-3
    on node-1
    The node is being deleted, and its drain waits for the pods, at the latest until 2026-01-02T13:00:00Z: pod has "karpenter.sh/do-not-disrupt" annotation (Pod=shop/front-2)
  1 pod is on a node: front-1
    on node-1
    The node is being deleted. For the pod:
      it fits on node "node-2"
  1 pod is on a node: front-4
    on node-2
`},
		{"two nodes are being deleted", slices.Concat(leaving, second, []func([]client.Object){graceful("web-1"), locked}), `ReplicaSet shop/front has 4 pods
  4 pods are on a node: front-1, front-2, front-3, front-4
    on node-1, node-2
    Their nodes are being deleted, and the drains wait for the pods, at the latest until 2026-01-02T13:00:00Z for the first: pdb prevents pod evictions (PodDisruptionBudget=[shop/front])
    For the first of the pods:
      a node would be launched: c-2x-amd64-linux from NodePool web, on-demand in test-zone-{a,b,c,d}, $0.0543/h
        for 4 shop/front
        requests cpu 1200m; 8 other instance types fit
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := AboutWorkload(t.Context(), fourOfFront(t, c.changes...), "ReplicaSet", "shop", "front")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestDaemonSet: pods of a DaemonSet launch no nodes, and the answer says whether new nodes have capacity for them.
func TestDaemonSet(t *testing.T) {
	for name, c := range map[string]struct{ cpu, want string }{
		"fits new nodes": {"1", `DaemonSet shop/agent has 1 pod
  1 pod is on no node: agent-1
    Karpenter ignores it: it belongs to a DaemonSet, whose pods do not launch nodes; new nodes are launched with capacity for those that would run there
`},
		"too large": {"100", `DaemonSet shop/agent has 1 pod
  1 pod is on no node: agent-1
    Karpenter ignores it: it belongs to a DaemonSet, whose pods do not launch nodes; no instance type of NodePool web has capacity for it beside those of other DaemonSets, so that new nodes are launched without capacity for it
`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.cpu)},
			}}}}
			set := &appsv1.DaemonSet{
				TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "agent", UID: "agent"},
				Spec:       appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: spec}},
			}
			q := shop(t)
			q.Objects = append(q.Objects, set, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: "agent-1", UID: "agent-1",
					OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "agent", Controller: new(true)}},
				},
				Spec: spec, Status: corev1.PodStatus{Phase: corev1.PodPending},
			})
			got, err := AboutWorkload(t.Context(), q, "DaemonSet", "shop", "agent")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
