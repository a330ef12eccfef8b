package image

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
)

// List returns images for the status of a class, in the order of definitions. newest returns the id of the newest version of a definition;
// definitions of which there is none are left out.
func List(definitions []family.Definition, newest func(family.Definition) (ID, bool)) []v1beta1.NodeImage {
	var out []v1beta1.NodeImage
	for _, d := range definitions {
		id, ok := newest(d)
		if !ok || id.Version == "" {
			continue
		}
		// The shorter key comes first, so that a status is written the same way each time.
		out = append(out, v1beta1.NodeImage{ID: id.String(), Requirements: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{d.Arch}},
			{Key: label.SKUHyperVGeneration, Operator: corev1.NodeSelectorOpIn, Values: []string{d.HyperVGeneration}},
		}})
	}
	return out
}

// KeepVersions returns the images that a class uses while it must not adopt newer ones: those that were discovered, with the versions that it
// uses now where it uses the same definition. It uses new definitions at their newest version, and none that were not discovered.
func KeepVersions(current, discovered []v1beta1.NodeImage) []v1beta1.NodeImage {
	out := slices.Clone(discovered)
	for i := range out {
		at := slices.IndexFunc(current, func(have v1beta1.NodeImage) bool { return strings.EqualFold(base(have.ID), base(out[i].ID)) })
		if at >= 0 {
			out[i].ID = current[at].ID
		}
	}
	return out
}

// base is the id of the definition: that of the version without its last two segments.
func base(id string) string {
	for range 2 {
		id = id[:max(strings.LastIndexByte(id, '/'), 0)]
	}
	return id
}

// Choose returns the image of an instance type, given its requirements: the first of which they meet the requirements. Well-known and
// internal labels that the type does not have make no difference. It is false if there is none.
func Choose(images []v1beta1.NodeImage, instanceType []v1.NodeSelectorRequirementWithMinValues) (v1beta1.NodeImage, bool) {
	rules := label.Rules()
	set := cloud.Requirements(instanceType, rules)
	for _, image := range images {
		entries := make([]v1.NodeSelectorRequirementWithMinValues, 0, len(image.Requirements))
		for _, r := range image.Requirements {
			entries = append(entries, v1.NodeSelectorRequirementWithMinValues{Key: r.Key, Operator: r.Operator, Values: r.Values})
		}
		if set.Compatible(cloud.Requirements(entries, rules), rules.AllowsUndefined) {
			return image, true
		}
	}
	return v1beta1.NodeImage{}, false
}
