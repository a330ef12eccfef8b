package translate

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// amounts translates between lists of resources and vectors.
type amounts struct {
	resources *resource.Table
	// podLevelResize counts what the kubelet has granted to a pod as a whole, besides what the pod requests.
	podLevelResize bool
}

// maxNames is up to how many names of resources the table learns from Nodes. Kubelets choose the names of their resources, and indexes are never
// reused.
const maxNames = 10_000

// vector returns what an instance type or a NodeClaim offers in table order: the table learns its names. CPU is rounded up to thousandths, all
// other resources up to whole units.
func (a amounts) vector(list corev1.ResourceList) resource.Vector {
	v := vectorOf(len(list))
	for name, q := range list {
		i := a.resources.Index(string(name))
		v = v.Set(i, amount(i, &q))
	}
	return v
}

// reported is the vector of what a Node reports. Once the table has maxNames, names that it does not have do not count.
func (a amounts) reported(list corev1.ResourceList) resource.Vector {
	v := vectorOf(len(list))
	for name, q := range list {
		i, known := a.resources.Lookup(string(name))
		if !known {
			if a.resources.Len() >= maxNames {
				continue
			}
			i = a.resources.Index(string(name))
		}
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

// list returns v in API form, without zero amounts.
func (a amounts) list(v resource.Vector) corev1.ResourceList {
	out := corev1.ResourceList{}
	names := a.resources.Names()
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

func (a amounts) estimate(reported, expected corev1.ResourceList) resource.Vector {
	v, e := a.reported(reported), a.vector(expected)
	for i := range e {
		if v.At(i) == 0 {
			v = v.Set(i, e[i])
		}
	}
	return v
}

// hugePagesPrefix starts the names of resources that are subtracted from memory.
const hugePagesPrefix = "hugepages-"

// allocatable returns the vector of it.Allocatable(). It is computed for every type of a catalog, so with integers where all
// amounts are integers, which is nearly always.
func (a amounts) allocatable(it *cloud.InstanceType) resource.Vector {
	v := vectorOf(len(it.Capacity))
	paged, pages := false, int64(0)
	for name, q := range it.Capacity {
		i := a.resources.Index(string(name))
		left, ok := exact(i, &q)
		if !ok {
			return a.vector(it.Allocatable())
		}
		if strings.HasPrefix(string(name), hugePagesPrefix) {
			paged, pages = true, pages+left
		}
		if over, overhead := it.Overhead[name]; overhead {
			taken, ok := exact(i, &over)
			if !ok {
				return a.vector(it.Allocatable())
			}
			left -= taken
		}
		v = v.Set(i, left)
	}
	if _, ok := it.Capacity[corev1.ResourceMemory]; ok && paged {
		v[resource.Memory] = max(v[resource.Memory]-pages, 0)
	}
	return v
}
