package place

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Problem: between domains that are equally full, the one where the pods cost least is taken, before it is known which other pods share
// their nodes. Approach: what all pods of the run request is divided among the domains, at the lowest price of a core in each; but a
// domain costs no less than one node there that holds a pod. For many pods the former decides, for few the latter.
// Cost: a price of a core for each domain, and of a node for each domain and level of those runs whose pods do not fill a node per domain.

// launch is a level and a domain, by its number, of a label.
type launch struct {
	level       *compile.Level
	key, domain int
}

// sortDomains sorts choices of one domain each: the emptiest first, of these the cheapest.
func sortDomains(s *Placer, choices []domainChoice, c *compile.Class, lv *compile.Level, key int) {
	v := s.Counts.Domains.Of(key)
	if s.strategy.Domains >= Permuted {
		permuteDomains(s, choices, v)
		return
	}
	share := demandedCPU(s) / float64(len(choices))
	few := share < maxCPU(s)
	slices.SortFunc(choices, func(a, b domainChoice) int {
		if order := cmp.Compare(a.count, b.count); order != 0 {
			return order
		}
		x, y := s.pricePerCore(key, a.domains[0]), s.pricePerCore(key, b.domains[0])
		if few {
			order := cmp.Compare(max(x*share, launchPrice(s, c, lv, a)), max(y*share, launchPrice(s, c, lv, b)))
			if order != 0 {
				return order
			}
		}
		byName := cmp.Compare(v.Names[a.domains[0]], v.Names[b.domains[0]])
		if s.strategy.Domains == LastName {
			byName = -byName
		}
		return cmp.Or(cmp.Compare(x, y), byName)
	})
}

// permuteDomains sorts choices of one domain each: the emptiest first, those that are equally full in the order of the strategy.
func permuteDomains(s *Placer, choices []domainChoice, v *compile.Values) {
	slices.SortFunc(choices, func(a, b domainChoice) int { return strings.Compare(v.Names[a.domains[0]], v.Names[b.domains[0]]) })
	shuffle(choices, int(s.strategy.Domains), 0)
	slices.SortStableFunc(choices, func(a, b domainChoice) int { return cmp.Compare(a.count, b.count) })
}

// demandedCPU is what all pods of the run request, in the unit of the vectors, at least 1.
func demandedCPU(s *Placer) float64 {
	if s.prices.demanded == 0 {
		sum := 0.0
		for _, p := range s.Problem.Pods {
			sum += float64(p.Shape.Requests.At(resource.CPU))
		}
		s.prices.demanded = max(sum, 1)
	}
	return s.prices.demanded
}

// maxCPU is that of the largest node that can be launched, in the unit of the vectors, at least 1.
func maxCPU(s *Placer) float64 {
	if s.prices.largest == 0 {
		s.prices.largest = max(float64(s.MaxCapacity(resource.CPU)), 1)
	}
	return s.prices.largest
}

// launchPrice is the lowest price of a node in a domain that holds a pod of the level, in dollars per hour, from the first pool that has
// one; infinite if no pool has.
func launchPrice(s *Placer, c *compile.Class, lv *compile.Level, in domainChoice) float64 {
	id := launch{lv, in.key, in.domains[0]}
	if price, known := s.prices.launches[id]; known {
		return price
	}
	price := math.Inf(1)
	want := s.choose(lv.Conjunction, []domainChoice{in})
	for _, t := range s.Templates {
		if _, repelled := t.Repels(c, lv); repelled {
			continue
		}
		if to := t.Step(t.Root, want); to != compile.NoState {
			price = c.CheapestIn(t, t.States[to])
		}
		if !math.IsInf(price, 1) {
			break
		}
	}
	if s.prices.launches == nil {
		s.prices.launches = map[launch]float64{}
	}
	s.prices.launches[id] = price
	return price
}

// pricePerCore is the lowest price of a core in a domain, in dollars per hour, from the first pool that has instance types
// there.
func (s *Placer) pricePerCore(key, d int) float64 {
	v := s.Counts.Domains.Of(key)
	for len(v.PricesPerCore) < len(v.Names) {
		v.PricesPerCore = append(v.PricesPerCore, s.pricePerCoreIn(key, v.Names[len(v.PricesPerCore)]))
	}
	return v.PricesPerCore[d]
}

func (s *Placer) pricePerCoreIn(key int, name string) float64 {
	here := s.Classes.Intern(requirement.NewSet(requirement.New(s.Classes.Universe.Keys[key].Name, requirement.In, name)))
	for _, t := range s.Templates {
		to := t.Step(t.Root, here)
		if to == compile.NoState || t.States[to].Mask.Empty() {
			continue
		}
		st, low := t.States[to], math.Inf(1)
		for column := range st.Mask.All() {
			if cores := t.CapacityIn(st).Available[column].At(resource.CPU); cores > 0 {
				low = min(low, t.Prices(st)[column]/float64(cores))
			}
		}
		return low
	}
	return math.Inf(1)
}
