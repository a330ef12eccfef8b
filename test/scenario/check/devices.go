package check

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// usesDevices reports whether a pod has resource claims. Refusals of such pods are not checked.
func usesDevices(spec *corev1.PodSpec) bool { return len(spec.ResourceClaims) > 0 }

// beyondDevices is what is asked without extended resources of device classes that the node does not list: it serves these with devices,
// which are not checked.
func (j *judge) beyondDevices(asked, listed corev1.ResourceList) corev1.ResourceList {
	for _, o := range j.Objects {
		class, ok := o.(*resourcev1.DeviceClass)
		if !ok {
			continue
		}
		names := []string{resourcev1.ResourceDeviceClassPrefix + class.Name}
		if class.Spec.ExtendedResourceName != nil {
			names = append(names, *class.Spec.ExtendedResourceName)
		}
		for _, name := range names {
			if q := listed[corev1.ResourceName(name)]; q.IsZero() {
				delete(asked, corev1.ResourceName(name))
			}
		}
	}
	return asked
}

// drivers checks that every instance type of a claim has the drivers that its node would wait for: the wait for a missing driver never
// ends.
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
