package translate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// NodeClaim returns the object to create for a NodeClaim of a plan, from the NodePool it was planned with.
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
	// The schema refuses restricted labels. The anti-affinity of other pods may exclude values of one, which a new node never has.
	claim.Spec.Requirements = slices.DeleteFunc(cloud.RequirementEntries(c.Requirements), func(e v1.NodeSelectorRequirementWithMinValues) bool {
		excludes := e.Operator == corev1.NodeSelectorOpNotIn || e.Operator == corev1.NodeSelectorOpDoesNotExist
		return excludes && t.labels.rules.Restricted(e.Key)
	})
	claim.Spec.Resources.Requests = t.ResourceList(c.Requests)
	return claim
}

// StaticNodeClaim returns a NodeClaim of a static NodePool, directly from its template: the provider chooses the instance type.
func (t *Translator) StaticNodeClaim(pool *v1.NodePool, defaultGracePeriod *metav1.Duration) *v1.NodeClaim {
	claim := t.claimFor(pool, defaultGracePeriod)
	reqs := t.labels.poolRequirements(pool).Without(corev1.LabelHostname)
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

// claimAnnotations is the approximate number of annotations besides those of the template.
const claimAnnotations = 4

// claimFor returns the fields that all NodeClaims of the pool have in common.
func (t *Translator) claimFor(pool *v1.NodePool, defaultGracePeriod *metav1.Duration) *v1.NodeClaim {
	// Requirements are computed for each NodeClaim and not copied.
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
			Labels:       poolLabels(pool),
			Annotations:  annotations,
			// No instance may be launched without it, so it is set on creation.
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
