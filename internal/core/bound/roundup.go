package bound

import (
	"math"
	"slices"
)

const (
	// priceUnit is the unit in which prices are counted, in dollars per hour.
	priceUnit = 1e-9
	// maxSums limits the number of sums of prices that are computed, times the number of prices.
	maxSums = 5_000_000
)

// binPrices returns the distinct prices of bin types, ascending.
func (in *packingProblem) binPrices() []float64 {
	var out []float64
	for _, b := range in.bins {
		if b.supply == none || b.price > 0 {
			out = append(out, b.price)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// roundUp raises a lower bound of a sum of prices to the smallest sum that exists. prices are ascending.
//
// Every cost is a sum of prices, each taken any number of times. If prices are multiples of a common step, so is the
// cost; if there are few prices or the bound is small, all sums up to the bound can be listed. Prices are floating point
// numbers close to multiples of priceUnit; the result is lowered by their distance from them.
func roundUp(bound float64, prices []float64) float64 {
	if bound <= 0 || len(prices) == 0 || prices[0] <= 0 || prices[len(prices)-1] > 1e6 {
		return bound
	}
	var counts []int64
	step, off := int64(0), 0.0
	for _, price := range prices {
		n := int64(math.Round(price / priceUnit))
		off = max(off, math.Abs(price-float64(n)*priceUnit)+price*1e-15)
		step = gcd(n, step)
		counts = append(counts, n)
	}
	bins := bound/prices[0] + 2
	if off*bins > float64(step)*priceUnit/4 {
		return bound
	}
	low := int64(math.Ceil((bound-off*bins)/(float64(step)*priceUnit) - 1e-6))
	for i := range counts {
		counts[i] /= step
	}
	return max(bound, (float64(nextSum(low, counts))*float64(step)*priceUnit-off*bins)*(1-1e-12))
}

// nextSum returns the smallest sum of counts, each taken any number of times, that is at least low; or low if that would take
// more than maxSums steps. counts are ascending.
func nextSum(low int64, counts []int64) int64 {
	high := low + counts[0]
	if high > maxSums/int64(len(counts)) {
		return low
	}
	reachable := make([]bool, high+1)
	reachable[0] = true
	for _, n := range counts {
		for sum := n; sum <= high; sum++ {
			reachable[sum] = reachable[sum] || reachable[sum-n]
		}
	}
	for sum := low; sum <= high; sum++ {
		if reachable[sum] {
			return sum
		}
	}
	return low
}
