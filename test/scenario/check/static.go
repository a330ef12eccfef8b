package check

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// minAllocatableOfStatic is the allocatable that a NodeClaim of a static pool has at least before it is launched, whichever of its
// instance types it is launched as; nil for every other NodeClaim.
func (j *judge) minAllocatableOfStatic(claim *v1.NodeClaim) corev1.ResourceList {
	if claim == nil || claim.Status.ProviderID != "" {
		return nil
	}
	pool := j.pools[claim.Labels[v1.NodePoolLabelKey]]
	if pool == nil || pool.Spec.Replicas == nil {
		return nil
	}
	var least corev1.ResourceList
	for _, t := range j.StaticTypes[pool.Name] {
		for _, m := range Candidates(t, claim.Labels, claim.Spec.Taints) {
			if !Allowed(claim.Spec.Requirements, m.Node.Labels) {
				continue
			}
			if least == nil {
				least = m.Allocatable.DeepCopy()
			}
			for name, q := range least {
				if have := m.Allocatable[name]; have.Cmp(q) < 0 {
					least[name] = have
				}
			}
		}
	}
	return least
}
