// Package approval verifies that the API server admits decisions about DisruptionPlans as it should: only from users who may approve, and with
// their true name.
//
// Problem: anyone with the permission to update a DisruptionPlan could write any name into its decision. Approach: a ValidatingAdmissionPolicy
// refuses that. The controller reads it from the API server, compares it with what it expects, and checks by a dry run that it is
// enforced. A DisruptionPlan records the identity and generation of the policy at its proposal, and its decision counts only while both are
// the same: a policy that was replaced, or changed and changed back, is noticed after a restart, too.
//
// Source: docs/disruption-plans.md.
package approval

import (
	"context"
	_ "embed" // the policy
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
)

// Name is the name of the ValidatingAdmissionPolicy and of its binding.
const Name = "disruptionplans.ops.karpenter.sh"

//go:embed policy.yaml
var manifest string

// NotEnforcedError is that the API server does not verify decisions. Other errors are that it is not known.
type NotEnforcedError struct{ why string }

// Error implements error.
func (e *NotEnforcedError) Error() string { return e.why }

// NotEnforced tells the error from others, for packages that do not know this one.
func (*NotEnforcedError) NotEnforced() {}

// IsNotEnforced reports whether an error is that decisions are not verified.
func IsNotEnforced(err error) bool {
	var e *NotEnforcedError
	return errors.As(err, &e)
}

func notEnforced(format string, args ...any) error {
	return &NotEnforcedError{fmt.Sprintf(format, args...)}
}

// Objects are the policy and its binding for a controller with a user name.
func Objects(controller string) (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding, error) {
	first, second, _ := strings.Cut(manifest, "\n---\n")
	policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
	if err := yaml.UnmarshalStrict([]byte(first), policy); err != nil {
		return nil, nil, fmt.Errorf("parsing the admission policy: %w", err)
	}
	if err := yaml.UnmarshalStrict([]byte(second), binding); err != nil {
		return nil, nil, fmt.Errorf("parsing the binding of the admission policy: %w", err)
	}
	if strings.ContainsAny(controller, `'\`) {
		return nil, nil, fmt.Errorf("the user name %q of the controller has a quote or a backslash", controller)
	}
	for i := range policy.Spec.Variables {
		v := &policy.Spec.Variables[i]
		v.Expression = strings.Replace(v.Expression, "CONTROLLER", controller, 1)
	}
	return policy, binding, nil
}

// Admission verifies the policy. It is not safe for concurrent use.
type Admission struct {
	live   client.Reader
	writer client.Client
	// user is the user name of the controller; empty until it is known.
	user string
}

// NewAdmission returns an Admission that reads from live, the API server itself, and asks it by dry runs through writer.
func NewAdmission(live client.Reader, writer client.Client) *Admission {
	return &Admission{live: live, writer: writer}
}

// Verify returns the identity of the policy and its binding if the API server enforces them, and an error otherwise.
func (a *Admission) Verify(ctx context.Context) (opsv1alpha1.PlanAdmission, error) {
	user, err := a.whoami(ctx)
	if err != nil {
		return opsv1alpha1.PlanAdmission{}, err
	}
	wantPolicy, wantBinding, err := Objects(user)
	if err != nil {
		return opsv1alpha1.PlanAdmission{}, err
	}
	policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
	for _, object := range []client.Object{policy, binding} {
		switch err := a.live.Get(ctx, client.ObjectKey{Name: Name}, object); {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			return opsv1alpha1.PlanAdmission{}, notEnforced("%s %q does not exist, so that nothing verifies who approves", kindOf(object), Name)
		case err != nil:
			return opsv1alpha1.PlanAdmission{}, fmt.Errorf("reading the %s %q: %w", kindOf(object), Name, err)
		case !object.GetDeletionTimestamp().IsZero():
			return opsv1alpha1.PlanAdmission{}, notEnforced("%s %q is being deleted", kindOf(object), Name)
		}
	}
	if !equality.Semantic.DeepEqual(wantPolicy.Spec, policy.Spec) {
		return opsv1alpha1.PlanAdmission{}, notEnforced("ValidatingAdmissionPolicy %q differs from that of this version for the controller %q", Name, user)
	}
	if !equality.Semantic.DeepEqual(wantBinding.Spec, binding.Spec) {
		return opsv1alpha1.PlanAdmission{}, notEnforced("ValidatingAdmissionPolicyBinding %q differs from that of this version", Name)
	}
	if err := a.probe(ctx); err != nil {
		return opsv1alpha1.PlanAdmission{}, err
	}
	return opsv1alpha1.PlanAdmission{
		PolicyUID: string(policy.UID), PolicyGeneration: policy.Generation, BindingUID: string(binding.UID), BindingGeneration: binding.Generation,
	}, nil
}

// whoami is the user name of the controller.
func (a *Admission) whoami(ctx context.Context) (string, error) {
	if a.user != "" {
		return a.user, nil
	}
	name, err := UserName(ctx, a.writer)
	if err == nil {
		a.user = name
	}
	return name, err
}

// UserName is the name by which the API server knows the user of a client.
func UserName(ctx context.Context, c client.Client) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return "", fmt.Errorf("asking the API server for the own user name: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// probe checks that the policy is enforced: the creation of a plan that is decided already must be refused by it. Nothing is created.
func (a *Admission) probe(ctx context.Context) error {
	node := opsv1alpha1.PlannedNode{Name: "probe", NodeClaim: "probe", NodeClaimUID: "probe", NodePool: "probe"}
	plan := &opsv1alpha1.DisruptionPlan{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"},
		Spec: opsv1alpha1.DisruptionPlanSpec{
			Method: "probe", Reason: opsv1alpha1.DisruptionReasonEmpty, Action: "delete", Nodes: []opsv1alpha1.PlannedNode{node}, InputHash: "probe",
			OperationsPolicy: opsv1alpha1.AskingPolicy{Name: "probe", Why: "probe"},
			ExpiresAt:        metav1.Unix(0, 0),
			Decision:         &opsv1alpha1.PlanDecision{Verdict: opsv1alpha1.VerdictRejected, By: "probe"},
		},
	}
	err := a.writer.Create(ctx, plan, client.DryRunAll)
	switch {
	case err == nil:
		return notEnforced("ValidatingAdmissionPolicy %q is not enforced by the API server", Name)
	case strings.Contains(err.Error(), Name):
		return nil
	}
	return fmt.Errorf("checking that ValidatingAdmissionPolicy %q is enforced: %w", Name, err)
}

func kindOf(object client.Object) string {
	if _, ok := object.(*admissionv1.ValidatingAdmissionPolicy); ok {
		return "ValidatingAdmissionPolicy"
	}
	return "ValidatingAdmissionPolicyBinding"
}
