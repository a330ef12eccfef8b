// Package translate translates between API objects and the values of the engine, once per event. It is the only place where
// quantities become integers, selectors become requirement sets and, on the way back, plans become NodeClaims.
//
// Nothing here decides anything or talks to anybody. Objects that are passed in are never changed.
package translate

import (
	"math"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	dracel "k8s.io/dynamic-resource-allocation/cel"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Translator carries what translations share: the resource names seen so far, the rules for labels, and the shapes and
// labels of pods, so that pods that look alike share them. It is safe for concurrent use.
type Translator struct {
	resources *resource.Table
	labels    v1.LabelRules
	shapes    *shapes
	specs     *specCache
	hashes    hashes
	pods      *interned[model.Labels]
	selectors *interned[topology.Selector]
	// selections are the kinds of device that claims ask for, compiled their selectors.
	selections *interned[device.Selection]
	compiled   func() *dracel.Cache
	// nodePoolKeys are the names of the label that says which pool a node is of.
	nodePoolKeys []string
	// ignorePreferences leaves out what pods merely wish.
	ignorePreferences bool
}

// New is a translator for a cloud's label rules.
func New(labels v1.LabelRules) *Translator {
	return &Translator{
		resources:    resource.NewTable(),
		labels:       labels,
		shapes:       newShapes(),
		specs:        newSpecCache(),
		hashes:       newHashes(),
		nodePoolKeys: namesOf(v1.NodePoolLabelKey, labels),
		pods:         newInterned[model.Labels](),
		selectors:    newInterned[topology.Selector](),

		selections: newInterned[device.Selection](),
		compiled: sync.OnceValue(func() *dracel.Cache {
			return dracel.NewCache(maxExpressions, dracel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
		}),
	}
}

// namesOf are all names of a label, the one in use first. Their order is of no consequence.
func namesOf(label string, rules v1.LabelRules) []string {
	names := []string{label}
	for name, current := range rules.Aliases {
		if current == label {
			names = append(names, name)
		}
	}
	return names
}

// NewWith is a translator that reads what pods merely wish, or one for a policy that ignores it: pods that differ in nothing
// else then ask the same. A wish that keeps a pod off our nodes altogether is heard, because it is no matter of that policy.
// Source: scheduling specification, preferences.
func NewWith(labels v1.LabelRules, wishes bool) *Translator {
	t := New(labels)
	t.ignorePreferences = !wishes
	return t
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
	v := vectorOf(len(list))
	for name, q := range list {
		i := t.resources.Index(string(name))
		v = v.Set(i, amount(i, &q))
	}
	return v
}

// maxAmount is what amounts beyond it count as, so that sums of a few still fit into an integer.
const maxAmount = math.MaxInt64 / 4

// vectorOf is a zero vector with room for that many resources. A short list is of well-known ones, nearly always.
func vectorOf(names int) resource.Vector {
	if names <= resource.Nodes {
		return make(resource.Vector, resource.Nodes)
	}
	return make(resource.Vector, resource.Nodes, resource.Nodes+names)
}

// amount is q in the units of the vectors' entry i, rounded up. Without a bound, what is too large for an integer would wrap
// around, and who asks for more than there is would ask for nothing.
func amount(i int, q *apiresource.Quantity) int64 {
	most, in := int64(maxAmount), q.Value
	if i == resource.CPU {
		most, in = maxAmount/1000, q.MilliValue
	}
	switch {
	case q.CmpInt64(most) > 0:
		return maxAmount
	case q.CmpInt64(-most) < 0:
		return -maxAmount
	}
	return in()
}

// maxExact is the largest amount that sums of a few can be worked out with in integers.
const maxExact = 1 << 59

// exact is amount, and whether it is fit for integer arithmetic: nothing had to be rounded, and it is not absurdly large.
func exact(i int, q *apiresource.Quantity) (int64, bool) {
	n, whole := q.AsInt64()
	switch {
	case i != resource.CPU:
	case whole:
		whole = n > -maxExact/1000 && n < maxExact/1000
		n *= 1000
	default:
		n = q.MilliValue()
		whole = q.Cmp(*apiresource.NewMilliQuantity(n, apiresource.DecimalSI)) == 0
	}
	return n, whole && n > -maxExact && n < maxExact
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
