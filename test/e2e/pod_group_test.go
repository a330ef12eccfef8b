package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// groupsSince is the first minor version of Kubernetes that serves scheduling.k8s.io/v1beta1.
const groupsSince = 37

// TestGangsAreLaunchedAsAWhole: kube-scheduler and Karpenter agree on groups, from a cluster without nodes on. A gang that a limit stops gets
// no node, and does not hold others back.
func TestGangsAreLaunchedAsAWhole(t *testing.T) {
	t.Attr("covers", "N452 N462")
	t.Parallel()
	if minor := kubernetesMinor(t); minor < groupsSince {
		t.Logf("nothing is tested: Kubernetes 1.%d does not serve PodGroups, 1.%d and later do", minor, groupsSince)
		return
	}
	w := beginOnOwnCluster(t, "--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1beta1=true")
	w.controller()
	w.create(class(), pool(cores("1"), limit(corev1.ResourceCPU, "6")), gang("first", 4), deployment("first", 4, "700m", memberOf("first")))
	w.awaitRunning(4)
	w.awaitNodes(4)

	w.create(gang("second", 3), deployment("second", 3, "700m", memberOf("second")))
	var second *corev1.Pod
	w.await("the second gang is tried", patience, func() string {
		if w.unschedulable() < 3 {
			return "its pods are not marked as unschedulable"
		}
		pods := w.pods()
		for i := range pods {
			if pods[i].Labels["app"] == "second" {
				second = &pods[i]
			}
		}
		return ""
	})
	w.awaitEvent(second, "FailedScheduling", `pod group "default/second" needs 3 pods at once, 2 can be placed`)
	if n := len(w.claims()); n != 4 {
		t.Errorf("there are %d NodeClaims, want the 4 of the first gang", n)
	}
	w.create(deployment("alone", 2, "700m"))
	w.await("pods without a group run", patience, func() string {
		running := 0
		for _, pod := range w.pods() {
			if pod.Labels["app"] == "alone" && pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running < 2 {
			return fmt.Sprintf("%d of 2 run", running)
		}
		return ""
	})
	w.awaitNodes(6)
}

// TestUnhealthyNodeOfAPodGroupIsRepairedWithTheOthers: a group that is disrupted as a whole runs on two nodes, one of which breaks. Both are
// replaced, and the node of another pod stays.
func TestUnhealthyNodeOfAPodGroupIsRepairedWithTheOthers(t *testing.T) {
	t.Attr("covers", "N471")
	t.Parallel()
	if minor := kubernetesMinor(t); minor < groupsSince {
		t.Logf("nothing is tested: Kubernetes 1.%d does not serve PodGroups, 1.%d and later do", minor, groupsSince)
		return
	}
	w := beginOnOwnCluster(t, "--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1beta1=true")
	p := w.controller("--feature-gates=NodeRepair=true")
	group := gang("train", 2)
	group.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
	w.create(class(), pool(cores("1"), func(p *v1.NodePool) { p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "100%"}} }),
		group, deployment("train", 2, "700m", memberOf("train")), deployment("alone", 1, "700m"))
	w.awaitRunning(3)
	w.awaitNodes(3)
	of := map[string]string{}
	for _, pod := range w.pods() {
		of[pod.Spec.NodeName] = pod.Labels["app"]
	}
	nodes := w.nodes()
	first := slices.IndexFunc(nodes, func(n corev1.Node) bool { return of[n.Name] == "train" })
	w.await("the node is unhealthy", patience, func() string {
		if !w.get(&nodes[first]) {
			return "it is gone"
		}
		nodes[first].Status.Conditions = append(nodes[first].Status.Conditions, corev1.NodeCondition{
			Type: "KWOKUnhealthy", Status: corev1.ConditionTrue, Reason: "Broken", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)),
		})
		if err := w.client.Status().Update(w.ctx, &nodes[first]); err != nil {
			return err.Error()
		}
		return ""
	})
	w.await("the nodes of the group are replaced", 2*time.Minute, func() string {
		for i := range nodes {
			if there := w.get(&nodes[i]); there != (of[nodes[i].Name] == "alone") {
				return fmt.Sprintf("node %s with the pod of %s is there: %v", nodes[i].Name, of[nodes[i].Name], there)
			}
		}
		return ""
	})
	w.awaitRunning(3)
	w.awaitNodes(3)
	w.awaitMetric(p, `karpenter_voluntary_disruption_decisions_total{consolidation_type="",decision="replace",reason="unhealthy"} 1`)
}

// gang is a group that needs this many pods.
func gang(name string, pods int32) *schedulingv1beta1.PodGroup {
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: pods}
	return g
}

// memberOf makes pods members of a group.
func memberOf(group string) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) {
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
}
