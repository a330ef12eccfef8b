package judge

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

// claims checks the NodeClaims as the API server does, and the limits of their pools.
func (j *Judge) claims(q *question) (failures []Failure) {
	for i, claim := range q.simulation.Claims {
		failures = append(failures, j.claim(claim, i)...)
	}
	for name, pool := range q.pools {
		used := q.used(name)
		for resource, limit := range pool.Spec.Limits {
			if have := used[resource]; have.Cmp(limit) > 0 && q.launches(name) {
				failures = append(failures, Failure{Kind: Overlimit, Text: fmt.Sprintf("pool %s may grow to %s %s, its limit is %s", name, have.String(), resource, limit.String())})
			}
		}
	}
	return failures
}

// claim checks a NodeClaim as the API server does.
func (j *Judge) claim(claim *v1.NodeClaim, number int) (failures []Failure) {
	claim = claim.DeepCopy()
	claim.Name = fmt.Sprintf("%sclaim-%d", claim.GenerateName, number)
	claim.TypeMeta.APIVersion, claim.TypeMeta.Kind = v1.SchemeGroupVersion.String(), "NodeClaim"
	for _, err := range metav1validation.ValidateLabels(claim.Labels, field.NewPath("metadata", "labels")) {
		failures = append(failures, Failure{Kind: Invalid, Text: err.Error()})
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(claim)
	if err != nil {
		return append(failures, Failure{Kind: Invalid, Text: err.Error()})
	}
	for _, found := range j.reader.Check(content) {
		failures = append(failures, Failure{Kind: Invalid, Text: found.Field + ": " + found.Message})
	}
	return failures
}

func (q *question) launches(pool string) bool {
	for _, c := range q.simulation.Plan.NodeClaims {
		if c.Pool == pool {
			return true
		}
	}
	return false
}

// used is what a pool may use once its NodeClaims are launched, each as its largest instance type.
func (q *question) used(pool string) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, node := range q.nodes {
		if node.Labels[v1.NodePoolLabelKey] == pool {
			add(total, node.Status.Capacity)
			add(total, oneNode)
		}
	}
	for i, claim := range q.simulation.Claims {
		if q.simulation.Plan.NodeClaims[i].Pool == pool {
			add(total, check.Largest(q.listed(claim)))
		}
	}
	return total
}
