package check

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// usesDevices reports whether a pod has resource claims. Whether such a pod is rightly refused is not judged.
func usesDevices(spec *corev1.PodSpec) bool { return len(spec.ResourceClaims) > 0 }

// drivers holds the drivers that a claim's node would wait for against its instance types: a driver that one of them does
// not have would be waited for without end.
func (j *judge) drivers(what string, c Claim) {
	for _, driver := range strings.FieldsFunc(c.Object.Annotations[v1.RequestedDRADriversAnnotationKey], func(r rune) bool { return r == ',' }) {
		for _, t := range j.Types[c.Object.Labels[v1.NodePoolLabelKey]] {
			listed := slices.ContainsFunc(c.Object.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
				return r.Key == corev1.LabelInstanceTypeStable && slices.Contains(r.Values, t.Name)
			})
			publishes := t.DynamicResources != nil && slices.ContainsFunc(t.DynamicResources.ResourceSlices, func(s resourcev1.ResourceSlice) bool {
				return s.Spec.Driver == driver
			})
			if listed && !publishes {
				j.fail("%s waits for driver %s, which %s does not have", what, driver, t.Name)
			}
		}
	}
}
