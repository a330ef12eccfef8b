package plan

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/crds"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/approval"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/test/crdtest"
	"github.com/karpenter-anew/karpenter/test/poll"
)

func proposal(name string) *opsv1alpha1.DisruptionPlan {
	return &opsv1alpha1.DisruptionPlan{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: opsv1alpha1.DisruptionPlanSpec{
			Method: "drift", Reason: opsv1alpha1.DisruptionReasonDrifted, Action: "replace", InputHash: "x", ExpiresAt: metav1.Unix(2e9, 0), Risk: 1,
			OperationsPolicy: opsv1alpha1.AskingPolicy{Name: "production", Why: "all disruption has to be approved"}, SavingsPerHour: "0.100000",
			Nodes: []opsv1alpha1.PlannedNode{{Name: "node-1", NodeClaim: "pool-1", NodeClaimUID: "u", NodePool: "pool", InstanceType: "x4", PricePerHour: "4.000000"}},
			Replacements: []opsv1alpha1.PlannedReplacement{
				{NodePool: "pool", InstanceTypes: []string{"x1", "x2", "x3", "x4"}, CapacityTypes: []string{"spot"}, PricePerHour: "1.000000"},
			},
			Evictions: []opsv1alpha1.PlannedEviction{{Kind: "Deployment", Namespace: "default", Name: "web", Pods: 3, Unprotected: 1}},
			Admission: opsv1alpha1.PlanAdmission{PolicyUID: "u", PolicyGeneration: 1, BindingUID: "u", BindingGeneration: 1},
		},
	}
}

func TestPrint(t *testing.T) {
	p := proposal("drifted-1")
	p.Spec.Decision = &opsv1alpha1.PlanDecision{Verdict: opsv1alpha1.VerdictApproved, By: "anna"}
	p.Status.Phase, p.Status.WaitingFor = opsv1alpha1.PlanApproved, "a window"
	for format, want := range map[command.Output][]string{
		"table": {"NAME        PHASE      REASON    ACTION    NODES   PODS   RISK   SAVES/H    EXPIRES", "drifted-1   Approved   Drifted   replace   1       3      1      0.100000   2033-05-18T03:33:20Z"},
		"wide":  {"NODEPOOLS   POLICY       DECIDED-BY", "pool        production   anna (Approved)   a window"},
		"name":  {"disruptionplan/drifted-1\n"},
		"json":  {`"kind": "DisruptionPlan"`, `"savingsPerHour": "0.100000"`},
		"yaml":  {"kind: DisruptionPlan", "by: anna"},

		"jsonpath={.items[*].status.phase}": {"Approved\n"},
	} {
		var out bytes.Buffer
		if err := printList(&out, []opsv1alpha1.DisruptionPlan{*p}, format); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("-o %s: want %q in\n%s", format, text, out.String())
			}
		}
	}
	var out bytes.Buffer
	if err := printOne(&out, p, "table"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"replace of 1 nodes because they are drifted", "1 of 3 pods are evicted without protection", "x1, x2, x3, and 1 more spot $1.000000/h", "3 pods of Deployment default/web"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("show: want %q in\n%s", text, out.String())
		}
	}
}

// TestDecide decides about plans as users of a real API server.
func TestDecide(t *testing.T) {
	definitions, err := crds.Core()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), opsv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	config := crdtest.Server(t, definitions)
	as := func(user string) client.Client {
		own := rest.CopyConfig(config)
		own.Impersonate.UserName = user
		c, err := client.New(own, client.Options{Scheme: scheme})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	admin := as("")
	create := func(objects ...client.Object) {
		t.Helper()
		for _, o := range objects {
			if err := admin.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	controller, err := approval.UserName(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	policy, binding, err := approval.Objects(controller)
	if err != nil {
		t.Fatal(err)
	}
	rule := rbacv1.PolicyRule{APIGroups: []string{opsv1alpha1.Group}, Resources: []string{"disruptionplans"}, Verbs: []string{"get", "list", "patch", "approve"}}
	create(policy, binding, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "approver"}, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "approver"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "approver"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "anna"}},
		})
	poll.Until(t, "the policy to be enforced", func() bool {
		_, err := approval.NewAdmission(admin, admin).Verify(t.Context())
		return err == nil
	})
	create(proposal("first"), proposal("second"))
	var out bytes.Buffer
	s := command.Streams{Out: &out, Err: &out}
	approve := opsv1alpha1.PlanDecision{Verdict: opsv1alpha1.VerdictApproved, Reason: "fine"}
	if err := decide(t.Context(), as("anna"), s, "first", approve); err != nil || out.String() != "disruptionplan/first approved by anna\n" {
		t.Errorf("approving: %v, %q", err, out.String())
	}
	for what, err := range map[string]error{
		"is decided already: Approved by anna": decide(t.Context(), as("anna"), s, "first", approve),
		`there is no DisruptionPlan "third"`:   decide(t.Context(), as("anna"), s, "third", approve),
		"forbidden":                            decide(t.Context(), as("ben"), s, "second", approve),
		"the controller does not decide":       decide(t.Context(), admin, s, "second", approve),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
	out.Reset()
	if err := (&List{Output: "name"}).list(t.Context(), as("anna"), s); err != nil || out.String() != "disruptionplan/first\ndisruptionplan/second\n" {
		t.Errorf("listing: %v, %q", err, out.String())
	}
}
