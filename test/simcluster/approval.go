package simcluster

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/approval"
)

// RequireApproval makes an OperationsPolicy ask for the approval of all voluntary disruption, installs the admission policy that verifies who
// approves, as the chart does, and lets a user approve. The user of api is that of the controller, and may not.
func RequireApproval(ctx context.Context, api client.Client, approver string) error {
	controller, err := approval.UserName(ctx, api)
	if err != nil {
		return err
	}
	policy, binding, err := approval.Objects(controller)
	if err != nil {
		return err
	}
	rule := rbacv1.PolicyRule{APIGroups: []string{opsv1alpha1.Group}, Resources: []string{"disruptionplans"}, Verbs: []string{"get", "list", "patch", "approve"}}
	ask := &opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: "approval"}}
	ask.Spec.Approval = &opsv1alpha1.Approval{Mode: opsv1alpha1.ApprovalAlways}
	for _, object := range []client.Object{
		policy, binding,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: approver}, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: approver}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: approver},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: approver}},
		},
		ask,
	} {
		if err := api.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %q: %w", object, object.GetName(), err)
		}
	}
	return nil
}
