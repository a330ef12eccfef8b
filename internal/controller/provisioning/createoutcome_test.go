package provisioning

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestALostResponseMakesNoSecondNodeClaim: a NodeClaim is written, its writer gets an error, and the watch has not delivered it yet.
// The next pass must not create a second NodeClaim for the same pod.
func TestALostResponseMakesNoSecondNodeClaim(t *testing.T) {
	for name, lost := range map[string]int{"one answer is lost": 1, "every answer is lost": 1000} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, readyPool("default"))
			pod := pendingPod("p")
			w.Add(pod)
			w.see(pod)
			calls := 0
			w.Fail = func(op string, obj runtime.Object) error {
				claim, isClaim := obj.(*v1.NodeClaim)
				if !isClaim || op != "create" {
					return nil
				}
				if calls++; calls > lost {
					return nil
				}
				if calls == 1 {
					w.Add(claim.DeepCopy())
				}
				return apierrors.NewInternalError(errors.New("etcd is slow"))
			}
			if err := w.p.pass(w.Context()); (err != nil) != (lost > 1) {
				t.Errorf("the pass ends with %v", err)
			}
			w.Fail = nil
			w.decide()
			if n := len(w.claims()); n != 1 {
				t.Errorf("%d nodeclaims for one pod", n)
			}
		})
	}
}
