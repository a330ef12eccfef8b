package bound

import (
	"cmp"
	"math"
	"slices"
)

// filling is what a bin holds while it is being filled with whole pods.
type filling struct {
	in   *instance
	bin  *bin
	room []int64
	caps []int
	held []int // by item
}

func newFilling(in *instance, b *bin) *filling {
	f := &filling{in: in, bin: b, room: slices.Clone(b.room), held: make([]int, len(b.items))}
	for _, c := range in.caps {
		f.caps = append(f.caps, c.most)
	}
	return f
}

// fitting is how many more of item i fit.
func (f *filling) fitting(i int) int {
	it := f.bin.items[i]
	l := &f.in.lots[it.lot]
	n := int64(it.most - f.held[i])
	for r, a := range l.need {
		if a > 0 {
			n = min(n, f.room[r]/a)
		}
	}
	for _, c := range l.caps {
		n = min(n, int64(f.caps[c]))
	}
	return int(max(n, 0))
}

// take puts n of item i in.
func (f *filling) take(i, n int) {
	l := &f.in.lots[f.bin.items[i].lot]
	for r, a := range l.need {
		f.room[r] -= a * int64(n)
	}
	for _, c := range l.caps {
		f.caps[c] -= n
	}
	f.held[i] += n
}

// complete puts in what still fits, in the order of worth for what it costs at prices.
func (f *filling) complete(values, prices []float64) {
	type rated struct {
		item int
		rate float64
	}
	var list []rated
	for i, it := range f.bin.items {
		if values[it.lot] > 0 && f.fitting(i) > 0 {
			cost := 1e-12
			for k, w := range f.bin.weight(i) {
				cost += w * prices[k]
			}
			list = append(list, rated{i, values[it.lot] / cost})
		}
	}
	slices.SortStableFunc(list, func(a, b rated) int { return cmp.Compare(b.rate, a.rate) })
	for _, r := range list {
		f.take(r.item, f.fitting(r.item))
	}
}

// worth is that of what is held.
func (f *filling) worth(values []float64) float64 {
	sum := 0.0
	for i, n := range f.held {
		sum += float64(n) * values[f.bin.items[i].lot]
	}
	return sum
}

// rounded is a filling with whole pods close to a fractional load.
func (s *scales) rounded(b *bin, values, load, prices []float64) *filling {
	f := newFilling(s.in, b)
	for i := range b.items {
		if n := min(int(math.Floor(load[i]+1e-6)), f.fitting(i)); n > 0 {
			f.take(i, n)
		}
	}
	f.complete(values, prices)
	return f
}
