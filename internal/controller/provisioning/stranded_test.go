package provisioning

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// foreignNode shows a node that no NodePool has.
func (w *harness) foreignNode(name, cpu string) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Spec.ProviderID = "other://" + name
	n.Status.Capacity = fakecluster.Resources("cpu", cpu, "memory", "16Gi", "pods", "110")
	n.Status.Allocatable = n.Status.Capacity
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.store.UpdateNode(n)
}

// started shows the node of a NodeClaim, initialized.
func (w *harness) started(claim *v1.NodeClaim) {
	claim.Status.ProviderID = "test:///" + claim.Name
	claim.Status.NodeName = claim.Name
	claim.Status.Capacity = fakecluster.Resources("cpu", "4", "memory", "16Gi", "pods", "110")
	claim.Status.Allocatable = claim.Status.Capacity
	w.store.UpdateNodeClaim(claim)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Labels: map[string]string{
		corev1.LabelHostname: claim.Name, v1.NodePoolLabelKey: claim.Labels[v1.NodePoolLabelKey], corev1.LabelInstanceTypeStable: "small",
		v1.NodeRegisteredLabelKey: "true", v1.NodeInitializedLabelKey: "true",
	}}}
	n.Spec.ProviderID = claim.Status.ProviderID
	n.Status.Capacity, n.Status.Allocatable = claim.Status.Capacity, claim.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.store.UpdateNode(n)
}

// gangMember is a pod of the gang that was created at a second.
func gangMember(name, cpu string, second int64) *corev1.Pod {
	return pendingPod(name, inGang, func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(time.Unix(1e9+second, 0))
		p.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", cpu)
	})
}

// decideFor makes passes for some time.
func (w *harness) decideFor(d time.Duration) {
	w.Helper()
	for end := w.Time.Now().Add(d); w.Time.Now().Before(end); w.Time.Step(10 * time.Second) {
		w.decide()
	}
}

// TestAGangDoesNotWaitForeverForExistingNodes: kube-scheduler puts the older pod on the node with the best score, which is the one that the other
// pod needs, in each attempt.
func TestAGangDoesNotWaitForeverForExistingNodes(t *testing.T) {
	t.Attr("covers", "N469")
	w := gangHarness(t, 2)
	w.foreignNode("a-small", "1")
	w.foreignNode("b-large", "4")
	w.see(gangMember("driver", "500m", 0), gangMember("worker", "3750m", 60))
	w.decideFor(problem.StrandedAfter)
	if n := len(w.claims()); n != 0 {
		t.Fatalf("%d NodeClaims although existing nodes have capacity", n)
	}
	w.decide()
	w.decideFor(2 * problem.StrandedAfter)
	claims := w.claims()
	if n := len(claims); n != 2 {
		t.Fatalf("%d NodeClaims for the gang while it is pending and they start, want one for each pod", n)
	}
	for i := range claims {
		w.started(&claims[i])
	}
	w.decideFor(2 * problem.StrandedAfter)
	if n := len(w.claims()); n != 2 {
		t.Errorf("%d NodeClaims soon after their nodes have started, want 2", n)
	}
	w.decide()
	if n := len(w.claims()); n != 4 {
		t.Errorf("%d NodeClaims for the gang, which the nodes have not helped, want 4", n)
	}
}

// TestAGangThatIsPlacedIsForgotten: the next one of the same name may use all nodes.
func TestAGangThatIsPlacedIsForgotten(t *testing.T) {
	w := gangHarness(t, 2)
	w.foreignNode("a-small", "1")
	w.foreignNode("b-large", "4")
	for round := range 3 {
		driver, worker := gangMember(fmt.Sprint("driver", round), "500m", 0), gangMember(fmt.Sprint("worker", round), "3750m", 60)
		w.see(driver, worker)
		w.decideFor(problem.StrandedAfter - 10*time.Second)
		w.store.DeletePod(string(driver.UID))
		w.store.DeletePod(string(worker.UID))
		w.decide()
		if n := len(w.claims()); n != 0 || len(w.p.stranded) != 0 {
			t.Fatalf("round %d: %d NodeClaims, and %d groups are remembered", round, n, len(w.p.stranded))
		}
	}
}
