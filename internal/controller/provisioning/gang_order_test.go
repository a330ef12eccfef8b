package provisioning

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/problem"
)

// alwaysFits reports whether pods that are tried in any order, and put on any node with enough CPU, all find one. free is the milli-CPUs of
// nodes, requests those of the pods that are left.
func alwaysFits(free, requests []int64) bool {
	for i, request := range requests {
		rest := slices.Delete(slices.Clone(requests), i, i+1)
		placed := false
		for n := range free {
			if free[n] < request {
				continue
			}
			placed = true
			left := slices.Clone(free)
			if left[n] -= request; !alwaysFits(left, rest) {
				return false
			}
		}
		if !placed {
			return false
		}
	}
	return true
}

// TestAGangRunsInWhateverOrderItIsTried: kube-scheduler tries the pods of a group by attempts, by the time at which it saw them, and by name. Once it is
// restarted it sees them in the order of a list, which is not that of their creation: existing nodes that hold the group in one order do not in
// another one.
func TestAGangRunsInWhateverOrderItIsTried(t *testing.T) {
	t.Attr("covers", "N451")
	w := gangHarness(t, 2)
	w.foreignNode("a-large", "4")
	w.foreignNode("b-small", "1")
	first, last := gangMember("worker", "3750m", 0), gangMember("driver", "500m", 60)
	w.see(first, last)
	free := []int64{4000, 1000}
	var requests []int64
	for _, pod := range []*corev1.Pod{first, last} {
		requests = append(requests, pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue())
	}
	if alwaysFits(free, requests) {
		t.Fatal("the nodes hold the pods in every order: the test shows nothing")
	}
	w.decideFor(problem.StrandedAfter)
	if n := len(w.claims()); n != 0 {
		t.Fatalf("%d NodeClaims although existing nodes hold the pods in order of creation", n)
	}
	w.decide()
	claims := w.claims()
	for i := range claims {
		w.started(&claims[i])
		free = append(free, claims[i].Status.Allocatable.Cpu().MilliValue())
	}
	if !alwaysFits(free, requests) {
		t.Errorf("nodes with %v milli-CPUs do not hold the pods in every order", free)
	}
}
