package translate

import (
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// podSpecs translates the specs of pods to shapes, without their volumes. Equal shapes and selectors are shared.
type podSpecs struct {
	labels    labelTerms
	amounts   amounts
	shapes    *shapes
	cache     *specCache
	selectors *interned[topology.Selector]
	// nodePoolKeys are the NodePool label and its aliases.
	nodePoolKeys []string
	// ignorePreferences leaves out preferences of pods.
	ignorePreferences bool
	// compareTolerations lets tolerations compare numbers.
	compareTolerations bool
	// features are the rows of nodeFeatures that kube-scheduler looks at.
	features []int
}

func newPodSpecs(labels labelTerms, amounts amounts, s Settings) *podSpecs {
	return &podSpecs{
		labels: labels, amounts: amounts, shapes: newShapes(), cache: newSpecCache(), selectors: newInterned[topology.Selector](),
		nodePoolKeys: namesOf(v1.NodePoolLabelKey, labels.rules), ignorePreferences: s.IgnorePreferences,
		features: featuresRequiredBy(s.Minor), compareTolerations: s.CompareTolerations,
	}
}

// namesOf returns a label and its aliases.
func namesOf(label string, rules v1.LabelRules) []string {
	names := []string{label}
	for name, current := range rules.Aliases {
		if current == label {
			names = append(names, name)
		}
	}
	return names
}
