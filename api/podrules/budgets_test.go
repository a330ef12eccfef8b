package podrules_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-anew/karpenter/api/podrules"
)

// pdb builds a budget for app=web that allows one disruption, and applies the changes.
func pdb(name string, changes ...func(*policyv1.PodDisruptionBudget)) policyv1.PodDisruptionBudget {
	out := policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
	}
	for _, change := range changes {
		change(&out)
	}
	return out
}

func exhausted(p *policyv1.PodDisruptionBudget) { p.Status.DisruptionsAllowed = 0 }

func alwaysAllow(p *policyv1.PodDisruptionBudget) {
	policy := policyv1.AlwaysAllow
	p.Spec.UnhealthyPodEvictionPolicy = &policy
}

func maxUnavailable(v intstr.IntOrString) func(*policyv1.PodDisruptionBudget) {
	return func(p *policyv1.PodDisruptionBudget) { p.Spec.MaxUnavailable = &v }
}

func minAvailable(v intstr.IntOrString) func(*policyv1.PodDisruptionBudget) {
	return func(p *policyv1.PodDisruptionBudget) { p.Spec.MinAvailable = &v }
}

func selecting(s *metav1.LabelSelector) func(*policyv1.PodDisruptionBudget) {
	return func(p *policyv1.PodDisruptionBudget) { p.Spec.Selector = s }
}

func ready(status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: status})
	}
}

func TestBudgetsBlocked(t *testing.T) {
	t.Attr("covers", "L189 L190")
	none, all := intstr.FromInt32(0), intstr.FromString("100%")
	for name, c := range map[string]struct {
		pod        *corev1.Pod
		budgets    []policyv1.PodDisruptionBudget
		zero, full bool
	}{
		"no budget":                       {pod: with()},
		"a budget that allows":            {with(), []policyv1.PodDisruptionBudget{pdb("a")}, false, false},
		"a budget used up":                {with(), []policyv1.PodDisruptionBudget{pdb("a", exhausted)}, true, false},
		"maxUnavailable 0":                {with(), []policyv1.PodDisruptionBudget{pdb("a", exhausted, maxUnavailable(none))}, true, true},
		"maxUnavailable 0%":               {with(), []policyv1.PodDisruptionBudget{pdb("a", maxUnavailable(intstr.FromString("0%")))}, false, true},
		"maxUnavailable 1":                {with(), []policyv1.PodDisruptionBudget{pdb("a", exhausted, maxUnavailable(intstr.FromInt32(1)))}, true, false},
		"minAvailable 100%":               {with(), []policyv1.PodDisruptionBudget{pdb("a", minAvailable(all))}, false, true},
		"an integer minAvailable":         {with(), []policyv1.PodDisruptionBudget{pdb("a", minAvailable(intstr.FromInt32(3)))}, false, false},
		"a budget of another namespace":   {with(func(p *corev1.Pod) { p.Namespace = "other" }), []policyv1.PodDisruptionBudget{pdb("a", exhausted)}, false, false},
		"an absent selector":              {with(), []policyv1.PodDisruptionBudget{pdb("a", exhausted, selecting(nil))}, false, false},
		"an empty selector":               {with(), []policyv1.PodDisruptionBudget{pdb("a", exhausted, selecting(&metav1.LabelSelector{}))}, true, false},
		"an unready pod, AlwaysAllow":     {with(ready(corev1.ConditionFalse)), []policyv1.PodDisruptionBudget{pdb("a", exhausted, maxUnavailable(none), alwaysAllow)}, false, false},
		"an unready pod, default policy":  {with(ready(corev1.ConditionFalse)), []policyv1.PodDisruptionBudget{pdb("a", exhausted)}, true, false},
		"a ready pod, AlwaysAllow":        {with(ready(corev1.ConditionTrue)), []policyv1.PodDisruptionBudget{pdb("a", exhausted, alwaysAllow)}, true, false},
		"no readiness known, AlwaysAllow": {with(), []policyv1.PodDisruptionBudget{pdb("a", exhausted, alwaysAllow)}, true, false},
		"two budgets that allow":          {with(ready(corev1.ConditionFalse)), []policyv1.PodDisruptionBudget{pdb("a", alwaysAllow), pdb("b", alwaysAllow)}, true, true},
		"a pod that is not evictable":     {with(doNotDisrupt("true")), []policyv1.PodDisruptionBudget{pdb("a", exhausted, maxUnavailable(none))}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			budgets, err := podrules.NewBudgets(c.budgets)
			if err != nil {
				t.Fatal(err)
			}
			_, zero := budgets.Blocked(c.pod, now, podrules.ZeroDisruptions)
			_, full := budgets.Blocked(c.pod, now, podrules.FullyBlocking)
			if zero != c.zero || full != c.full {
				t.Errorf("zero-disruptions %v, fully blocking %v; want %v, %v", zero, full, c.zero, c.full)
			}
			if got, want := podrules.CurrentlyReschedulable(c.pod, budgets, now), podrules.Disruptable(c.pod, now) && !c.full; got != want {
				t.Errorf("currently reschedulable %v, want %v", got, want)
			}
		})
	}
}

func TestBlockNamesPodAndBudgets(t *testing.T) {
	budgets, err := podrules.NewBudgets([]policyv1.PodDisruptionBudget{pdb("b"), pdb("a")}) // caches list in any order
	if err != nil {
		t.Fatal(err)
	}
	free := with(func(p *corev1.Pod) { p.Name, p.Labels = "free", nil })
	block, blocked := budgets.FirstBlocked([]*corev1.Pod{free, with()}, now, podrules.ZeroDisruptions)
	got := []string{block.Pod.String()}
	for _, b := range block.Budgets {
		got = append(got, b.String())
	}
	if diff := cmp.Diff([]string{"default/p", "default/a", "default/b"}, got); diff != "" || !blocked || !block.Multiple() {
		t.Errorf("blocked %v, multiple %v, (-want +got):\n%s", blocked, block.Multiple(), diff)
	}
}

func TestBadSelectorIsReportedAndTheRestKept(t *testing.T) {
	bad := pdb("bad", selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}))
	budgets, err := podrules.NewBudgets([]policyv1.PodDisruptionBudget{bad, pdb("good", exhausted)})
	if err == nil || !strings.Contains(err.Error(), "default/bad") {
		t.Errorf("error %v does not name default/bad", err)
	}
	if _, blocked := budgets.Blocked(with(), now, podrules.ZeroDisruptions); !blocked {
		t.Error("the good budget was lost")
	}
}
