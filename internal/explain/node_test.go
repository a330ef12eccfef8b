package explain

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// quiet completes the pending pods.
func quiet(objects []client.Object) {
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName == "" {
			pod.Status.Phase = corev1.PodSucceeded
		}
	}
}

// free makes the pod disruption budget allow one disruption.
func free(objects []client.Object) {
	change("front", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 })(objects)
}

// full taints node-2, so that no pod is placed there.
func full(objects []client.Object) {
	change("node-2", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "full", Effect: corev1.TaintEffectNoSchedule}}
	})(objects)
}

// budgets replaces the budgets of NodePool web.
func budgets(list ...v1.Budget) func([]client.Object) {
	return change("web", func(p *v1.NodePool) { p.Spec.Disruption.Budgets = list })
}

// recent makes node-2 one whose pods have just changed.
func recent(objects []client.Object) {
	change("web-2", func(c *v1.NodeClaim) { c.Status.LastPodEventTime = metav1.NewTime(noon()) })(objects)
}

// soon makes the node of a NodeClaim one that is not consolidatable yet, because its pods have just changed.
func soon(claim string) func([]client.Object) {
	return change(claim, func(c *v1.NodeClaim) {
		c.Status.Conditions = c.Status.Conditions[:3]
		c.Status.LastPodEventTime = metav1.NewTime(noon())
	})
}

func drifted(claim string) func([]client.Object) {
	return change(claim, func(c *v1.NodeClaim) {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: v1.ConditionTypeDrifted, Status: metav1.ConditionTrue, Reason: "NodePoolDrifted", LastTransitionTime: metav1.NewTime(noon()),
		})
	})
}

func annotatedPod(value string) func([]client.Object) {
	started := metav1.NewTime(noon())
	return change("front-1", func(p *corev1.Pod) {
		p.Annotations, p.Status.StartTime = map[string]string{v1.DoNotDisruptAnnotationKey: value}, &started
	})
}

// small gives a pod small requests.
func small(pod string) func([]client.Object) {
	return change(pod, func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("300m")}
	})
}

// static gives NodePool web two replicas, and no more than two nodes.
func static(objects []client.Object) {
	change("web", func(p *v1.NodePool) {
		two := int64(2)
		p.Spec.Replicas, p.Spec.Limits = &two, v1.Limits{"nodes": resource.MustParse("2")}
	})(objects)
}

// fixed is the verdict on a node of a static pool.
func fixed(reason string) string {
	return "  " + reason + ": no: NodePool \"web\" is static\n    what would help: Change the replicas of the NodePool.\n"
}

type changes = []func([]client.Object)

func TestNode(t *testing.T) {
	const front = "Node node-1 (NodeClaim \"web-1\", NodePool \"web\") costs $0.1086/h, has 1 pod to move\n"
	const spare = "Node node-2 (NodeClaim \"web-2\", NodePool \"web\") costs $0.1086/h, has 0 pods to move\n"
	const gone = "Node node-2 (NodeClaim \"web-2\", NodePool \"web\") costs $0.1086/h, has 0 pods to move\n" +
		"  Being deleted since 2026-01-02T12:00:00Z: without a terminationGracePeriod, it stays until its pods are gone\n" +
		"  not disrupted: node is deleting or marked for deletion\n    what would help: Wait until the node is gone. If its drain does not end, remove what keeps its pods from being evicted, or let these pods end.\n"
	const used = "  Empty: no: pods on the node would have to move\n    what would help: Nothing: the node is in use.\n"
	const current = "  Drifted: no: node has not drifted\n    what would help: Nothing: the node is as it should be.\n"
	const empty = "  Underutilized: no: node is empty\n    what would help: Nothing: the node is removed as empty.\n"
	for _, c := range []struct {
		name, node string
		changes    changes
		want       string
	}{
		{"empty", "node-2", changes{quiet}, spare + "  Empty: would be deleted, saving $0.1086/h, now\n" + current + empty},
		{"empty, without a budget", "node-2", changes{quiet, budgets(v1.Budget{Nodes: "0"})}, spare +
			"  Empty: would be deleted, saving $0.1086/h, once budgets allow it\n" +
			"    blocked: budgets of NodePool \"web\" allow no further disruption\n" +
			"    0 allowed at a time, 0 disrupting; the tightest budget is 0: 0 at a time\n" +
			"    what would help: Loosen the budgets of the NodePool.\n" + current + empty},
		{"empty, outside of the window", "node-2", changes{quiet, budgets(
			v1.Budget{Nodes: "1"},
			v1.Budget{Nodes: "0", Reasons: []v1.DisruptionReason{v1.DisruptionReasonDrifted}},
			v1.Budget{Nodes: "0", Schedule: new("0 9 * * *"), Duration: &metav1.Duration{Duration: 8 * time.Hour}},
		)}, spare +
			"  Empty: would be deleted, saving $0.1086/h, once budgets allow it\n" +
			"    blocked: budgets of NodePool \"web\" allow no further disruption\n" +
			"    0 allowed at a time, 0 disrupting; the tightest budget is 0: 0 at a time\n" +
			"    until 2026-01-02T17:00:00Z\n" +
			"    what would help: Loosen the budgets of the NodePool, or wait until they allow it.\n" + current + empty},
		{"empty, outside of windows that overlap", "node-2", changes{quiet, budgets(
			v1.Budget{Nodes: "0", Schedule: new("0 9 * * *"), Duration: &metav1.Duration{Duration: 8 * time.Hour}},
			v1.Budget{Nodes: "0", Schedule: new("0 16 * * *"), Duration: &metav1.Duration{Duration: 10 * time.Hour}},
		)}, spare +
			"  Empty: would be deleted, saving $0.1086/h, once budgets allow it\n" +
			"    blocked: budgets of NodePool \"web\" allow no further disruption\n" +
			"    0 allowed at a time, 0 disrupting; the tightest budget is 0: 0 at a time\n" +
			"    until 2026-01-03T02:00:00Z\n" +
			"    what would help: Loosen the budgets of the NodePool, or wait until they allow it.\n" + current + empty},
		{"empty, while another node uses the budget up", "node-2", changes{quiet, budgets(v1.Budget{Nodes: "1"}), change("node-1", func(n *corev1.Node) {
			n.Status.Conditions = nil
		})}, spare +
			"  Empty: would be deleted, saving $0.1086/h, once budgets allow it\n" +
			"    blocked: budgets of NodePool \"web\" allow no further disruption\n" +
			"    1 allowed at a time, 1 disrupting; the tightest budget is 1: 1 at a time; node-1: it is not ready\n" +
			"    what would help: Loosen the budgets of the NodePool, or wait until other nodes are done.\n" + current + empty},
		{"empty, while another node reboots", "node-2", changes{quiet, budgets(v1.Budget{Nodes: "1"}), change("web-1", func(c *v1.NodeClaim) {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: v1.ConditionTypeRebooting, Status: metav1.ConditionTrue})
		})}, spare +
			"  Empty: would be deleted, saving $0.1086/h, once budgets allow it\n" +
			"    blocked: budgets of NodePool \"web\" allow no further disruption\n" +
			"    1 allowed at a time, 1 disrupting; the tightest budget is 1: 1 at a time; node-1: it is rebooting\n" +
			"    what would help: Loosen the budgets of the NodePool, or wait until other nodes are done.\n" + current + empty},
		{"a pending pod is expected", "node-1", nil, front + "  not disrupted: node is nominated for a pending pod\n    expected: shop/small\n" +
			"    what would help: Wait until the pod has started or the nomination has ended.\n"},
		{"a pod of a node that goes is expected", "node-2", append(leaving("node-1", "web-1"), quiet), spare +
			"  not disrupted: node is nominated for a pod of a node that is being deleted\n    expected: shop/front-1 (from node \"node-1\", which is being deleted)\n" +
			"    what would help: Wait until the pod has started or the nomination has ended.\n"},
		{"a pod disruption budget", "node-1", changes{quiet}, front + used + current +
			"  Underutilized: blocked: pdb prevents pod evictions (PodDisruptionBudget=[shop/front])\n" +
			"    pod shop/front-1; shop/front has 1 healthy pods and wants 1 of 1: none may ever go\n" +
			"    what would help: Lower minAvailable of PodDisruptionBudget shop/front, or run more than its 1 pod: with these, it never allows a disruption.\n"},
		{"a protected pod", "node-1", changes{quiet, free, annotatedPod("1h")}, front + used + current +
			"  Underutilized: blocked: pod has \"karpenter.sh/do-not-disrupt\" annotation (Pod=shop/front-1)\n    until 2026-01-02T13:00:00Z\n" +
			"    what would help: Remove the annotation karpenter.sh/do-not-disrupt from the pod, or wait until its duration has passed.\n"},
		{"nothing is cheaper", "node-1", changes{quiet, free, full}, front + used + current +
			"  Underutilized: blocked: can't replace with a cheaper node\n" +
			"    it costs $0.1086/h, what could replace it at least $0.1086/h: $0.0000 too much\n" +
			"    what would help: Let the NodePool use instance types that cost less than the node.\n"},
		{"a pod without a controller", "node-1", changes{quiet, free, full, change("front-1", func(p *corev1.Pod) { p.OwnerReferences = nil })}, front +
			"  Without a controller, and lost once the node is removed: shop/front-1\n" + used + current +
			"  Underutilized: blocked: can't replace with a cheaper node\n" +
			"    it costs $0.1086/h, what could replace it at least $0.1086/h: $0.0000 too much\n" +
			"    what would help: Let the NodePool use instance types that cost less than the node.\n"},
		{
			"its NodeClaim is gone", "node-2",
			changes{quiet, change("web-2", func(c *v1.NodeClaim) { c.Status.ProviderID = "kwok://other" })},
			"Node node-2 costs $0.1086/h, has 0 pods to move\n  not disrupted: node does not have an associated nodeclaim\n" +
				"    its labels name NodePool \"web\", but no NodeClaim has its provider ID: the NodeClaim is gone\n" +
				"    what would help: Wait until the controller has terminated the instance, as it does with those of the cluster that have no NodeClaim. If it stays, drain and delete the node, and end the instance at the cloud.\n",
		},
		{"too recent", "node-2", changes{quiet, soon("web-2")}, spare + "  Empty: no: consolidateAfter has not passed since a pod came to the node or left it\n    until 2026-01-02T12:00:30Z\n" +
			"    what would help: Wait, or lower consolidateAfter of the NodePool.\n" + current + empty},
		{"too recent, and then a protected pod", "node-1", changes{quiet, annotatedPod("true"), soon("web-1")}, front + used + current +
			"  Underutilized: no: consolidateAfter has not passed since a pod came to the node or left it\n    until 2026-01-02T12:00:30Z\n" +
			"    what would help: Wait, or lower consolidateAfter of the NodePool.\n" +
			"    then blocked: pod has \"karpenter.sh/do-not-disrupt\" annotation (Pod=shop/front-1)\n" +
			"      what would help: Remove the annotation karpenter.sh/do-not-disrupt from the pod, or wait until its duration has passed.\n"},
		{"too recent, and longer than a pod is protected", "node-1", changes{quiet, free, annotatedPod("10s"), soon("web-1")}, front + used + current +
			"  Underutilized: no: consolidateAfter has not passed since a pod came to the node or left it\n    until 2026-01-02T12:00:30Z\n" +
			"    what would help: Wait, or lower consolidateAfter of the NodePool.\n"},
		{"a protected pod, and then a pod disruption budget", "node-1", changes{quiet, annotatedPod("1h")}, front + used + current +
			"  Underutilized: blocked: pod has \"karpenter.sh/do-not-disrupt\" annotation (Pod=shop/front-1)\n    until 2026-01-02T13:00:00Z\n" +
			"    what would help: Remove the annotation karpenter.sh/do-not-disrupt from the pod, or wait until its duration has passed.\n" +
			"    then blocked: pdb prevents pod evictions (PodDisruptionBudget=[shop/front])\n" +
			"      pod shop/front-1; shop/front has 1 healthy pods and wants 1 of 1: none may ever go\n" +
			"      what would help: Lower minAvailable of PodDisruptionBudget shop/front, or run more than its 1 pod: with these, it never allows a disruption.\n"},
		{"a pending pod is expected, and then an annotation", "node-1", changes{change("node-1", func(n *corev1.Node) {
			n.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
		})}, front + "  not disrupted: node is nominated for a pending pod\n    expected: shop/small\n" +
			"    what would help: Wait until the pod has started or the nomination has ended.\n" +
			"    then blocked: disruption is blocked through the \"karpenter.sh/do-not-disrupt\" annotation\n" +
			"      what would help: Remove the annotation karpenter.sh/do-not-disrupt from the node.\n"},
		{"leaving, with a protected pod", "node-1", append(leaving("node-1", "web-1"), quiet, annotatedPod("true")), front +
			"  Being deleted since 2026-01-02T12:00:00Z: without a terminationGracePeriod, it stays until its pods are gone\n" +
			"    its drain waits: pod has \"karpenter.sh/do-not-disrupt\" annotation (Pod=shop/front-1)\n" +
			"  not disrupted: node is deleting or marked for deletion\n" +
			"    what would help: Remove the annotation karpenter.sh/do-not-disrupt from the pod, or wait until its duration has passed. " +
			"The drain also continues once the pod has ended. A terminationGracePeriod of the NodePool limits the drains of nodes that it launches from then on.\n"},
		{"capacity on other nodes", "node-1", changes{quiet, free}, front + used + current + "  Underutilized: would be deleted, saving $0.1086/h, now\n"},
		{"a closed destination", "node-1", changes{quiet, free, recent}, front + used + current +
			"  Underutilized: blocked: can't replace with a cheaper node\n" +
			"    it costs $0.1086/h, what could replace it at least $0.1086/h: $0.0000 too much; its pods would fit on nodes that are within their consolidateAfter: node-2\n" +
			"    until 2026-01-02T12:00:30Z\n" +
			"    what would help: Wait until these nodes had no pod events for the consolidateAfter of their NodePool, or start the controller with --consolidate-after-scope=Source.\n"},
		{"drifted", "node-1", changes{quiet, free, full, drifted("web-1")}, front + used +
			"  Drifted (NodePoolDrifted): would be replaced by c-4x-amd64-linux, saving $0.0000/h, now\n" +
			"  Underutilized: blocked: can't replace with a cheaper node\n" +
			"    it costs $0.1086/h, what could replace it at least $0.1086/h: $0.0000 too much\n" +
			"    what would help: Let the NodePool use instance types that cost less than the node.\n"},
		{"of a type that is not known here", "node-1", changes{quiet, free, full, change("node-1", func(n *corev1.Node) {
			n.Labels[corev1.LabelInstanceTypeStable] = "antique"
		})}, "Node node-1 (NodeClaim \"web-1\", NodePool \"web\") has an unknown price, has 1 pod to move\n" + used + current +
			"  Underutilized: no: Instance Type \"antique\" not found\n" +
			"    not among the instance types known here; the controller may have been started with others\n" +
			"    what would help: Give the flags that the controller runs with, such as --catalog, or let the cloud list the instance type.\n"},
		{"together with another", "node-1", changes{free, budgets(v1.Budget{Nodes: "2"}), small("front-1"), small("small"), func(objects []client.Object) {
			change("small", func(p *corev1.Pod) { p.Spec.NodeName, p.Status = "node-2", corev1.PodStatus{Phase: corev1.PodRunning} })(objects)
			quiet(objects)
		}}, front + used + current + "  Underutilized: would be replaced by c-1x-amd64-linux together with node-2, saving $0.1900/h, now\n"},
		{"a static pool at its limit", "node-2", changes{quiet, static, drifted("web-2")}, spare + fixed("Empty") +
			"  Drifted (NodePoolDrifted): blocked: static NodePool is at its node limit and cannot stage a replacement\n" +
			"    what would help: Raise limits.nodes of the NodePool above its replicas.\n" + fixed("Underutilized")},
		{"by the name of its NodeClaim", "web-2", append(leaving("node-2", "web-2"), quiet), gone},
		{"leaving", "node-2", append(leaving("node-2", "web-2"), quiet), gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := AboutNode(context.Background(), shop(t, c.changes...), c.node)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestOpenDestinations: with the scope Source, consolidateAfter closes no node to the pods of another.
func TestOpenDestinations(t *testing.T) {
	t.Attr("covers", "N271")
	q := shop(t, quiet, free, recent)
	q.Options.OpensDestinations = true
	got, err := AboutNode(context.Background(), q, "node-1")
	if err != nil || !strings.HasSuffix(got.Text(), "  Underutilized: would be deleted, saving $0.1086/h, now\n") {
		t.Errorf("%v\n%s", err, got.Text())
	}
}

// TestNodeOfAResizedPod checks that a pod is rescheduled with the requests from its autoscaler, with which it may not fit elsewhere.
func TestNodeOfAResizedPod(t *testing.T) {
	q := shop(t, quiet, free, change("front-1", func(p *corev1.Pod) {
		p.Labels["pod-template-hash"] = "7d"
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "front-7d", Controller: new(true)}}
	}))
	before, err := AboutNode(t.Context(), q, "node-1")
	if err != nil {
		t.Fatal(err)
	}
	q.Objects = append(q.Objects, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": map[string]any{"namespace": "shop", "name": "front"},
		"spec": map[string]any{"targetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "front"}},
		"status": map[string]any{"recommendation": map[string]any{"containerRecommendations": []any{
			map[string]any{"containerName": "c", "target": map[string]any{"cpu": "5"}},
		}}},
	}})
	after, err := AboutNode(t.Context(), q, "node-1")
	if err != nil {
		t.Fatal(err)
	}
	plan, blocked := before.Verdicts[2].Plan, after.Verdicts[2].Obstacle
	if plan == nil || len(plan.Replacements) > 0 || blocked == nil || blocked.Code != string(disrupt.NotCheaper) {
		t.Errorf("before %+v, after %+v; want that the pod moves to the other node as long as it requests 3 CPUs", before.Verdicts[2], after.Verdicts[2])
	}
}

// TestDrift: the answer about a drifted node has what the condition of its NodeClaim says, and a message only if that says more than the reason.
func TestDrift(t *testing.T) {
	for message, want := range map[string]string{"": "", "NodePoolDrifted": "", "taints differ": "taints differ"} {
		explained := change("web-1", func(c *v1.NodeClaim) { c.Status.Conditions[len(c.Status.Conditions)-1].Message = message })
		got, err := AboutNode(t.Context(), shop(t, quiet, free, drifted("web-1"), explained), "node-1")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&Drift{Reason: "NodePoolDrifted", Message: want, Since: noon()}, got.Verdicts[1].Drift); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", message, diff)
		}
		if want != "" && !strings.Contains(got.Text(), "  Drifted (NodePoolDrifted: taints differ): would be deleted") {
			t.Errorf("got:\n%s", got.Text())
		}
	}
}

func TestNoSuchNode(t *testing.T) {
	if _, err := AboutNode(context.Background(), shop(t), "node-9"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want that there is no such node", err)
	}
}

// TestNodeThatIsTerminatedFirst: with the feature gate, a node of a static pool at its limit goes before its replacement launches.
func TestNodeThatIsTerminatedFirst(t *testing.T) {
	q := shop(t, quiet, static, drifted("web-2"))
	q.Options.TerminateFirstDrift = true
	got, err := AboutNode(t.Context(), q, "node-2")
	if err != nil {
		t.Fatal(err)
	}
	const want = "  Drifted (NodePoolDrifted): would be terminated before its replacement launches (static-at-limit), now\n"
	if !strings.Contains(got.Text(), want) {
		t.Errorf("got:\n%s\nwithout:\n%s", got.Text(), want)
	}
	plan := Plan{Decision: "terminate-first", TerminateFirst: "static-at-limit", SavesPerHour: new(float64)}
	if diff := cmp.Diff(&plan, got.Verdicts[1].Plan); diff != "" {
		t.Error(diff)
	}
}
