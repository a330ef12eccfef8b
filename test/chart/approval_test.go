package chart

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-anew/karpenter/internal/approval"
)

// TestAdmissionOfApprovals: the chart installs the policy that the controller expects, for its own service account, with the feature gate only.
func TestAdmissionOfApprovals(t *testing.T) {
	wantPolicy, wantBinding, err := approval.Objects("system:serviceaccount:kube-system:karpenter")
	if err != nil {
		t.Fatal(err)
	}
	objects := named("settings.clusterName=one", "settings.featureGates.operationsPolicy=true").objects(t)
	policy := the[*admissionv1.ValidatingAdmissionPolicy](t, objects, approval.Name)
	if diff := cmp.Diff(wantPolicy.Spec, policy.Spec); diff != "" {
		t.Errorf("policy (-controller +chart)\n%s", diff)
	}
	binding := the[*admissionv1.ValidatingAdmissionPolicyBinding](t, objects, approval.Name)
	if diff := cmp.Diff(wantBinding.Spec, binding.Spec); diff != "" {
		t.Errorf("binding (-controller +chart)\n%s", diff)
	}
	off := named("settings.clusterName=one").objects(t)
	if slices.ContainsFunc(off, func(o runtime.Object) bool {
		_, is := o.(*admissionv1.ValidatingAdmissionPolicy)
		return is
	}) {
		t.Error("the policy is installed without the feature gate")
	}
}

// TestTheControllerMayNotDecide: decisions are written by update or patch of plans.
func TestTheControllerMayNotDecide(t *testing.T) {
	objects := named("settings.clusterName=one", "settings.featureGates.operationsPolicy=true").objects(t)
	for _, verb := range []string{"update", "patch", "approve"} {
		c := call{verb: verb, group: "ops.karpenter.sh", resource: "disruptionplans"}
		if slices.ContainsFunc(grants(objects), func(g grant) bool { return g.covers(c) }) {
			t.Errorf("%s of disruptionplans is granted to the controller", verb)
		}
	}
}
