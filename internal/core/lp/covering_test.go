package lp

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// covering is the program of covering with bins of these capacities and prices.
func covering(capacities [][]float64, prices []float64) *Covering {
	c := NewCovering(len(capacities[0]))
	for j, capacity := range capacities {
		c.AddBin(capacity, prices[j])
	}
	return c
}

func TestDualPrices(t *testing.T) {
	for _, c := range []struct {
		name       string
		demand     []float64
		capacities [][]float64
		prices     []float64
		want       []float64
	}{
		{"one resource, the cheapest per unit", []float64{10}, [][]float64{{2}, {8}}, []float64{1, 3}, []float64{3. / 8}},
		{"two bins share what both have", []float64{6, 6}, [][]float64{{2, 1}, {1, 2}}, []float64{1, 1}, []float64{1. / 3, 1. / 3}},
		{"capacity beyond the demand has no value", []float64{6, 1}, [][]float64{{1, 1}}, []float64{2}, []float64{2, 0}},
		{"no bin has everything", []float64{4, 3}, [][]float64{{1, 0}, {0, 1}}, []float64{1, 5}, []float64{1, 5}},
		{"no demand", []float64{4, 0}, [][]float64{{2, 1}}, []float64{1}, []float64{.5, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := covering(c.capacities, c.prices).DualPrices(c.demand)
			for r := range got {
				if math.Abs(got[r]-c.want[r]) > 1e-6 {
					t.Fatalf("dual prices %v, want %v", got, c.want)
				}
			}
		})
	}
}

// TestDualPricesAreOptimal: prices at which no bin's capacity is worth more than the bin costs value the demand at no more than
// what it costs, and the dual prices value it as high as any such prices on a grid.
func TestDualPricesAreOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "bins")
		capacities, prices := make([][]float64, n), make([]float64, n)
		for j := range n {
			capacities[j] = []float64{float64(rapid.IntRange(1, 9).Draw(t, "cpu")), float64(rapid.IntRange(1, 9).Draw(t, "memory"))}
			prices[j] = float64(rapid.IntRange(1, 9).Draw(t, "price"))
		}
		demand := []float64{float64(rapid.IntRange(1, 9).Draw(t, "cpu")), float64(rapid.IntRange(1, 9).Draw(t, "memory"))}
		duals := covering(capacities, prices).DualPrices(demand)
		for j, capacity := range capacities {
			if Dot(duals, capacity) > prices[j]+1e-6 {
				t.Fatalf("at %v the capacity %v is worth more than its price %v", duals, capacity, prices[j])
			}
		}
		for first := 0.; first <= 9; first += .05 {
			second := math.Inf(1)
			for j, capacity := range capacities {
				second = min(second, (prices[j]-first*capacity[0])/capacity[1])
			}
			if second >= 0 && Dot(demand, []float64{first, second}) > Dot(demand, duals)+1e-6 {
				t.Fatalf("dual prices %v are worth less than %v", duals, []float64{first, second})
			}
		}
	})
}

// TestDualPricesFollowTheDemand: a reused program gives prices as good as a new one.
func TestDualPricesFollowTheDemand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacities, prices := [][]float64{}, []float64{}
		for range rapid.IntRange(1, 8).Draw(t, "bins") {
			capacities = append(capacities, []float64{rapid.Float64Range(.1, 9).Draw(t, "cpu"), rapid.Float64Range(.1, 9).Draw(t, "memory")})
			prices = append(prices, rapid.Float64Range(.1, 9).Draw(t, "price"))
		}
		c := covering(capacities, prices)
		for range 4 {
			demand := []float64{rapid.Float64Range(0, 9).Draw(t, "cpu"), rapid.Float64Range(0, 9).Draw(t, "memory")}
			again, anew := Dot(c.DualPrices(demand), demand), Dot(covering(capacities, prices).DualPrices(demand), demand)
			if math.Abs(again-anew) > 1e-6 {
				t.Fatalf("the demand %v is worth %v after others, and %v at first", demand, again, anew)
			}
		}
	})
}
