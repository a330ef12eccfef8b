package explain

import (
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestPodDisruptionBudgets: waiting for healthy pods does not help where a budget never allows a disruption, or has no status.
func TestPodDisruptionBudgets(t *testing.T) {
	one, all, none := intstr.FromInt32(1), intstr.FromString("100%"), intstr.FromInt32(0)
	for name, c := range map[string]struct {
		change func(*policyv1.PodDisruptionBudget)
		want   string
	}{
		"all pods have to be healthy": {func(*policyv1.PodDisruptionBudget) {}, `    pod shop/front-1; shop/front has 1 healthy pods and wants 1 of 1: none may ever go
    what would help: Lower minAvailable of PodDisruptionBudget shop/front, or run more than its 1 pod: with these, it never allows a disruption.
`},
		"all pods by percentage": {func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = &all }, `    pod shop/front-1; shop/front has 1 healthy pods and wants 1 of 1: none may ever go
    what would help: Lower minAvailable of PodDisruptionBudget shop/front, which is 100%: it never allows a disruption.
`},
		"none may be unavailable": {func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &none
		}, `    pod shop/front-1; shop/front has 1 healthy pods and wants 1 of 1: none may ever go
    what would help: Raise maxUnavailable of PodDisruptionBudget shop/front, which is 0: it never allows a disruption.
`},
		"none may be unavailable, without a status": {func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable, b.Spec.MaxUnavailable, b.Status = nil, &none, policyv1.PodDisruptionBudgetStatus{}
		}, `    pod shop/front-1; shop/front has no status yet, and allows no disruption whatever its pods are
    what would help: Raise maxUnavailable of PodDisruptionBudget shop/front, which is 0: it never allows a disruption.
`},
		"without a status": {func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable, b.Spec.MaxUnavailable, b.Status = nil, &one, policyv1.PodDisruptionBudgetStatus{}
		}, `    pod shop/front-1; shop/front has no status for its present spec yet
    what would help: Wait until the disruption controller of kube-controller-manager has written the status of PodDisruptionBudget shop/front; look in its log if that lasts.
`},
		"with the status of another spec": {func(b *policyv1.PodDisruptionBudget) { b.Generation = 2 }, `    pod shop/front-1; shop/front has no status for its present spec yet
    what would help: Wait until the disruption controller of kube-controller-manager has written the status of PodDisruptionBudget shop/front; look in its log if that lasts.
`},
		"too few pods are healthy": {func(b *policyv1.PodDisruptionBudget) { b.Status.ExpectedPods = 3 }, `    pod shop/front-1; shop/front has 1 healthy pods and wants 1
    what would help: Loosen the PodDisruptionBudget, or wait until more of its pods are healthy.
`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := AboutNode(t.Context(), shop(t, quiet, change("front", c.change)), "node-1")
			if err != nil {
				t.Fatal(err)
			}
			if text := got.Text(); !strings.HasSuffix(text, c.want) {
				t.Errorf("got:\n%s\nwant at the end:\n%s", text, c.want)
			}
		})
	}
}
