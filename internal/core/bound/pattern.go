package bound

import (
	"cmp"
	"math"
	"slices"
)

// pattern is a number of pods by item that a bin can hold, with the capacity that is left.
type pattern struct {
	in       *packingProblem
	bin      *bin
	capacity []int64
	caps     []int
	counts   []int // by item
}

func newPattern(in *packingProblem, b *bin) *pattern {
	f := &pattern{in: in, bin: b, capacity: slices.Clone(b.capacity), counts: make([]int, len(b.items))}
	for _, c := range in.sharedCaps {
		f.caps = append(f.caps, c.maxPods)
	}
	return f
}

// maxFit returns how many more pods of item i fit.
func (f *pattern) maxFit(i int) int {
	it := f.bin.items[i]
	l := &f.in.itemTypes[it.itemType]
	n := int64(it.maxPods - f.counts[i])
	for r, a := range l.need {
		if a > 0 {
			n = min(n, f.capacity[r]/a)
		}
	}
	for _, c := range l.caps {
		n = min(n, int64(f.caps[c]))
	}
	return int(max(n, 0))
}

// add adds n pods of item i.
func (f *pattern) add(i, n int) {
	l := &f.in.itemTypes[f.bin.items[i].itemType]
	for r, a := range l.need {
		f.capacity[r] -= a * int64(n)
	}
	for _, c := range l.caps {
		f.caps[c] -= n
	}
	f.counts[i] += n
}

// fillGreedily adds the pods that still fit, in descending order of value relative to their cost at the prices of rows.
func (f *pattern) fillGreedily(values, prices []float64) {
	type ratedItem struct {
		item int
		rate float64
	}
	var list []ratedItem
	for i, it := range f.bin.items {
		if values[it.itemType] > 0 && f.maxFit(i) > 0 {
			cost := 1e-12
			for k, w := range f.bin.weight(i) {
				cost += w * prices[k]
			}
			list = append(list, ratedItem{i, values[it.itemType] / cost})
		}
	}
	slices.SortStableFunc(list, func(a, b ratedItem) int { return cmp.Compare(b.rate, a.rate) })
	for _, r := range list {
		f.add(r.item, f.maxFit(r.item))
	}
}

// value returns the value of all pods in f.
func (f *pattern) value(values []float64) float64 {
	sum := 0.0
	for i, n := range f.counts {
		sum += float64(n) * values[f.bin.items[i].itemType]
	}
	return sum
}

// roundedPattern rounds a fractional load down to whole pods and fills up the bin.
func (s *knapsackSolver) roundedPattern(b *bin, values, load, prices []float64) *pattern {
	f := newPattern(s.in, b)
	for i := range b.items {
		if n := min(int(math.Floor(load[i]+1e-6)), f.maxFit(i)); n > 0 {
			f.add(i, n)
		}
	}
	f.fillGreedily(values, prices)
	return f
}
