package disrupt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Labels that a price depends on.
const (
	instanceTypeKey = requirement.InstanceTypeLabel
	capacityTypeKey = requirement.CapacityTypeLabel
	zoneKey         = requirement.ZoneLabel
)

// Capacity types, in the order in which a cloud is expected to launch them.
const (
	reserved = catalog.CapacityTypeReserved
	spot     = "spot"
	onDemand = "on-demand"
)

// quote is the possible prices of an instance type under the requirements of a claim.
type quote struct {
	it *catalog.InstanceType
	// lowest is the price of the cheapest offering, worst that of the most expensive one of the capacity type that is launched
	// first; both +Inf for none.
	lowest, worst float64
}

// quotes are the instance types of a claim with a launchable offering, in the order of launches: cheapest first, exotic types last
// unless there are minValues.
func quotes(list []*catalog.InstanceType, reqs requirement.Set) []quote {
	out := make([]quote, 0, len(list))
	for _, it := range list {
		if q := quoteOf(it, reqs); !math.IsInf(q.lowest, 1) {
			out = append(out, q)
		}
	}
	minValues := slices.ContainsFunc(reqs, func(r requirement.Requirement) bool { return r.MinValues() > 0 })
	slices.SortFunc(out, func(a, b quote) int {
		if a.it.Exotic != b.it.Exotic && !minValues {
			if a.it.Exotic {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.lowest, b.lowest), strings.Compare(a.it.Name, b.it.Name))
	})
	return out
}

func quoteOf(it *catalog.InstanceType, reqs requirement.Set) quote {
	q := quote{it: it, lowest: math.Inf(1), worst: math.Inf(1)}
	highest := map[string]float64{}
	for i := range it.Offerings {
		o := &it.Offerings[i]
		if !o.Launchable() || math.IsNaN(o.Price) || !reqs.Intersects(o.Requirements) {
			continue
		}
		q.lowest = min(q.lowest, o.Price)
		for _, kind := range o.Requirements.Get(capacityTypeKey).Values() {
			highest[kind] = max(highest[kind], o.Price)
		}
	}
	for _, kind := range []string{reserved, spot, onDemand} {
		if price, ok := highest[kind]; ok {
			q.worst = price
			break
		}
	}
	return q
}

// typesOf are the instance types that a claim lists.
func (sim *Simulator) typesOf(c solve.NodeClaim) []*catalog.InstanceType {
	byName := sim.types[c.Pool]
	out := make([]*catalog.InstanceType, 0, len(c.InstanceTypes))
	for _, name := range c.InstanceTypes {
		if it := byName[name]; it != nil {
			out = append(out, it)
		}
	}
	return out
}

// cheaperThan keeps the quotes whose worst launch costs less than limit.
func cheaperThan(list []quote, limit float64) []quote {
	return slices.DeleteFunc(slices.Clone(list), func(q quote) bool { return q.worst >= limit })
}

// unmetMinValues is the first minValues that the instance types do not meet, as text; empty when all are met.
func unmetMinValues(list []quote, reqs requirement.Set) string {
	for _, r := range reqs {
		if r.MinValues() > 0 && distinct(list, r) < r.MinValues() {
			return fmt.Sprintf("minValues requirement is not met for label %q: %d of %d values", r.Key, distinct(list, r), r.MinValues())
		}
	}
	return ""
}

// distinct is how many different values of a label the instance types offer within a requirement.
func distinct(list []quote, r requirement.Requirement) int {
	return r.DistinctValues(func(yield func(requirement.Requirement) bool) {
		for _, q := range list {
			if !yield(q.it.Requirements.Get(r.Key)) {
				return
			}
		}
	})
}

// typesForMinValues is how many of the cheapest instance types are required to meet all minValues.
func typesForMinValues(list []quote, reqs requirement.Set) int {
	for n := range list {
		if unmetMinValues(list[:n], reqs) == "" {
			return n
		}
	}
	return len(list)
}

// restrictClaim is the claim with these instance types only. minValues are kept.
func restrictClaim(c solve.NodeClaim, list []quote, reqs requirement.Set) solve.NodeClaim {
	names := make([]string, len(list))
	for i, q := range list {
		names[i] = q.it.Name
	}
	c.InstanceTypes = names
	types := requirement.New(instanceTypeKey, requirement.In, names...).WithMinValues(reqs.Get(instanceTypeKey).MinValues())
	c.Requirements = reqs.Replace(types)
	c.Price = math.Inf(1)
	if len(list) > 0 {
		c.Price = list[0].lowest
	}
	return c
}

// withCapacityType is reqs with one capacity type.
func withCapacityType(reqs requirement.Set, kind string) requirement.Set {
	have := reqs.Get(capacityTypeKey)
	return reqs.Replace(requirement.New(capacityTypeKey, requirement.In, kind).WithMinValues(have.MinValues()))
}
