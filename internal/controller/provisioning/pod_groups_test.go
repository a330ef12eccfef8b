package provisioning

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// gangHarness is a harness with a gang that needs so many pods, each of which fills a node.
func gangHarness(t *testing.T, minCount int32) *harness {
	t.Helper()
	w := newHarness(t, readyPool("pool"))
	w.store.PodGroups.Track()
	w.store.PodGroups.Update(gangOf(minCount))
	return w
}

func gangOf(minCount int32) *schedulingv1beta1.PodGroup {
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train"}}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}
	return group
}

func inGang(pod *corev1.Pod) {
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To("train")}
	pod.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", "3")
}

// secondIsForbidden fails the second creation of a NodeClaim.
func secondIsForbidden() func(op string, o runtime.Object) error {
	var writes atomic.Int32
	return func(op string, o runtime.Object) error {
		if _, isClaim := o.(*v1.NodeClaim); isClaim && op == "create" && writes.Add(1) == 2 {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodeclaims"}, "", errors.New("quota"))
		}
		return nil
	}
}

// staying are the NodeClaims that are not being deleted; the store sees the others go.
func (w *harness) staying() []v1.NodeClaim {
	var out []v1.NodeClaim
	for _, claim := range w.claims() {
		if claim.DeletionTimestamp == nil {
			out = append(out, claim)
		} else {
			w.store.DeleteNodeClaim(claim.Name)
		}
	}
	return out
}

// unconsidered is a pod that kube-scheduler has not marked as unschedulable.
func unconsidered(pod *corev1.Pod) { pod.Status.Conditions = nil }

// TestAPassWaitsForTheRestOfAGroup: for the maximum duration of a batch, while other pods are planned.
func TestAPassWaitsForTheRestOfAGroup(t *testing.T) {
	t.Attr("covers", "N461")
	w := gangHarness(t, 2)
	w.see(pendingPod("a", inGang), pendingPod("b", inGang), pendingPod("c", inGang, unconsidered), pendingPod("single"))
	w.decide()
	if n := len(w.claims()); n != 1 {
		t.Fatalf("%d NodeClaims while a pod of the gang is not considered yet, want that of the single pod", n)
	}
	w.Time.Step(9 * time.Second)
	w.decide()
	if n := len(w.claims()); n != 1 {
		t.Fatalf("%d NodeClaims after 9s, want 1", n)
	}
	w.Time.Step(time.Second)
	w.decide()
	if n := len(w.claims()); n != 3 {
		t.Errorf("%d NodeClaims after the maximum duration of a batch, want those of the two pods too", n)
	}
	complete := gangHarness(t, 2)
	complete.see(pendingPod("a", inGang), pendingPod("b", inGang, unconsidered))
	complete.see(pendingPod("b", inGang))
	complete.decide()
	if n := len(complete.claims()); n != 2 {
		t.Errorf("%d NodeClaims once all pods are marked, want 2", n)
	}
}

// TestNodeClaimsOfAGangAreCreatedTogether: when one cannot be created, the others are deleted, and those for other pods stay.
func TestNodeClaimsOfAGangAreCreatedTogether(t *testing.T) {
	t.Attr("covers", "N464")
	w := gangHarness(t, 3)
	w.Fail = secondIsForbidden()
	w.see(pendingPod("a", inGang), pendingPod("b", inGang), pendingPod("c", inGang))
	if err := w.p.pass(w.Context()); err == nil || !strings.Contains(err.Error(), "quota") {
		t.Fatalf("the pass ends with %v, want the error of the creation", err)
	}
	if left := w.staying(); len(left) != 0 {
		t.Errorf("%d NodeClaims are left for a gang that cannot run", len(left))
	}
	w.Fail = nil
	w.decide()
	if n := len(w.staying()); n != 3 {
		t.Errorf("%d NodeClaims after the retry, want 3", n)
	}
}

// TestPodsAboveTheMinimumMayFail: enough NodeClaims of the gang are created.
func TestPodsAboveTheMinimumMayFail(t *testing.T) {
	t.Attr("covers", "N464")
	w := gangHarness(t, 2)
	w.Fail = secondIsForbidden()
	w.see(pendingPod("a", inGang), pendingPod("b", inGang), pendingPod("c", inGang))
	if err := w.p.pass(w.Context()); err == nil {
		t.Fatal("the pass hides that a NodeClaim could not be created")
	}
	claims := w.claims()
	if len(claims) != 2 {
		t.Fatalf("%d NodeClaims, want the two that the gang needs", len(claims))
	}
	// When one of these is not launched, the second one is of no use.
	if got := w.p.GroupClaims.Failed(claims[0].Name); len(got) != 1 || got[0] != claims[1].Name {
		t.Errorf("without %s, %v are of no use, want %s", claims[0].Name, got, claims[1].Name)
	}
}

// TestGroupsAreReadAgainBeforeTheirNodeClaimsAreCreated: a group that needs more pods meanwhile is planned again.
func TestGroupsAreReadAgainBeforeTheirNodeClaimsAreCreated(t *testing.T) {
	t.Attr("covers", "N466")
	for minCount, want := range map[int32]int{1: 2, 2: 2, 3: 0} {
		t.Run(fmt.Sprint(minCount), func(t *testing.T) {
			w := gangHarness(t, 2)
			w.p.solver = func(in solve.Problem) solve.Plan {
				plan := solve.Solve(in)
				w.store.PodGroups.Update(gangOf(minCount))
				return plan
			}
			w.see(pendingPod("a", inGang), pendingPod("b", inGang))
			w.decide()
			if n := len(w.claims()); n != want {
				t.Errorf("%d NodeClaims for a gang that needs %d pods when they are created, want %d", n, minCount, want)
			}
		})
	}
}
