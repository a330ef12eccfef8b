package bound

import (
	"math"
	"slices"
)

const (
	// grain is the unit in which prices are counted, in dollars an hour.
	grain = 1e-9
	// mostSums is how many sums of prices are looked at, times the number of prices.
	mostSums = 5_000_000
)

// menu is the prices at which a machine can be had.
func (in *instance) menu() []float64 {
	var out []float64
	for _, b := range in.bins {
		if b.supply == none || b.price > 0 {
			out = append(out, b.price)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// roundUp raises a lower bound of a sum of prices to the least sum that is there.
//
// Every cost is a sum of prices, each taken any number of times. Where prices are multiples of a common step, so is the
// cost; where they are few or the bound is small, all sums up to the bound can be listed. Prices are binary fractions that
// are close to a number of grains; how close is measured and allowed for.
func roundUp(bound float64, prices []float64) float64 {
	if bound <= 0 || len(prices) == 0 || prices[0] <= 0 || prices[len(prices)-1] > 1e6 {
		return bound
	}
	var counts []int64
	step, off := int64(0), 0.0
	for _, price := range prices {
		n := int64(math.Round(price / grain))
		off = max(off, math.Abs(price-float64(n)*grain)+price*1e-15)
		step = gcd(n, step)
		counts = append(counts, n)
	}
	machines := bound/prices[0] + 2
	if off*machines > float64(step)*grain/4 {
		return bound
	}
	low := int64(math.Ceil((bound-off*machines)/(float64(step)*grain) - 1e-6))
	for i := range counts {
		counts[i] /= step
	}
	return max(bound, (float64(nextSum(low, counts))*float64(step)*grain-off*machines)*(1-1e-12))
}

// nextSum is the least sum of counts, each taken any number of times, that is at least low; or low where there are too many
// sums to tell. counts are ascending.
func nextSum(low int64, counts []int64) int64 {
	high := low + counts[0]
	if high > mostSums/int64(len(counts)) {
		return low
	}
	is := make([]bool, high+1)
	is[0] = true
	for _, n := range counts {
		for sum := n; sum <= high; sum++ {
			is[sum] = is[sum] || is[sum-n]
		}
	}
	for sum := low; sum <= high; sum++ {
		if is[sum] {
			return sum
		}
	}
	return low
}
