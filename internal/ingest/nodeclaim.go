package ingest

import (
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// NodeClaim renders one claim of a plan as the object to create, from the pool it was planned with.
// Source: scheduling specification, finalising a claim; lifecycle specification, what a new NodeClaim looks like.
func (t *Translator) NodeClaim(pool *v1.NodePool, c solve.Claim, defaultGracePeriod *metav1.Duration) *v1.NodeClaim {
	template := pool.Spec.Template.DeepCopy()
	labels := t.poolLabels(pool)
	maps.Copy(labels, c.Labels)
	annotations := map[string]string{}
	maps.Copy(annotations, template.Annotations)
	annotations[v1.NodePoolHashAnnotationKey] = pool.Hash()
	annotations[v1.NodePoolHashVersionAnnotationKey] = v1.NodePoolHashVersion
	annotations[v1.NodeClaimMinValuesRelaxedAnnotationKey] = strconv.FormatBool(false)
	if c.PriceOverlaid {
		annotations[v1.PriceOverlayAppliedAnnotationKey] = "true"
	}
	if c.CapacityOverlaid {
		annotations[v1.CapacityOverlayAppliedAnnotationKey] = "true"
	}
	grace := template.Spec.TerminationGracePeriod
	if grace == nil {
		grace = defaultGracePeriod
	}
	block := true
	return &v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: pool.Name + "-",
			Labels:       labels,
			Annotations:  annotations,
			// Nothing may be launched without it, so it is there from the first write.
			Finalizers: []string{v1.TerminationFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion:         v1.SchemeGroupVersion.String(),
				Kind:               "NodePool",
				Name:               pool.Name,
				UID:                pool.UID,
				BlockOwnerDeletion: &block,
			}},
		},
		Spec: v1.NodeClaimSpec{
			Taints:                 template.Spec.Taints,
			StartupTaints:          template.Spec.StartupTaints,
			Requirements:           cloud.RequirementEntries(c.Requirements),
			Resources:              v1.ResourceRequirements{Requests: t.ResourceList(c.Requests)},
			NodeClassRef:           template.Spec.NodeClassRef,
			TerminationGracePeriod: grace,
			ExpireAfter:            template.Spec.ExpireAfter,
		},
	}
}
