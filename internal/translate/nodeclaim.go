package translate

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// NodeClaim renders one claim of a plan as the object to create, from the pool it was planned with.
// Source: scheduling specification, finalising a claim; lifecycle specification, what a new NodeClaim looks like.
func (t *Translator) NodeClaim(pool *v1.NodePool, c solve.NodeClaim, defaultGracePeriod *metav1.Duration) *v1.NodeClaim {
	claim := t.claimFor(pool, defaultGracePeriod)
	maps.Copy(claim.Labels, c.Labels)
	claim.Annotations[v1.NodeClaimMinValuesRelaxedAnnotationKey] = strconv.FormatBool(c.MinValuesRelaxed)
	if c.PriceOverlaid {
		claim.Annotations[v1.PriceOverlayAppliedAnnotationKey] = "true"
	}
	if c.CapacityOverlaid {
		claim.Annotations[v1.CapacityOverlayAppliedAnnotationKey] = "true"
	}
	if len(c.Drivers) > 0 {
		claim.Annotations[v1.RequestedDRADriversAnnotationKey] = strings.Join(c.Drivers, ",")
	}
	claim.Spec.Requirements = cloud.RequirementEntries(c.Requirements)
	claim.Spec.Resources.Requests = t.ResourceList(c.Requests)
	return claim
}

// StaticNodeClaim renders a claim of a pool with a fixed number of nodes, straight from its template: which instance type
// to launch is the provider's choice.
func (t *Translator) StaticNodeClaim(pool *v1.NodePool, defaultGracePeriod *metav1.Duration) *v1.NodeClaim {
	claim := t.claimFor(pool, defaultGracePeriod)
	reqs := t.poolRequirements(pool).Without(corev1.LabelHostname)
	for _, r := range reqs {
		if !t.Custom(r.Key) || r.AllowsAbsence() {
			continue
		}
		if v := r.Any(); v != "" {
			claim.Labels[r.Key] = v
		}
	}
	claim.Spec.Requirements = cloud.RequirementEntries(reqs)
	return claim
}

// claimAnnotations is about how many annotations a claim gets besides those of its template.
const claimAnnotations = 4

// claimFor is what every claim of the pool has in common.
func (t *Translator) claimFor(pool *v1.NodePool, defaultGracePeriod *metav1.Duration) *v1.NodeClaim {
	// Only what claims share with the template is copied: requirements are theirs alone.
	shared := pool.Spec.Template.Spec
	shared.Requirements = nil
	template := shared.DeepCopy()
	annotations := make(map[string]string, len(pool.Spec.Template.Annotations)+claimAnnotations)
	maps.Copy(annotations, pool.Spec.Template.Annotations)
	annotations[v1.NodePoolHashAnnotationKey] = t.hashes.of(pool)
	annotations[v1.NodePoolHashVersionAnnotationKey] = v1.NodePoolHashVersion
	grace := template.TerminationGracePeriod
	if grace == nil {
		grace = defaultGracePeriod
	}
	block := true
	return &v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: pool.Name + "-",
			Labels:       t.poolLabels(pool),
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
			Taints:                 template.Taints,
			StartupTaints:          template.StartupTaints,
			NodeClassRef:           template.NodeClassRef,
			TerminationGracePeriod: grace,
			ExpireAfter:            template.ExpireAfter,
		},
	}
}
