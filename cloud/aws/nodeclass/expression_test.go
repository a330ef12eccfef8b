package nodeclass_test

import (
	"strings"
	"testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/inventory"
	"github.com/karpenter-anew/karpenter/cloud/aws/nodeclass"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
)

func evaluating(o *provider.Options, _ *nodeclass.Options) { o.EvaluatesExpressions = true }

// TestExpressions has m5.large (2 CPUs, 29 pods), g4dn.xlarge, m6g.large and m5.metal (96 CPUs, 737 pods).
func TestExpressions(t *testing.T) {
	t.Attr("covers", "A145 A146")
	for _, test := range []struct{ name, alias, kubelet, want string }{
		{"syntax", "", `{"maxPods": "vcpus *"}`, `False KubeletExpressionInvalid: spec.kubelet.maxPods: compiling "vcpus *"`},
		{"an unknown variable", "", `{"maxPods": "cores * 10"}`, "False KubeletExpressionInvalid: spec.kubelet.maxPods"},
		{"no number", "", `{"kubeReserved": {"cpu": "instance_type"}}`, "False KubeletExpressionInvalid: spec.kubelet.kubeReserved[cpu]"},
		{"before what the family drops", "bottlerocket@latest", `{"systemReserved": {"cpu": "x"}, "serializeImagePulls": false}`, "False KubeletExpressionInvalid"},
		{"division by zero, of one type", "", `{"maxPods": "10 / (vcpus - 96)"}`, "False KubeletExpressionEvaluationFailed: resolving instance type m5.metal"},
		{"below zero, of one type", "", `{"maxPods": "vcpus - 3"}`, "False KubeletExpressionEvaluationFailed: resolving instance type m5.large"},
		{"too large, of one type", "", `{"maxPods": "vcpus * 50000000"}`, "False KubeletExpressionEvaluationFailed: resolving instance type m5.metal"},
		{"division by zero, reserved", "", `{"kubeReserved": {"memory": "100 / (vcpus - 2)"}}`, "False KubeletExpressionEvaluationFailed: resolving instance type m5.large"},
		{"below zero, reserved", "", `{"systemReserved": {"cpu": "vcpus - 3"}}`, "False KubeletExpressionEvaluationFailed: resolving instance type m5.large"},
		{"all is well", "", `{"maxPods": "max_pods / 2", "kubeReserved": {"memory": "max_pods * 11"}}`, "True"},
		{"the family matters as ever", "bottlerocket@latest", `{"maxPods": "vcpus", "serializeImagePulls": false}`, "False UnsupportedKubeletConfiguration"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, evaluating)
			w.add(func(c *awsv1.EC2NodeClass) {
				if test.alias != "" {
					c.Spec.AMISelectorTerms[0].Alias = test.alias
				}
				c.Spec.Kubelet = block(t, test.kubelet)
			})
			w.expect(awsv1.ConditionTypeValidationSucceeded, test.want)
		})
	}
}

func TestExpressionsWaitForTypes(t *testing.T) {
	t.Attr("covers", "A147")
	w := newWorld(t, evaluating)
	known := w.provider.Catalog.Inventory
	w.provider.Catalog.Inventory = inventory.New("us-east-1", w.provider.EC2, w.provider.Prices)
	w.add(func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = block(t, `{"maxPods": "vcpus - 3"}`) })
	class, result, err := w.reconcile()
	if err != nil || result.RequeueAfter == 0 || !strings.HasPrefix(show(class, awsv1.ConditionTypeValidationSucceeded), "Unknown AwaitingReconciliation") {
		t.Errorf("%v, %v, %+v", err, result, class.Status.Conditions)
	}
	w.provider.Catalog.Inventory = known
	w.expect(awsv1.ConditionTypeValidationSucceeded, "False KubeletExpressionEvaluationFailed")
}
