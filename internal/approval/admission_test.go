package approval_test

import (
	"context"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/crds"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/approval"
	"github.com/karpenter-anew/karpenter/test/crdtest"
	"github.com/karpenter-anew/karpenter/test/poll"
)

const controller = "system:serviceaccount:kube-system:karpenter"

// cluster is a real API server with users that have the permissions of the chart.
type cluster struct {
	*testing.T
	config *rest.Config
	scheme *runtime.Scheme
	admin  client.Client
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	definitions, err := crds.Core()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, opsv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &cluster{T: t, config: crdtest.Server(t, definitions), scheme: scheme}
	c.admin = c.as("")
	rule := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{opsv1alpha1.Group}, Resources: []string{resource}, Verbs: verbs}
	}
	// The controller has more permissions than in the chart: the policy must hold alone.
	c.grant(controller, rule("disruptionplans", "create", "get", "list", "watch", "update", "patch", "approve"), rule("disruptionplans/status", "update", "patch"),
		rbacv1.PolicyRule{
			APIGroups: []string{"admissionregistration.k8s.io"}, Verbs: []string{"get"},
			Resources: []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"}, ResourceNames: []string{approval.Name},
		})
	c.grant("anna", rule("disruptionplans", "get", "update", "patch", "approve"))
	c.grant("ben", rule("disruptionplans", "create", "get", "update", "patch"), rule("disruptionplans/status", "update", "patch"))
	return c
}

// as is a client of a user; the administrator if that is empty.
func (c *cluster) as(user string) client.Client {
	c.Helper()
	config := rest.CopyConfig(c.config)
	config.Impersonate.UserName = user
	out, err := client.New(config, client.Options{Scheme: c.scheme})
	if err != nil {
		c.Fatal(err)
	}
	return out
}

func (c *cluster) grant(user string, rules ...rbacv1.PolicyRule) {
	c.Helper()
	name := strings.ReplaceAll(user, ":", "-")
	c.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
	c.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	})
}

func (c *cluster) create(object client.Object) {
	c.Helper()
	if err := c.admin.Create(c.Context(), object); err != nil {
		c.Fatal(err)
	}
}

// install installs the policy and waits until it is enforced.
func (c *cluster) install() *approval.Admission {
	c.Helper()
	policy, binding, err := approval.Objects(controller)
	if err != nil {
		c.Fatal(err)
	}
	c.create(policy)
	c.create(binding)
	a := approval.NewAdmission(c.as(controller), c.as(controller))
	c.wantVerified(a)
	return a
}

func (c *cluster) wantVerified(a *approval.Admission) {
	c.Helper()
	poll.Until(c.T, "the policy to be enforced", func() bool {
		_, err := a.Verify(c.Context())
		return err == nil
	})
}

func (c *cluster) plan(name string) *opsv1alpha1.DisruptionPlan {
	c.Helper()
	p := proposal(name)
	if err := c.as(controller).Create(c.Context(), p); err != nil {
		c.Fatal(err)
	}
	return p
}

func proposal(name string) *opsv1alpha1.DisruptionPlan {
	return &opsv1alpha1.DisruptionPlan{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: opsv1alpha1.DisruptionPlanSpec{
			Method: "drift", Reason: opsv1alpha1.DisruptionReasonDrifted, Action: "delete", InputHash: "x", ExpiresAt: metav1.Unix(2e9, 0),
			OperationsPolicy: opsv1alpha1.AskingPolicy{Name: "a", Why: "b"},
			Nodes:            []opsv1alpha1.PlannedNode{{Name: "node-1", NodeClaim: "pool-1", NodeClaimUID: "u", NodePool: "pool"}},
			Admission:        opsv1alpha1.PlanAdmission{PolicyUID: "u", PolicyGeneration: 1, BindingUID: "u", BindingGeneration: 1},
		},
	}
}

// decide is what the API server answers to a decision.
func (c *cluster) decide(user, name string, d opsv1alpha1.PlanDecision) error {
	c.Helper()
	return change(c.Context(), c.as(user), name, func(p *opsv1alpha1.DisruptionPlan) { p.Spec.Decision = &d })
}

func change(ctx context.Context, as client.Client, name string, edit func(*opsv1alpha1.DisruptionPlan)) error {
	p := &opsv1alpha1.DisruptionPlan{}
	if err := as.Get(ctx, client.ObjectKey{Name: name}, p); err != nil {
		return err
	}
	edit(p)
	return as.Update(ctx, p)
}

func TestWhoMayDecide(t *testing.T) {
	c := newCluster(t)
	c.install()
	approve := func(by string) opsv1alpha1.PlanDecision {
		return opsv1alpha1.PlanDecision{Verdict: opsv1alpha1.VerdictApproved, By: by}
	}
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	p := c.plan("first")
	refused("a user without the verb approve", c.decide("ben", "first", approve("ben")), "requires the verb approve of disruptionplans")
	refused("a user with the name of another one", c.decide("anna", "first", approve("ben")), "spec.decision.by must be the name of the user who decides: anna")
	refused("the controller", c.decide(controller, "first", approve(controller)), "the controller does not decide")
	refused("the controller with the name of a user", c.decide(controller, "first", approve("anna")), "the controller does not decide")
	refused("a status by a user", c.as("ben").Status().Update(t.Context(), withPhase(p, opsv1alpha1.PlanApproved)), "only the controller writes the status")
	refused("another proposal", change(t.Context(), c.as("ben"), "first", func(p *opsv1alpha1.DisruptionPlan) { p.Spec.Nodes[0].NodeClaim = "pool-2" }),
		"the spec of a plan does not change")
	refused("a plan by a user", c.as("ben").Create(t.Context(), proposal("second")), "only the controller creates")
	decided := proposal("third")
	d := approve(controller)
	decided.Spec.Decision = &d
	refused("a plan that is decided already", c.as(controller).Create(t.Context(), decided), "created without a decision")
	if err := c.decide("anna", "first", approve("anna")); err != nil {
		t.Errorf("a user with the verb approve: %v", err)
	}
	refused("a second decision", c.decide("anna", "first", opsv1alpha1.PlanDecision{Verdict: opsv1alpha1.VerdictRejected, By: "anna"}), "decided")
	refused("a decision that is withdrawn", change(t.Context(), c.as("anna"), "first", func(p *opsv1alpha1.DisruptionPlan) { p.Spec.Decision = nil }), "decided")
	old := c.plan("fourth")
	if err := c.as(controller).Status().Update(t.Context(), withPhase(old, opsv1alpha1.PlanVoided)); err != nil {
		t.Fatal(err)
	}
	refused("a decision about a voided plan", c.decide("anna", "fourth", approve("anna")), "its phase is Voided")
}

func withPhase(p *opsv1alpha1.DisruptionPlan, phase opsv1alpha1.PlanPhase) *opsv1alpha1.DisruptionPlan {
	p = p.DeepCopy()
	p.Status.Phase = phase
	return p
}

// TestVerify: whatever weakens the policy is noticed.
func TestVerify(t *testing.T) {
	c := newCluster(t)
	missing := approval.NewAdmission(c.as(controller), c.as(controller))
	if _, err := missing.Verify(t.Context()); !approval.IsNotEnforced(err) {
		t.Errorf("without a policy: %v", err)
	}
	a := c.install()
	first, err := a.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := approval.NewAdmission(c.as("anna"), c.as("anna")).Verify(t.Context()); err == nil || approval.IsNotEnforced(err) && !strings.Contains(err.Error(), "differs") {
		t.Errorf("for another controller: %v", err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
	edit := func(actions ...admissionv1.ValidationAction) {
		t.Helper()
		if err := c.admin.Get(t.Context(), client.ObjectKey{Name: approval.Name}, binding); err != nil {
			t.Fatal(err)
		}
		binding.Spec.ValidationActions = actions
		if err := c.admin.Update(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	edit(admissionv1.Warn)
	if _, err := a.Verify(t.Context()); !approval.IsNotEnforced(err) {
		t.Errorf("with a binding that only warns: %v", err)
	}
	edit(admissionv1.Deny)
	c.wantVerified(a)
	if again, err := a.Verify(t.Context()); err != nil || again == first {
		t.Errorf("a binding that was changed and changed back is the same: %+v, %v", again, err)
	}
	if err := c.admin.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Verify(t.Context()); !approval.IsNotEnforced(err) {
		t.Errorf("without a binding: %v", err)
	}
	if err := c.as(controller).Get(t.Context(), client.ObjectKey{Name: "probe"}, &opsv1alpha1.DisruptionPlan{}); !apierrors.IsNotFound(err) {
		t.Errorf("a plan of a probe: %v", err)
	}
}
