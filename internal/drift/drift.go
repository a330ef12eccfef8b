// Package drift tells whether NodeClaims still match the NodePool that they were launched for. The cloud provider decides about its own part.
//
// Source: lifecycle specification, drift.
package drift

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// OfTemplate returns why the NodeClaim no longer matches the template of its NodePool, or an empty reason.
func OfTemplate(pool *v1.NodePool, claim *v1.NodeClaim, rules v1.LabelRules) cloud.DriftReason {
	switch {
	case hashDrifted(pool.Annotations, claim.Annotations):
		return cloud.NodePoolDrifted
	case requirementsDrifted(pool, claim, rules):
		return cloud.RequirementsDrifted
	default:
		return ""
	}
}

// hashDrifted compares the hashes of the static template fields.
func hashDrifted(pool, claim map[string]string) bool {
	return HashesCompare(pool, claim) && pool[v1.NodePoolHashAnnotationKey] != claim[v1.NodePoolHashAnnotationKey]
}

// HashesCompare reports whether the annotations of a NodePool and of a NodeClaim have hashes of the same version. Others are not compared: such a
// NodeClaim does not drift when the template is edited.
func HashesCompare(pool, claim map[string]string) bool {
	_, ok1 := pool[v1.NodePoolHashAnnotationKey]
	poolVersion, ok2 := pool[v1.NodePoolHashVersionAnnotationKey]
	_, ok3 := claim[v1.NodePoolHashAnnotationKey]
	claimVersion, ok4 := claim[v1.NodePoolHashVersionAnnotationKey]
	return ok1 && ok2 && ok3 && ok4 && poolVersion == claimVersion
}

// requirementsDrifted reports whether the labels of the NodeClaim do not satisfy the requirements of the NodePool.
func requirementsDrifted(pool *v1.NodePool, claim *v1.NodeClaim, rules v1.LabelRules) bool {
	have := cloud.LabelRequirements(claim.Labels, rules)
	return !have.Compatible(cloud.Requirements(pool.Spec.Template.Spec.Requirements, rules), requirement.Strict)
}

// StillOffered reports whether the instance type of the NodeClaim exists with an offering, available or not, that matches its labels.
// A reserved NodeClaim may become on-demand, so its reservation does not count.
func StillOffered(types []*cloud.InstanceType, claim *v1.NodeClaim, c cloud.Cloud) bool {
	name := claim.Labels[corev1.LabelInstanceTypeStable]
	have := cloud.LabelRequirements(claim.Labels, c.Labels)
	if claim.Labels[v1.CapacityTypeLabelKey] == v1.CapacityTypeReserved {
		have = have.Replace(requirement.New(v1.CapacityTypeLabelKey, requirement.In, v1.CapacityTypeReserved, v1.CapacityTypeOnDemand))
		if c.ReservationIDLabel != "" {
			have = have.Without(c.ReservationIDLabel)
		}
	}
	undefined := func(key string) bool { return c.Labels.WellKnown[key] || key == c.ReservationIDLabel }
	for _, t := range types {
		if t.Name != name || name == "" {
			continue
		}
		for i := range t.Offerings {
			if have.Compatible(cloud.Requirements(t.Offerings[i].Requirements, c.Labels), undefined) {
				return true
			}
		}
	}
	return false
}
