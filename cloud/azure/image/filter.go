package image

import (
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
)

// supposedVersion is the version of a release that is only supposed to be published.
const supposedVersion = "supposed"

// Supposed returns the images that AKS publishes for a class in shared galleries, for where the status of the class does not name any. Their
// versions are not those of real images.
func Supposed(class *v1beta1.AKSNodeClass, kubernetesVersion string) ([]v1beta1.NodeImage, error) {
	of, err := family.Of(class, kubernetesVersion)
	if err != nil {
		return nil, err
	}
	return List(of.Definitions(class.FIPS(), class.TrustedLaunch(), true), func(d family.Definition) (ID, bool) {
		return CommunityID(of, d.Name, supposedVersion), true
	}), nil
}

// Filter tells for which instance types there is an image. Types that are alike in all that images require are looked at once. Make one with
// NewFilter; it is not safe for concurrent use.
type Filter struct {
	images []v1beta1.NodeImage
	keys   []string
	known  map[string]bool
}

// NewFilter returns the filter of a list of images. Without images it lets all instance types through: what a class has is not known then.
func NewFilter(images []v1beta1.NodeImage) *Filter {
	out := &Filter{images: images, known: map[string]bool{}}
	for _, image := range images {
		for _, r := range image.Requirements {
			out.keys = append(out.keys, r.Key)
		}
	}
	slices.Sort(out.keys)
	out.keys = slices.Compact(out.keys)
	return out
}

// Has reports whether there is an image for an instance type, given its requirements.
func (f *Filter) Has(instanceType []v1.NodeSelectorRequirementWithMinValues) bool {
	if len(f.images) == 0 {
		return true
	}
	alike := f.required(instanceType)
	has, known := f.known[alike]
	if !known {
		_, has = Choose(f.images, instanceType)
		f.known[alike] = has
	}
	return has
}

// required is a text of what an instance type has of the labels that images require.
func (f *Filter) required(instanceType []v1.NodeSelectorRequirementWithMinValues) string {
	var out strings.Builder
	for _, r := range instanceType {
		if _, relevant := slices.BinarySearch(f.keys, r.Key); relevant {
			out.WriteString(r.Key + " " + string(r.Operator) + " " + strings.Join(r.Values, ",") + ";")
		}
	}
	return out.String()
}

// Requirements is a text of what a list of images requires, in its order: lists with the same text have the same filter.
func Requirements(images []v1beta1.NodeImage) string {
	var out strings.Builder
	for _, image := range images {
		for _, r := range image.Requirements {
			out.WriteString(r.Key + " " + string(r.Operator) + " " + strings.Join(r.Values, ",") + ";")
		}
		out.WriteByte('|')
	}
	return out.String()
}
