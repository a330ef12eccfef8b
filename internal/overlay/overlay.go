// Package overlay applies NodeOverlays to the instance types that a cloud lists: prices and extended resources.
//
// Problem: every pool may have other types at other prices, a cloud lists hundreds of types with dozens of offerings each, and
// the lists change every minute. Approach: Evaluate validates the overlays against all pools once after every change, and returns
// the overlays in effect. Corrections applies these to the current list of the cloud, so that newer prices and types are corrected
// too.
//
// Invariant: the cloud's instance types are never changed. A corrected type is a copy that shares all other fields; a type without
// an overlay is the cloud's own.
//
// Source: scheduling specification, NodeOverlay.
package overlay

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Pool is a NodePool with the instance types that the cloud lists for it, without overlays.
type Pool struct {
	NodePool *v1.NodePool
	Types    []*cloud.InstanceType
}

// Result is the evaluation of one overlay.
type Result struct {
	// Overlay is the object as it was handed in.
	Overlay *v1alpha1.NodeOverlay
	// Reason is empty if the overlay is in effect; otherwise Reason and Message are those of the condition.
	Reason, Message string
	// Unmatched is set if the overlay is in effect and no instance type of a pool meets its requirements.
	Unmatched bool
	// With is the name of the overlay that it conflicts with; empty for other results.
	With string
}

// conflictMessage is the message of the condition of an overlay that is left out because of another one.
const conflictMessage = "conflict with another overlay"

// term is an overlay in the terms of the label algebra.
type term struct {
	name     string
	weight   int32
	want     requirement.Set
	price    v1alpha1.PriceChange
	capacity corev1.ResourceList
}

func newTerm(o *v1alpha1.NodeOverlay, rules v1.LabelRules) term {
	t := term{name: o.Name, weight: weightOf(o), capacity: o.Spec.Capacity}
	for _, r := range o.Spec.Requirements {
		t.want = t.want.Add(cloud.Requirement(r.Key, r.Operator, r.Values, rules))
	}
	t.price, _ = o.Spec.PriceChange() // validated
	return t
}

// inOrder returns overlays in order of precedence: by weight, then by name, both descending.
func inOrder(overlays []*v1alpha1.NodeOverlay) []*v1alpha1.NodeOverlay {
	out := slices.Clone(overlays)
	slices.SortStableFunc(out, func(a, b *v1alpha1.NodeOverlay) int {
		return cmp.Or(cmp.Compare(weightOf(b), weightOf(a)), strings.Compare(b.Name, a.Name))
	})
	return out
}

func weightOf(o *v1alpha1.NodeOverlay) int32 {
	if o.Spec.Weight == nil {
		return 0
	}
	return *o.Spec.Weight
}

// labelsOf are the labels of a pool that overlays can select it by.
func labelsOf(pool *v1.NodePool, rules v1.LabelRules) requirement.Set {
	labels := cloud.LabelRequirements(pool.Spec.Template.Labels, rules)
	return labels.Replace(requirement.New(v1.NodePoolLabelKey, requirement.In, pool.Name))
}
