package place

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Strategy is how a run chooses among what is equally good. The zero value is that of plans which are solved once.
type Strategy struct {
	Fit     Fit
	Domains DomainOrder
	// Order is the order of the queue: 0 for that of trial, n for the same with the n-th run first, and negative numbers for permutations.
	Order int
	// Mixed places pods that pods of DaemonSets concern in their turn, instead of after all others, whose nodes are repacked before.
	Mixed bool
	// Single opens each node for one pod that spreads over domains: what it adds to its domain may leave places for others on existing nodes.
	Single bool
	// Decided opens nodes in one domain of each label by which other pods count theirs, even if their own pods have no constraint on it: these
	// others may share such a node, whereas a node that could be anywhere counts for them in all domains.
	Decided bool
	// Last are pods that come after all others; nil for none.
	Last *PodSet
}

// PodSet is some pods, by UID.
type PodSet map[string]bool

// Fit is how a run chooses among open nodes that take a pod.
type Fit int

const (
	// FirstFit fills the open node that was opened first.
	FirstFit Fit = iota
	// EmptiestFit gives each pod to the open node with the fewest pods: pods that limit how many of them share a node, or a domain, spread over
	// the nodes that others need. A pod does not join a node that gets more expensive by more than a node for the pod costs.
	EmptiestFit
	// CheapestFit gives each pod to the open node that gets more expensive by the least, on the same condition.
	CheapestFit
	// FreeFit is CheapestFit with open nodes that get no more expensive: nodes stay as small as the first pod needs.
	FreeFit
	// OwnFit is FreeFit, but pods of a run share nodes, however these grow: the run as a whole opens nodes, and what it leaves of them is for
	// others.
	OwnFit
	// Fits is how many there are.
	Fits = iota
)

// DomainOrder is the order of domains that are equally full.
type DomainOrder int

const (
	// CheapestFirst tries the cheapest of the emptiest domains first, by name where they cost the same.
	CheapestFirst DomainOrder = iota
	// LastName is CheapestFirst with the names in the opposite order. Like all others it takes domains to be equally full whose pods only other
	// pods' constraints limit.
	LastName
	// Permuted is the first of many permutations, whatever the domains cost.
	Permuted
)

// mix is a number that depends on two others in no simple way. Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014.
func mix(a, b int) uint64 {
	z := uint64(a)*0x9E3779B97F4A7C15 + uint64(b)*0xD1B54A32D192ED03 //nolint:gosec // bits, not amounts
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// permute sorts the runs of a queue as the strategy asks for. Pods that go first because of their priority stay before the others, and
// pods that the constraints of others count before these, which would have to be bound first otherwise. Pods of groups stay where they are:
// kube-scheduler tries them in their order.
func permute(s *Placer, queue []PodRun) []PodRun {
	order := s.strategy.Order
	if order == 0 || len(queue) < 2 {
		return queue
	}
	same := interchangeable(s)
	permuted := make([]int, len(queue))
	for i := range permuted {
		permuted[i] = i
	}
	for start := 0; start < len(queue); {
		end := start + 1
		for end < len(queue) && same(queue[start], queue[end]) {
			end++
		}
		part := permuted[start:end]
		switch at := order - start; {
		case order < 0:
			shuffle(part, order, start)
		case at > 0 && at < len(part):
			first := part[at]
			copy(part[1:], part[:at])
			part[0] = first
		}
		start = end
	}
	return countedFirst(queue, permuted)
}

// interchangeable reports whether the order of two runs is arbitrary.
func interchangeable(s *Placer) func(a, b PodRun) bool {
	limited := slices.ContainsFunc(s.Templates, func(t *compile.Template) bool { return !t.Limits.Unlimited() })
	return func(a, b PodRun) bool {
		grouped := s.Problem.GroupOf(a.Pods[0]) != "" || s.Problem.GroupOf(b.Pods[0]) != ""
		return !grouped && a.Pods[0].Virtual == b.Pods[0].Virtual && (!limited || a.Class.Shape.Priority == b.Class.Shape.Priority)
	}
}

// AnyLast reports whether any of the pods may come after all others.
func AnyLast(s *Placer) bool {
	queue, same := s.runs(), interchangeable(s)
	return !slices.ContainsFunc(queue, func(r PodRun) bool { return !same(queue[0], r) })
}

// postpone separates the pods that the strategy puts last.
func postpone(s *Placer, queue []PodRun) (others, last []PodRun) {
	if s.strategy.Last == nil {
		return queue, nil
	}
	for _, r := range queue {
		parts := map[bool][]*model.Pod{}
		for _, pod := range r.Pods {
			late := (*s.strategy.Last)[pod.UID]
			parts[late] = append(parts[late], pod)
		}
		if pods := parts[false]; len(pods) > 0 {
			others = append(others, PodRun{r.Class, pods})
		}
		if pods := parts[true]; len(pods) > 0 {
			last = append(last, PodRun{r.Class, pods})
		}
	}
	return others, last
}

// shuffle permutes a list; order and offset choose the permutation.
func shuffle[T any](list []T, order, offset int) {
	for i := len(list) - 1; i > 0; i-- {
		j := int(mix(order, offset+i) % uint64(i+1)) //nolint:gosec // less than the length
		list[i], list[j] = list[j], list[i]
	}
}

// countedFirst is a queue in a permutation of its indices, in which pods stay before those later ones whose constraints count them.
func countedFirst(queue []PodRun, permuted []int) []PodRun {
	out, done := make([]PodRun, 0, len(queue)), make([]bool, len(queue))
	waits := func(i int) bool {
		for before := range i {
			if !done[before] && queue[before].Class.CountedOnlyBy(queue[i].Class) {
				return true
			}
		}
		return false
	}
	for len(out) < len(queue) {
		// The first run of the queue that is left waits for none.
		next := permuted[slices.IndexFunc(permuted, func(i int) bool { return !done[i] && !waits(i) })]
		out, done[next] = append(out, queue[next]), true
	}
	return out
}

// placeOnBest puts a pod on the open node that the strategy prefers, and returns the rest.
func placeOnBest(s *Placer, c *compile.Class, lv *compile.Level, options []Option, pods []*model.Pod) []*model.Pod {
	if s.strategy.Fit != EmptiestFit {
		return placeOnCheapest(s, c, lv, options, pods)
	}
	counts, order := make([]int, len(s.Open)), make([]int, len(s.Open))
	for i, on := range s.Open {
		order[i] = i
		for _, batch := range on.Batches {
			counts[i] += len(batch.Pods)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return counts[a] - counts[b] })
	for _, number := range order {
		for _, o := range options {
			if s.tick() {
				return pods
			}
			b := s.OpenBin(number, s.Open[number])
			if _, ok := costOn(s, b, c, lv, o, pods[:1]); ok {
				s.Take(&s.Offer, b, c, lv, pods[:1])
				return pods[1:]
			}
		}
	}
	return pods
}

// placeOnCheapest puts a pod on the open node that gets more expensive by the least, in the first domain that has one, and returns the rest.
func placeOnCheapest(s *Placer, c *compile.Class, lv *compile.Level, options []Option, pods []*model.Pod) []*model.Pod {
	for _, o := range options {
		best, least := -1, math.Inf(1)
		for number, on := range s.Open {
			if s.tick() {
				return pods
			}
			if cost, ok := costOn(s, s.OpenBin(number, on), c, lv, o, pods[:1]); ok && cost < least {
				best, least = number, cost
			}
		}
		if best >= 0 {
			b := s.OpenBin(best, s.Open[best])
			s.Fit(&s.Offer, b, c, lv, o.Forms, pods[:1])
			s.Take(&s.Offer, b, c, lv, pods[:1])
			return pods[1:]
		}
	}
	return pods
}

// costOn is by how much an open node gets more expensive with a pod, which it is offered; not ok if it does not take the pod, or costs more
// than a node for the pod alone.
func costOn(s *Placer, b compile.Bin, c *compile.Class, lv *compile.Level, o Option, pod []*model.Pod) (cost float64, ok bool) {
	on := b.Open
	if o.Cursor(lv, on.Template).Rejects || !c.MayFit(on.Slack) || c.ForeignHostCapacity(lv, b) == 0 {
		return 0, false
	}
	if s.Fit(&s.Offer, b, c, lv, o.Forms, pod); s.Offer.Pods == 0 {
		return 0, false
	}
	cost = on.PriceWith(&s.Offer) - on.Price()
	switch s.strategy.Fit {
	case FreeFit:
		return cost, cost <= 0
	case OwnFit:
		return cost, cost <= 0 || slices.ContainsFunc(on.Batches, func(f compile.Batch) bool { return f.Class() == c })
	default:
		return cost, cost <= priceAlone(s, c)
	}
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
