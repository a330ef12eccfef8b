// Package ingest translates between API objects and the values of the engine, once per event. It is the only place where
// quantities become integers, selectors become requirement sets and, on the way back, plans become NodeClaims.
//
// Nothing here decides anything or talks to anybody. Objects that are passed in are never changed.
package ingest

import (
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Translator carries what translations share: the resource names seen so far, the rules for labels, and the shapes and
// labels of pods, so that pods that look alike share them. It is safe for concurrent use.
type Translator struct {
	resources *resource.Table
	labels    v1.LabelRules
	shapes    interned[model.Shape]
	pods      interned[model.Labels]
	selectors interned[topology.Selector]
}

// New is a translator for a cloud's label rules.
func New(labels v1.LabelRules) *Translator {
	return &Translator{
		resources: resource.NewTable(),
		labels:    labels,
		shapes:    newInterned[model.Shape](),
		pods:      newInterned[model.Labels](),
		selectors: newInterned[topology.Selector](),
	}
}

// Resources names the entries of every vector the translator makes.
func (t *Translator) Resources() *resource.Table { return t.resources }

// WellKnown reports whether nodes need not define the label for pods to demand it.
func (t *Translator) WellKnown(key string) bool { return t.labels.WellKnown[key] }

// Custom reports whether the label is the user's own: neither well-known nor restricted.
func (t *Translator) Custom(key string) bool {
	return !t.labels.WellKnown[key] && !t.labels.Restricted(key)
}

// Vector is list in table order. CPU is rounded up to thousandths, everything else up to whole units.
func (t *Translator) Vector(list corev1.ResourceList) resource.Vector {
	v := make(resource.Vector, resource.Nodes, resource.Nodes+len(list))
	for name, q := range list {
		i := t.resources.Index(string(name))
		if i == resource.CPU {
			v = v.Set(i, q.MilliValue())
		} else {
			v = v.Set(i, q.Value())
		}
	}
	return v
}

// ResourceList is v in API form, without zero amounts.
func (t *Translator) ResourceList(v resource.Vector) corev1.ResourceList {
	out := corev1.ResourceList{}
	names := t.resources.Names()
	for i, amount := range v {
		if amount == 0 || i >= len(names) {
			continue
		}
		out[corev1.ResourceName(names[i])] = quantity(i, amount)
	}
	return out
}

func quantity(i int, amount int64) apiresource.Quantity {
	switch i {
	case resource.CPU:
		return *apiresource.NewMilliQuantity(amount, apiresource.DecimalSI)
	case resource.Memory, resource.EphemeralStorage:
		return *apiresource.NewQuantity(amount, apiresource.BinarySI)
	default:
		return *apiresource.NewQuantity(amount, apiresource.DecimalSI)
	}
}

func taints(list []corev1.Taint) []model.Taint {
	out := make([]model.Taint, len(list))
	for i, t := range list {
		out[i] = model.Taint{Key: t.Key, Value: t.Value, Effect: model.Effect(t.Effect)}
	}
	return out
}
