package explain

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// leaving marks a node and its claim as being deleted.
func leaving(node, claim string) []func([]client.Object) {
	at := metav1.NewTime(noon())
	return []func([]client.Object){
		change(node, func(n *corev1.Node) { n.DeletionTimestamp = &at }),
		change(claim, func(c *v1.NodeClaim) { c.DeletionTimestamp = &at }),
	}
}

// graceful gives a NodeClaim a terminationGracePeriod.
func graceful(claim string) func([]client.Object) {
	return change(claim, func(c *v1.NodeClaim) { c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour} })
}

func TestPod(t *testing.T) {
	for _, c := range []struct {
		name, namespace, pod string
		changes              []func([]client.Object)
		state                State
		want                 string
	}{
		{"on a node", "shop", "front-1", nil, Bound, `Pod shop/front-1 is on node "node-1" (NodeClaim "web-1", NodePool "web")
`},
		{"capacity on a node", "shop", "small", nil, Nominated, `Pod shop/small is pending and fits a node
  it fits on node "node-1"
  it waits: kube-scheduler has marked it as Unschedulable, and retries when nodes or pods change
`},
		{"capacity on a node, and another scheduler", "shop", "small", changes{change("small", func(p *corev1.Pod) { p.Spec.SchedulerName = "my-scheduler" })}, Nominated, `Pod shop/small is pending and fits a node
  it fits on node "node-1"
  it waits: scheduler "my-scheduler" has marked it as Unschedulable, and retries when nodes or pods change
`},
		{"capacity on a node that is not ready", "shop", "small", append(leaving("node-1", "web-1"), func(objects []client.Object) {
			change("web-2", func(c *v1.NodeClaim) {
				c.Status.NodeName, c.Status.ProviderID, c.Status.Conditions = "", "kwok://to-come", c.Status.Conditions[:1]
			})(objects)
			change("node-2", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "full", Effect: corev1.TaintEffectNoSchedule}}
			})(objects)
		}), Nominated, `Pod shop/small is pending and fits a node
  it fits on NodeClaim "web-2", whose node has not registered
`},
		{"a node to launch", "shop", "medium", nil, Pending, `Pod shop/medium is pending
  a node would be launched: c-8x-amd64-linux from NodePool web, on-demand in test-zone-{a,b,c,d}, $0.2172/h
    for shop/medium
    requests cpu 6; 2 other instance types fit
`},
		{"no capacity on any node", "shop", "huge", nil, Refused, `Pod shop/huge is pending and unschedulable
  it fits no node:
    web: no instance type which had enough resources and the required offering met the scheduling requirements
      cpu: 64 requested, at most 7900m available for pods; the pod would fit without karpenter.kwok.sh/instance-cpu Exists <=8
      asked for: cpu 64
      what would help: Lower the pod's requests, relax its requirements, or allow more in the pool.
    lost: not used: it is not ready: KWOKNodeClass "nowhere" does not exist
      what would help: Look at the conditions of the NodePool and of its node class, or let the pod use another NodePool.
    batch: did not tolerate taint (taint=team=batch:NoSchedule)
      what would help: Add the toleration to the pod, or create a pool without the taint.
`},
		{"what cannot be placed", "default", "odd", changes{change("odd", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"karpenter.sh/x": "y"} })}, Refused, `Pod default/odd is pending and unschedulable
  it cannot be scheduled: key "karpenter.sh/x": the label domain "karpenter.sh" is restricted, only its well-known labels can be used
`},
		{"only on a node that is named", "default", "odd", nil, Refused, `Pod default/odd is pending and unschedulable
  it fits no node:
    no node is launched for a pod that requires an existing node by its name (metadata.name In [x])
      what would help: Free capacity on the node that the pod names, or add a term to its node affinity that other nodes can meet.
`},
		{"held back", "default", "gated", nil, Idle, `Pod default/gated is on no node
  Karpenter ignores it: scheduling gate a/b holds it back
`},
		{"finished", "default", "done", nil, Finished, "Pod default/done has finished\n"},
		{"on a node that goes", "shop", "front-1", append(leaving("node-1", "web-1"), quiet), Bound, `Pod shop/front-1 is on node "node-1" (NodeClaim "web-1", NodePool "web")
  The node is being deleted, and its drain waits for the pod: pdb prevents pod evictions (PodDisruptionBudget=[shop/front])
  For the pod:
    it fits on node "node-2"
`},
		{"on a node that goes, protected", "shop", "front-1", append(leaving("node-1", "web-1"), quiet, graceful("web-1"), annotatedPod("true")), Bound, `Pod shop/front-1 is on node "node-1" (NodeClaim "web-1", NodePool "web")
  The node is being deleted, and its drain waits for the pod, at the latest until 2026-01-02T13:00:00Z: pod has "karpenter.sh/do-not-disrupt" annotation (Pod=shop/front-1)
`},
		{"on a node that goes, of a DaemonSet", "shop", "front-1", append(leaving("node-1", "web-1"), quiet, free, change("front-1", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "front", Controller: new(true)}}
		})), Bound, `Pod shop/front-1 is on node "node-1" (NodeClaim "web-1", NodePool "web")
  The node is being deleted
`},
		{
			"on a node that goes, with nowhere to go", "shop", "front-1",
			append(leaving("node-1", "web-1"), change("front-1", func(p *corev1.Pod) {
				p.Labels = nil
				p.Spec.NodeSelector = map[string]string{"team": "none"}
			})),
			Bound, `Pod shop/front-1 is on node "node-1" (NodeClaim "web-1", NodePool "web")
  The node is being deleted. For the pod:
    it fits no node:
      web: incompatible requirements, label "team" does not have known values
        what would help: Add the label to the pool's template or requirements, or correct the pod's selector.
      batch: did not tolerate taint (taint=team=batch:NoSchedule)
        what would help: Add the toleration to the pod, or create a pool without the taint.
      lost: not used: it is not ready: KWOKNodeClass "nowhere" does not exist
`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := AboutPod(context.Background(), shop(t, c.changes...), c.namespace, c.pod)
			if err != nil {
				t.Fatal(err)
			}
			if got.State != c.state {
				t.Errorf("state %s, want %s", got.State, c.state)
			}
			if diff := cmp.Diff(c.want, got.Text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNoSuchPod(t *testing.T) {
	if _, err := AboutPod(context.Background(), shop(t), "default", "small"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want that there is no such pod", err)
	}
}
