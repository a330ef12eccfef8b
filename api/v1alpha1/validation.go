package v1alpha1

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// RuntimeValidate checks what the API server cannot, and again what it should have. Unlike a pool, an overlay may require
// a pool. The error lists everything that is wrong, joined by "; ", each with the field it is about.
//
// Source: spec API, NodeOverlay runtime validation.
func (o *NodeOverlay) RuntimeValidate(rules v1.LabelRules) error {
	var findings []string
	for i, requirement := range o.Spec.Requirements {
		for _, err := range requirementErrors(requirement, rules) {
			findings = append(findings, fmt.Sprintf("spec.requirements[%d]: %v", i, err))
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods} {
		if _, ok := o.Spec.Capacity[name]; ok {
			findings = append(findings, fmt.Sprintf("spec.capacity[%q]: only extended resources can be changed, this one is what the cloud says", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Spec.Capacity)) {
		amount := o.Spec.Capacity[name]
		switch {
		case amount.Sign() < 0:
			findings = append(findings, fmt.Sprintf("spec.capacity[%q]: %s is negative", name, amount.String()))
		case amount.Cmp(*resource.NewQuantity(amount.Value(), amount.Format)) != 0: // the API server refuses nodes with it
			findings = append(findings, fmt.Sprintf("spec.capacity[%q]: %s is not an integer", name, amount.String()))
		}
	}
	if _, err := o.Spec.PriceChange(); err != nil {
		findings = append(findings, err.Error())
	}
	if len(findings) == 0 {
		return nil
	}
	return errors.New(strings.Join(findings, "; "))
}

// requirementErrors checks one requirement by the rules for pools and pods, and that NotIn excludes something.
func requirementErrors(requirement NodeSelectorRequirement, rules v1.LabelRules) []error {
	errs := v1.RequirementErrors(v1.NodeSelectorRequirementWithMinValues{
		Key: requirement.Key, Operator: requirement.Operator, Values: requirement.Values,
	}, rules)
	if requirement.Operator == corev1.NodeSelectorOpNotIn && len(requirement.Values) == 0 {
		errs = append(errs, fmt.Errorf("key %q: operator NotIn needs at least one value", rules.Normalize(requirement.Key)))
	}
	return errs
}
