// Package translate converts between API objects and the values of the engine, once per event. It is the only place where
// quantities become integers, selectors become requirement sets and, in the other direction, plans become NodeClaims.
//
// It makes no decisions and does no I/O. Objects that are passed in are never changed.
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

// Translator holds the state that translations share: resource names, label rules, and the shapes and labels of pods, so that
// equal pods share them. It is safe for concurrent use.
type Translator struct {
	resources *resource.Table
	labels    v1.LabelRules
	shapes    *shapes
	specs     *specCache
	hashes    hashes
	pods      *interned[model.Labels]
	selectors *interned[topology.Selector]
	// selections are shared by claims with equal selectors; compiled caches the selectors' expressions.
	selections *interned[device.Selection]
	compiled   func() *dracel.Cache
	// nodePoolKeys are the NodePool label and its aliases.
	nodePoolKeys []string
	// ignorePreferences leaves out preferences of pods.
	ignorePreferences bool
}

// New returns a Translator for a cloud's label rules.
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

// NewWith returns a Translator that translates preferences of pods, or leaves them out for preference policy Ignore: pods that
// differ only in preferences then share a shape. A preference that excludes all nodes with a NodePool is kept in both cases.
// Source: scheduling specification, preferences.
func NewWith(labels v1.LabelRules, preferences bool) *Translator {
	t := New(labels)
	t.ignorePreferences = !preferences
	return t
}

// Resources returns the names of the entries of every vector that the translator creates.
func (t *Translator) Resources() *resource.Table { return t.resources }

// WellKnown reports whether pods may require the label although the NodePool does not define it.
func (t *Translator) WellKnown(key string) bool { return t.labels.WellKnown[key] }

// Custom reports whether the label is the user's own: neither well-known nor restricted.
func (t *Translator) Custom(key string) bool {
	return !t.labels.WellKnown[key] && !t.labels.Restricted(key)
}

// Vector returns list in table order. CPU is rounded up to thousandths, all other resources up to whole units.
func (t *Translator) Vector(list corev1.ResourceList) resource.Vector {
	v := vectorOf(len(list))
	for name, q := range list {
		i := t.resources.Index(string(name))
		v = v.Set(i, amount(i, &q))
	}
	return v
}

// maxAmount replaces larger amounts, so that sums of a few do not overflow.
const maxAmount = math.MaxInt64 / 4

// vectorOf returns a zero vector with capacity for that many resources. A short list nearly always has well-known ones only.
func vectorOf(names int) resource.Vector {
	if names <= resource.Nodes {
		return make(resource.Vector, resource.Nodes)
	}
	return make(resource.Vector, resource.Nodes, resource.Nodes+names)
}

// amount returns q in the units of the vectors' entry i, rounded up and limited to ±maxAmount, so that huge requests do not
// overflow to small ones.
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

// maxExact is the largest amount of which a few can be added up without overflow.
const maxExact = 1 << 59

// exact returns amount, and whether it can be used in integer arithmetic: it is not rounded and below maxExact.
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

// ResourceList returns v in API form, without zero amounts.
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
