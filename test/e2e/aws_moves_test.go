package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	overlayv1 "github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// suffer makes a node report a condition for an hour, and stops the simulator from resetting it.
func (w *harness) suffer(node *corev1.Node, kind corev1.NodeConditionType, status corev1.ConditionStatus) {
	w.t.Helper()
	change(w, node, func(n *corev1.Node) {
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations["local.karpenter-anew.dev/hands-off"] = "true"
	})
	w.await(fmt.Sprintf("node %q reports %s", node.Name, kind), patience, func() string {
		if !w.get(node) {
			return "it is gone"
		}
		reported := corev1.NodeCondition{Type: kind, Status: status, Reason: "Test", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}
		conditions := []corev1.NodeCondition{reported}
		for _, c := range node.Status.Conditions {
			if c.Type != kind {
				conditions = append(conditions, c)
			}
		}
		node.Status.Conditions = conditions
		if err := w.client.Status().Update(w.ctx, node); err != nil {
			return err.Error()
		}
		return ""
	})
}

// TestAWSRepairReplacesNodes: a node with an unhealthy condition is replaced after its toleration duration.
func TestAWSRepairReplacesNodes(t *testing.T) {
	t.Attr("covers", "A373")
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large")
	w.controller(append(a.Flags(), "--feature-gates=NodeRepair=true", "--legacy-node-repair")...)
	type sickness struct {
		kind   corev1.NodeConditionType
		status corev1.ConditionStatus
	}
	cases := map[string]sickness{
		"not-ready": {corev1.NodeReady, corev1.ConditionFalse}, "unknown": {corev1.NodeReady, corev1.ConditionUnknown},
		"hardware": {"AcceleratedHardwareReady", corev1.ConditionFalse}, "storage": {"StorageReady", corev1.ConditionFalse},
		"networking": {"NetworkingReady", corev1.ConditionFalse}, "kernel": {"KernelReady", corev1.ConditionFalse},
		"runtime": {"ContainerRuntimeReady", corev1.ConditionFalse},
	}
	pods, old := map[string]int32{}, map[string]ec2Node{}
	for name := range cases {
		w.create(awsClass(name), awsPool(name, []string{"m5.large"}), awsPods(name, 1))
		pods[name] = 1
	}
	w.awaitCases(pods)
	for name := range cases {
		w.await("the node of "+name+" is as expected", patience, func() string {
			nodes := w.nodesOf(a, name)
			if len(nodes) != 1 {
				return fmt.Sprintf("%d nodes", len(nodes))
			}
			old[name] = nodes[0]
			return ""
		})
	}
	for name, s := range cases {
		node := old[name].Node
		w.suffer(&node, s.kind, s.status)
	}
	w.await("every node is replaced", awsPatience, func() string {
		for name, before := range old {
			if obstacle := w.replaced(a, name, &before); obstacle != "" {
				return name + ": " + obstacle
			}
		}
		return ""
	})
	w.awaitCases(pods)
}

// TestAWSMoves: consolidation moves nodes to spot, into a reservation and into a cheaper one, and where overlaid prices
// are lower.
func TestAWSMoves(t *testing.T) {
	t.Attr("covers", "A374 A375")
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large", "m5.xlarge", "c5.large")
	for id, kind := range map[string]string{"cr-1": "m5.large", "cr-2": "m5.xlarge", "cr-3": "m5.large"} {
		a.Account.AddReservation(awstest.Reservation{ID: id, InstanceType: kind, Zone: "us-east-1a", Kind: "default", Total: 2, Left: 2})
	}
	w.controller(append(a.Flags(), "--feature-gates=ReservedCapacity=true,NodeOverlay=true")...)
	capacityTypes := func(kinds ...string) func(*v1.NodePool) {
		return func(p *v1.NodePool) {
			allowCapacityTypes(kinds...)(p)
			p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(0)
		}
	}
	classes := map[string]*awsv1.EC2NodeClass{
		"to-spot": awsClass("to-spot"), "to-reserved": awsClass("to-reserved"), "between": awsClass("between", reserving("cr-2")), "overlaid": awsClass("overlaid"),
	}
	pools := map[string]*v1.NodePool{
		"to-spot":     awsPool("to-spot", []string{"m5.large"}, capacityTypes("on-demand")),
		"to-reserved": awsPool("to-reserved", []string{"m5.large"}, capacityTypes("on-demand", "reserved")),
		"between":     awsPool("between", []string{"m5.large", "m5.xlarge"}, capacityTypes("on-demand", "reserved")),
		"overlaid":    awsPool("overlaid", []string{"m5.large", "c5.large"}, capacityTypes("on-demand")),
	}
	pods := map[string]int32{}
	for name := range pools {
		w.create(classes[name], pools[name], awsPods(name, 1))
		pods[name] = 1
	}
	w.awaitCases(pods)
	is := func(when, name, kind, instanceType, reservation string) {
		w.t.Helper()
		w.await(fmt.Sprintf("%s the node of %s is %s, %s %s", when, name, kind, instanceType, reservation), awsPatience, func() string {
			nodes := w.nodesOf(a, name)
			if len(nodes) != 1 {
				return fmt.Sprintf("%d nodes", len(nodes))
			}
			if n := nodes[0]; n.Labels[v1.CapacityTypeLabelKey] != kind || n.instance.Type != instanceType || n.instance.Reservation != reservation {
				return fmt.Sprintf("%s, %s %s", n.Labels[v1.CapacityTypeLabelKey], n.instance.Type, n.instance.Reservation)
			}
			return ""
		})
	}
	is("first", "to-spot", "on-demand", "m5.large", "")
	is("first", "to-reserved", "on-demand", "m5.large", "")
	is("first", "between", "reserved", "m5.xlarge", "cr-2")
	is("first", "overlaid", "on-demand", "c5.large", "")
	change(w, pools["to-spot"], capacityTypes("on-demand", "spot"))
	change(w, classes["to-reserved"], reserving("cr-1"))
	change(w, classes["between"], reserving("cr-2", "cr-3"))
	bargain := overlay("bargain", "m5.large", "0.001")
	bargain.Spec.Requirements = append(bargain.Spec.Requirements, overlayv1.NodeSelectorRequirement{
		Key: v1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"overlaid"},
	})
	w.create(bargain)
	is("in the end", "to-spot", "spot", "m5.large", "")
	is("in the end", "to-reserved", "reserved", "m5.large", "cr-1")
	is("in the end", "between", "reserved", "m5.large", "cr-3")
	is("in the end", "overlaid", "on-demand", "m5.large", "")
}
