package translate

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Owner is the selector of the controller of pods.
type Owner struct {
	// Labels replace those that Services select by: the selector of a ReplicationController.
	Labels map[string]string
	// Selector narrows further: the selector of a ReplicaSet or a StatefulSet.
	Selector *metav1.LabelSelector
}

// ReplicationController returns the selector of a ReplicationController, which defaults to the labels of its template.
func ReplicationController(o *corev1.ReplicationController) Owner {
	if len(o.Spec.Selector) == 0 && o.Spec.Template != nil {
		return Owner{Labels: o.Spec.Template.Labels}
	}
	return Owner{Labels: o.Spec.Selector}
}

// DefaultSelector deduces for pods with these labels which pods they are spread with by default, as kube-scheduler does: the
// selectors of Services that select them are merged, the last one winning, and the selector of the owner is added. Services are those of
// the pods' namespace in the order of their names; owner may be nil. The result is nil if neither selects the pods: such pods get
// no default. Source: scheduling specification, cluster-default spread constraints.
func (t *Translator) DefaultSelector(pods *model.Labels, services []map[string]string, owner *Owner) *topology.Selector {
	chosen := map[string]string{}
	for _, selector := range services {
		if selector != nil && labels.SelectorFromSet(selector).Matches(labels.Set(pods.Values)) {
			maps.Copy(chosen, selector)
		}
	}
	deduced := &metav1.LabelSelector{MatchLabels: chosen}
	if owner != nil {
		maps.Copy(chosen, owner.Labels)
		deduced.MatchExpressions = expressionsOf(owner.Selector)
	}
	if len(chosen)+len(deduced.MatchExpressions) == 0 {
		return nil
	}
	return t.specs.podSelector(deduced, nil)
}

// expressionsOf returns the requirements of a selector with matchLabels as expressions; none for an invalid selector.
func expressionsOf(s *metav1.LabelSelector) []metav1.LabelSelectorRequirement {
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil || s == nil {
		return nil
	}
	var out []metav1.LabelSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		out = append(out, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{s.MatchLabels[key]}})
	}
	return append(out, s.MatchExpressions...)
}

// Spread returns a copy of a pod without spread constraints, with default ones. The pod that is passed in is not changed.
func (t *Translator) Spread(p *model.Pod, constraints []corev1.TopologySpreadConstraint, selector *topology.Selector) *model.Pod {
	shape := *p.Shape
	shape.Spreads = make([]topology.Spread, len(constraints))
	for i := range constraints {
		shape.Spreads[i] = t.specs.spread(&constraints[i], p.Namespace, selector)
	}
	out := *p
	out.Shape = t.specs.shapes.shared(&shape)
	return &out
}
