package translate

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// volumeTerms translates the volumes of pods.
type volumeTerms struct{ labels labelTerms }

// topology returns where all volumes of a pod can be used together. It fails if an object that they refer to
// does not exist. Source: scheduling specification, topology alternatives of volumes.
func (v volumeTerms) topology(uses []volumeUse) ([]requirement.Set, error) {
	perVolume := make([][]requirement.Set, len(uses))
	for i, u := range uses {
		alternatives, err := v.alternatives(u)
		if err != nil {
			return nil, fmt.Errorf("failed to get volume topology, %w", err)
		}
		perVolume[i] = volume.Union(alternatives)
	}
	return volume.Intersection(perVolume...), nil
}

func (v volumeTerms) alternatives(u volumeUse) ([]requirement.Set, error) {
	switch {
	case u.claim == nil:
		return nil, u.problem("persistentvolumeclaim not found")
	case u.claim.Spec.VolumeName != "" && u.volume == nil:
		return nil, u.problem("persistentvolume not found")
	case u.volume != nil:
		return v.volumeAlternatives(u)
	case u.className() != "" && u.class == nil:
		return nil, u.problem("storageclass not found")
	case u.class != nil:
		return v.classAlternatives(u)
	}
	return nil, nil
}

// volumeAlternatives are the terms of a volume's node affinity. The data of a local volume is lost together with its
// node, so that the pod can be rescheduled: the name of the node is not required then.
func (v volumeTerms) volumeAlternatives(u volumeUse) ([]requirement.Set, error) {
	affinity := u.volume.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil || len(affinity.Required.NodeSelectorTerms) == 0 {
		return nil, nil
	}
	nodeBound := u.volume.Spec.Local != nil || u.volume.Spec.HostPath != nil
	var out []requirement.Set
	var invalid string // why the first invalid term is
	for _, term := range affinity.Required.NodeSelectorTerms {
		if emptyTerm(term) {
			continue
		}
		if why := unparsable(term); why != "" {
			invalid = cmp.Or(invalid, why)
			continue
		}
		set := v.labels.expressions(slices.Concat(term.MatchExpressions, namesAsLabels(term.MatchFields)))
		if nodeBound {
			set = set.Without(corev1.LabelHostname)
		}
		out = append(out, set)
	}
	if len(out) == 0 {
		return nil, u.problem("node affinity of persistentvolume matches no node", because(invalid)...)
	}
	return out, nil
}

// namesAsLabels translates match fields on the name of a node, the only supported field, to requirements on its label.
func namesAsLabels(fields []corev1.NodeSelectorRequirement) []corev1.NodeSelectorRequirement {
	out := slices.Clone(fields)
	for i := range out {
		out[i].Key = corev1.LabelHostname
	}
	return out
}

// classAlternatives are the allowed topologies of a StorageClass.
func (v volumeTerms) classAlternatives(u volumeUse) ([]requirement.Set, error) {
	var out []requirement.Set
	var invalid string // why the first invalid term is
	for _, allowed := range u.class.AllowedTopologies {
		var term corev1.NodeSelectorTerm
		for _, e := range allowed.MatchLabelExpressions {
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
				Key: e.Key, Operator: corev1.NodeSelectorOpIn, Values: e.Values,
			})
		}
		if emptyTerm(term) {
			continue
		}
		// The API server does not check these values.
		if why := unparsable(term); why != "" {
			invalid = cmp.Or(invalid, why)
			continue
		}
		out = append(out, v.labels.expressions(term.MatchExpressions))
	}
	if len(out) == 0 && len(u.class.AllowedTopologies) > 0 {
		return nil, u.problem("allowed topologies of storageclass match no node", because(invalid)...)
	}
	return out, nil
}

// because is the pair of key and value that explains a problem, or none.
func because(invalid string) []string {
	if invalid == "" {
		return nil
	}
	return []string{"invalid", invalid}
}
