package place

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Strategy is how a run chooses among open nodes that take a pod, and among domains that are equally good.
type Strategy int

const (
	// FirstFit fills the open node that was opened first, and opens domains in the order of their names.
	FirstFit Strategy = iota
	// EmptiestFit gives each pod to the open node with the fewest pods: pods that limit how many of them share a node, or a domain, spread over
	// the nodes that others need. A pod does not join a node that gets more expensive by more than a node for the pod costs.
	EmptiestFit
	// LastDomain is FirstFit with domains in the opposite order.
	LastDomain
)

// placeOnEmptiest puts a pod on the open node with the fewest pods that takes it, and returns the rest.
func placeOnEmptiest(s *Placer, c *compile.Class, lv *compile.Level, options []Option, pods []*model.Pod) []*model.Pod {
	counts, order := make([]int, len(s.Open)), make([]int, len(s.Open))
	for i, on := range s.Open {
		order[i] = i
		for _, batch := range on.Batches {
			counts[i] += len(batch.Pods)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return counts[a] - counts[b] })
	for _, number := range order {
		on := s.Open[number]
		for _, o := range options {
			if s.tick() {
				return pods
			}
			b := s.OpenBin(number, on)
			if o.Cursor(lv, on.Template).Rejects || !c.MayFit(on.Slack) || c.ForeignHostCapacity(lv, b) == 0 {
				continue
			}
			s.Fit(&s.Offer, b, c, lv, o.Forms, pods[:1])
			if s.Offer.Pods > 0 && on.PriceWith(&s.Offer)-on.Price() <= priceAlone(s, c) {
				s.Take(&s.Offer, b, c, lv, pods[:1])
				return pods[1:]
			}
		}
	}
	return pods
}

// priceAlone is the lowest price of a new node for a pod of the class, in dollars per hour, whatever is counted where; infinite if there is
// none.
func priceAlone(s *Placer, c *compile.Class) float64 {
	if price, known := s.prices.alone[c]; known {
		return price
	}
	price := math.Inf(1)
	for _, lv := range s.Classes.LevelsOf(c) {
		for _, t := range s.Templates {
			if _, repelled := t.Repels(c, lv); repelled {
				continue
			}
			if to := t.Step(t.Root, lv.Conjunction); to != compile.NoState {
				price = min(price, c.CheapestIn(t, t.States[to]))
			}
		}
	}
	if s.prices.alone == nil {
		s.prices.alone = map[*compile.Class]float64{}
	}
	s.prices.alone[c] = price
	return price
}
