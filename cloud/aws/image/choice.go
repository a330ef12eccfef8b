package image

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Found is an image as EC2 describes it. Its tags do not matter.
type Found struct {
	ID, Name, Architecture string
	Created                time.Time
	// Deprecated is when the owner replaces the image; zero for never.
	Deprecated time.Time
	// Variants are what the image serves; none for images that the user selected.
	Variants []Variant
}

// entry is an image for one variant.
type entry struct {
	Found
	requirements []corev1.NodeSelectorRequirement
	outdated     bool
}

// Reduce keeps one image for each kind of hardware: one in force before one that is outdated, then the newest, then the one
// with the greatest name. The result is in order of age, the newest first, then of id.
func Reduce(found []Found, of awsv1.Family, now time.Time) []awsv1.AMI {
	best := map[string]entry{}
	for _, image := range found {
		variants := image.Variants
		if len(variants) == 0 {
			variants = []Variant{VariantAny}
		}
		for _, variant := range variants {
			requirements, ok := Requirements(image.Architecture, variant, of)
			if !ok {
				continue
			}
			e := entry{image, requirements, !image.Deprecated.IsZero() && !image.Deprecated.After(now)}
			key := fmt.Sprint(requirements)
			if have, taken := best[key]; !taken || e.better(have) {
				best[key] = e
			}
		}
	}
	var kept []entry
	for _, key := range slices.Sorted(maps.Keys(best)) {
		kept = append(kept, best[key])
	}
	slices.SortStableFunc(kept, func(a, b entry) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	var out []awsv1.AMI
	for _, e := range kept {
		out = append(out, awsv1.AMI{ID: e.ID, Name: e.Name, Deprecated: e.outdated, Requirements: e.requirements})
	}
	return out
}

// better reports whether e is kept instead of o.
func (e entry) better(o entry) bool {
	if e.outdated != o.outdated {
		return o.outdated
	}
	return cmp.Or(e.Created.Compare(o.Created), strings.Compare(e.Name, o.Name), strings.Compare(e.ID, o.ID)) > 0
}

// Choose returns the image for instances of a type: the first whose requirements the type meets.
func Choose(images []awsv1.AMI, t *cloud.InstanceType) (awsv1.AMI, bool) {
	rules := awsv1.LabelRules()
	set := cloud.Requirements(t.Requirements, rules)
	for _, image := range images {
		entries := make([]v1.NodeSelectorRequirementWithMinValues, 0, len(image.Requirements))
		for _, r := range image.Requirements {
			entries = append(entries, v1.NodeSelectorRequirementWithMinValues{Key: r.Key, Operator: r.Operator, Values: r.Values})
		}
		if set.Compatible(cloud.Requirements(entries, rules), requirement.Strict) {
			return image, true
		}
	}
	return awsv1.AMI{}, false
}
