package provisioning

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// TestAClaimThatDoesNotLaunchDoesNotBlockOthers: one claim never gets an instance; pods of other workloads get theirs.
func TestAClaimThatDoesNotLaunchDoesNotBlockOthers(t *testing.T) {
	t.Attr("covers", "W003")
	w := newHarness(t, readyPool("pool"))
	w.see(pendingPod("first"))
	w.decide()
	if n := len(w.claims()); n != 1 {
		t.Fatalf("%d claims for the first pod", n)
	}
	stuck := w.claims()[0]
	for i := range 3 {
		w.Time.Step(time.Minute)
		w.store.UpdateNodeClaim(&stuck) // it still has no instance
		w.see(pendingPod(fmt.Sprint("large-", i), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", "4")
		}))
		w.decide()
		if n := len(w.claims()); n != i+2 {
			t.Errorf("%d claims after %d more pods, want %d", n, i+1, i+2)
		}
	}
}

// TestPodsAreKnownToTheLaunchOfTheirClaim: the pods of new NodeClaims and those that join them later, until they need them no more. Virtual
// pods are not told anything.
func TestPodsAreKnownToTheLaunchOfTheirClaim(t *testing.T) {
	t.Attr("covers", "N202 N207")
	w := newHarness(t, readyPool("pool"))
	first, second, gone := pendingPod("first"), pendingPod("second"), pendingPod("gone")
	w.see(first, gone)
	w.decide()
	claim := w.claims()[0]
	w.store.UpdateNodeClaim(&claim)
	w.store.DeletePod(string(gone.UID))
	w.see(second)
	w.decide()
	var got []string
	for _, pod := range w.Planned.Take(claim.Name) {
		got = append(got, pod.String()+" "+string(pod.UID))
	}
	if want := []string{"default/first first", "default/second second"}; !slices.Equal(got, want) {
		t.Errorf("the NodeClaim is for %q, want %q", got, want)
	}
}

// TestBudgetsAreReadOnceAPass: the number of deleting nodes does not matter.
func TestBudgetsAreReadOnceAPass(t *testing.T) {
	t.Attr("covers", "W012")
	w := newHarness(t, readyPool("pool"))
	for i := range 5 {
		name := fmt.Sprint("n", i)
		claim, node := w.LaunchedClaim(name, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), w.RegisteredNode(name)
		node.Labels[corev1.LabelInstanceTypeStable] = "small"
		pod := w.Pod("p-"+name, name)
		w.Add(claim, node, pod)
		w.Delete(claim)
		w.store.UpdatePod(pod)
		for _, going := range w.claims() {
			w.store.UpdateNodeClaim(&going)
		}
		w.store.UpdateNode(node)
	}
	lists := 0
	w.Fail = func(op string, o runtime.Object) error {
		if _, budgets := o.(*policyv1.PodDisruptionBudgetList); budgets && op == "list" {
			lists++
		}
		return nil
	}
	w.see(pendingPod("large", func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", "4") }))
	w.decide()
	if lists != 1 {
		t.Errorf("budgets were read %d times, want once", lists)
	}
	if n := len(w.claims()); n <= 5 {
		t.Errorf("%d claims; want some for the pods of the nodes that go", n)
	}
}
