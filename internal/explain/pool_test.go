package explain

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// hours is a budget for some hours of every day.
func hours(nodes, schedule string, d time.Duration, reasons ...v1.DisruptionReason) v1.Budget {
	return v1.Budget{Nodes: nodes, Reasons: reasons, Schedule: &schedule, Duration: &metav1.Duration{Duration: d}}
}

func TestNodePool(t *testing.T) {
	const head = "NodePool web has 2 nodes, $0.2172/h\n  Nodes can be launched from it\n"
	const used = "  cpu: 8 used, no limit\n  memory: 16Gi used, no limit\n  nodes: 2 used, no limit\n  pods: 40 used, no limit\n"
	limits := change("web", func(p *v1.NodePool) {
		p.Spec.Limits = v1.Limits{"cpu": resource.MustParse("10"), "gpu": resource.MustParse("1")}
	})
	for _, c := range []struct {
		name, pool string
		changes    changes
		want       string
	}{
		{"as it is", "web", nil, head + used + `  Budget of 1: 1 at a time
  1 node not disrupted: node is nominated for a pending pod (node-1)
    what would help: Wait until the pod has started or the nomination has ended.
  Empty: 1 could be removed, 1 now (1 allowed at a time, 0 disrupting)
  Drifted: 0 could be removed, 0 now (1 allowed at a time, 0 disrupting)
    1 node no: node has not drifted (node-2)
      what would help: Nothing: the node is as it should be.
  Underutilized: 0 could be removed, 0 now (1 allowed at a time, 0 disrupting)
    1 node no: node is empty (node-2)
      what would help: Nothing: the node is removed as empty.
`},
		{
			"budgets and limits", "web", changes{quiet, limits, drifted("web-1"), drifted("web-2"), budgets(
				v1.Budget{Nodes: "50%"}, hours("0", "0 8 * * mon-fri", 10*time.Hour, v1.DisruptionReasonDrifted), hours("0", "0 20 * * *", time.Hour),
			)}, head + `  cpu: 8 used, limit 10
  gpu: 0 used, limit 1
  memory: 16Gi used, no limit
  nodes: 2 used, no limit
  pods: 40 used, no limit
  Budget of 50%: 1 at a time
  Budget of 0 for Drifted: 0 at a time, until 2026-01-02T18:00:00Z
  Budget of 0 is not in force before 2026-01-02T20:00:00Z
  Empty: 1 could be removed, 1 now (1 allowed at a time, 0 disrupting)
    1 node no: pods on the node would have to move (node-1)
      what would help: Nothing: the node is in use.
  Drifted: 1 could be removed, 0 now (0 allowed at a time, 0 disrupting)
    1 node blocked: pdb prevents pod evictions (PodDisruptionBudget=[shop/front]) (node-1)
      what would help: Lower minAvailable of PodDisruptionBudget shop/front, or run more than its 1 pod: with these, it never allows a disruption.
  Underutilized: 0 could be removed, 0 now (1 allowed at a time, 0 disrupting)
    1 node blocked: pdb prevents pod evictions (PodDisruptionBudget=[shop/front]) (node-1)
      what would help: Lower minAvailable of PodDisruptionBudget shop/front, or run more than its 1 pod: with these, it never allows a disruption.
    1 node no: node is empty (node-2)
      what would help: Nothing: the node is removed as empty.
`,
		},
		{
			"a node uses the budget up", "web", append(leaving("node-2", "web-2"), quiet, free), head + `  cpu: 4 used, no limit
  memory: 8Gi used, no limit
  nodes: 1 used, no limit
  pods: 20 used, no limit
  Budget of 1: 1 at a time
  Node node-2 counts against the budgets: it is being deleted
  1 node not disrupted: node is deleting or marked for deletion (node-2)
    what would help: Wait until the node is gone. If its drain does not end, remove what keeps its pods from being evicted, or let these pods end.
  Empty: 0 could be removed, 0 now (1 allowed at a time, 1 disrupting)
    1 node no: pods on the node would have to move (node-1)
      what would help: Nothing: the node is in use.
  Drifted: 0 could be removed, 0 now (1 allowed at a time, 1 disrupting)
    1 node no: node has not drifted (node-1)
      what would help: Nothing: the node is as it should be.
  Underutilized: 0 could be removed, 0 now (1 allowed at a time, 1 disrupting)
    1 node blocked: can't replace with a cheaper node (node-1)
      what would help: Let the NodePool use instance types that cost less than the node.
`,
		},
		{
			"a drain that waits", "web", append(leaving("node-1", "web-1"), quiet, full, annotatedPod("true")), head + `  cpu: 4 used, no limit
  memory: 8Gi used, no limit
  nodes: 1 used, no limit
  pods: 20 used, no limit
  Budget of 1: 1 at a time
  Node node-1 counts against the budgets: it is being deleted, and its drain waits: pod has "karpenter.sh/do-not-disrupt" annotation (Pod=shop/front-1)
  1 node not disrupted: node is deleting or marked for deletion (node-1)
    what would help: Remove the annotation karpenter.sh/do-not-disrupt from the pod, or wait until its duration has passed. The drain also continues once the pod has ended. A terminationGracePeriod of the NodePool limits the drains of nodes that it launches from then on.
  Empty: 1 could be removed, 0 now (1 allowed at a time, 1 disrupting)
  Drifted: 0 could be removed, 0 now (1 allowed at a time, 1 disrupting)
    1 node no: node has not drifted (node-2)
      what would help: Nothing: the node is as it should be.
  Underutilized: 0 could be removed, 0 now (1 allowed at a time, 1 disrupting)
    1 node no: node is empty (node-2)
      what would help: Nothing: the node is removed as empty.
`,
		},
		{"several nodes alike", "web", changes{quiet, func(objects []client.Object) {
			for _, node := range []string{"node-1", "node-2"} {
				change(node, func(n *corev1.Node) { n.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"} })(objects)
			}
		}}, head + used + `  Budget of 1: 1 at a time
  2 nodes not disrupted: NodeProtected (node-1, node-2)
    what would help: Remove the annotation karpenter.sh/do-not-disrupt from the node.
  Empty: 0 could be removed, 0 now (1 allowed at a time, 0 disrupting)
  Drifted: 0 could be removed, 0 now (1 allowed at a time, 0 disrupting)
  Underutilized: 0 could be removed, 0 now (1 allowed at a time, 0 disrupting)
`},
		{"the limits are used up", "batch", changes{change("batch", func(p *v1.NodePool) {
			p.Spec.Limits = v1.Limits{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("100Gi")}
		})}, `NodePool batch has 0 nodes, $0.0000/h
  No nodes are launched from it for pods: all available instance types exceed limits for nodepool (NodePool=batch), cpu: limit 500m, used or planned 0
    what would help: Raise the pool's limits or free capacity in it.
  cpu: 0 used, limit 500m
  memory: 0 used, limit 100Gi
  Budget of 0 for Drifted: 0 at a time
`},
		{"as many nodes as allowed", "web", changes{quiet, change("web", func(p *v1.NodePool) {
			p.Spec.Limits = v1.Limits{"nodes": resource.MustParse("2")}
			p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "0"}}
		})}, `NodePool web has 2 nodes, $0.2172/h
  No nodes are launched from it for pods: node limits have been exhausted for nodepool (NodePool=web), nodes: limit 2, used or planned 2
    what would help: Raise limits.nodes of the pool or remove a node.
  cpu: 8 used, no limit
  memory: 16Gi used, no limit
  nodes: 2 used, limit 2
  pods: 40 used, no limit
  Budget of 0: 0 at a time
  Empty: 1 could be removed, 0 now (0 allowed at a time, 0 disrupting)
    1 node no: pods on the node would have to move (node-1)
      what would help: Nothing: the node is in use.
  Drifted: 0 could be removed, 0 now (0 allowed at a time, 0 disrupting)
    2 nodes no: NotDrifted (node-1, node-2)
      what would help: Nothing: the node is as it should be.
  Underutilized: 0 could be removed, 0 now (0 allowed at a time, 0 disrupting)
    1 node blocked: pdb prevents pod evictions (PodDisruptionBudget=[shop/front]) (node-1)
      what would help: Lower minAvailable of PodDisruptionBudget shop/front, or run more than its 1 pod: with these, it never allows a disruption.
    1 node no: node is empty (node-2)
      what would help: Nothing: the node is removed as empty.
`},
		{"not ready", "lost", nil, `NodePool lost has 0 nodes, $0.0000/h
  No nodes are launched from it for pods: it is not ready: KWOKNodeClass "nowhere" does not exist
  Budget of 10%: 0 at a time
`},
		{"a budget that cannot be read", "batch", changes{change("batch", func(p *v1.NodePool) {
			p.Spec.Disruption.Budgets = []v1.Budget{hours("1", "often", time.Hour)}
		})}, `NodePool batch has 0 nodes, $0.0000/h
  Nodes can be launched from it
  Budget of 1 cannot be read: schedule "often": want five cron fields or a descriptor such as @daily: expected exactly 5 fields, found 1: [often]
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := AboutNodePool(context.Background(), shop(t, c.changes...), c.pool)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestStaticNodePool: nothing says more than this answer that a controller ignores spec.replicas.
func TestStaticNodePool(t *testing.T) {
	ignored := metav1.Condition{
		Type: v1.ConditionTypeReplicasKept, Status: metav1.ConditionFalse, Reason: "StaticCapacityDisabled",
		Message: "spec.replicas is set, and the feature gate StaticCapacity is off: no nodes are launched or removed to keep that number",
	}
	limited := metav1.Condition{
		Type: v1.ConditionTypeReplicasKept, Status: metav1.ConditionFalse, Reason: "NodeLimitBelowReplicas",
		Message: "spec.replicas is 3, and spec.limits.nodes is 2: no nodes are launched beyond 2; raise limits.nodes to 3 or more, or lower replicas",
	}
	for name, c := range map[string]struct {
		gateOff    bool
		conditions []metav1.Condition
		want       string
	}{
		"feature gate on": {false, nil, `NodePool batch has 0 nodes of 3 replicas, $0.0000/h
  No nodes are launched from it for pods: it is static: its number of nodes is spec.replicas
  Missing replicas: 3; nodes for them are launched while the NodePool is ready and limits.nodes allows it
  Budget of 0 for Drifted: 0 at a time
`},
		"its condition says that limits.nodes is below replicas": {false, []metav1.Condition{limited}, `NodePool batch has 0 nodes of 3 replicas, $0.0000/h
  No nodes are launched from it for pods: it is static: its number of nodes is spec.replicas
  Missing replicas: 3; nodes for them are launched while the NodePool is ready and limits.nodes allows it
  Budget of 0 for Drifted: 0 at a time
`},
		"its condition says that the feature gate is off": {false, []metav1.Condition{ignored}, `NodePool batch has 0 nodes of 3 replicas, $0.0000/h
  No nodes are launched from it for pods: it is static, and its condition ReplicasKept is False: spec.replicas is set, and the feature gate StaticCapacity is off: no nodes are launched or removed to keep that number
    what would help: Turn the feature gate StaticCapacity of the controller on.
  Budget of 0 for Drifted: 0 at a time
`},
		"feature gate off": {true, nil, `NodePool batch has 0 nodes of 3 replicas, $0.0000/h
  No nodes are launched from it for pods: it is static, and the feature gate StaticCapacity is off: its nodes are not kept at spec.replicas
    what would help: Turn the feature gate StaticCapacity of the controller on.
  Budget of 0 for Drifted: 0 at a time
`},
	} {
		t.Run(name, func(t *testing.T) {
			q := shop(t, change("batch", func(p *v1.NodePool) { p.Spec.Replicas, p.Status.Conditions = new(int64(3)), c.conditions }))
			q.Options.IgnoreReplicas = c.gateOff
			got, err := AboutNodePool(context.Background(), q, "batch")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNoSuchNodePool(t *testing.T) {
	if _, err := AboutNodePool(context.Background(), shop(t), "node-1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want that there is no such pool", err)
	}
}
