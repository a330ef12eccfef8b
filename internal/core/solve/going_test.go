package solve

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestGoingRates(t *testing.T) {
	for _, c := range []struct {
		name   string
		demand []float64
		rooms  [][]float64
		prices []float64
		want   []float64
	}{
		{"one resource, the cheapest by the piece", []float64{10}, [][]float64{{2}, {8}}, []float64{1, 3}, []float64{3. / 8}},
		{"two machines share what both have", []float64{6, 6}, [][]float64{{2, 1}, {1, 2}}, []float64{1, 1}, []float64{1. / 3, 1. / 3}},
		{"what there is too much of is worth nothing", []float64{6, 1}, [][]float64{{1, 1}}, []float64{2}, []float64{2, 0}},
		{"no machine has everything", []float64{4, 3}, [][]float64{{1, 0}, {0, 1}}, []float64{1, 5}, []float64{1, 5}},
		{"no demand", []float64{4, 0}, [][]float64{{2, 1}}, []float64{1}, []float64{.5, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := going(c.demand, c.rooms, c.prices)
			for r := range got {
				if math.Abs(got[r]-c.want[r]) > 1e-6 {
					t.Fatalf("rates %v, want %v", got, c.want)
				}
			}
		})
	}
}

// TestGoingRatesAreOptimal: rates at which no machine's room is worth more than it costs are worth at most what the demand
// costs, and what going finds is worth as much as any other such rates on a grid.
func TestGoingRatesAreOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "machines")
		rooms, prices := make([][]float64, n), make([]float64, n)
		for j := range n {
			rooms[j] = []float64{float64(rapid.IntRange(1, 9).Draw(t, "cpu")), float64(rapid.IntRange(1, 9).Draw(t, "memory"))}
			prices[j] = float64(rapid.IntRange(1, 9).Draw(t, "price"))
		}
		demand := []float64{float64(rapid.IntRange(1, 9).Draw(t, "cpu")), float64(rapid.IntRange(1, 9).Draw(t, "memory"))}
		rates := going(demand, rooms, prices)
		for j, room := range rooms {
			if dot(rates, room) > prices[j]+1e-6 {
				t.Fatalf("at %v the room %v is worth more than its price %v", rates, room, prices[j])
			}
		}
		for first := 0.; first <= 9; first += .05 {
			second := math.Inf(1)
			for j, room := range rooms {
				second = min(second, (prices[j]-first*room[0])/room[1])
			}
			if second >= 0 && dot(demand, []float64{first, second}) > dot(demand, rates)+1e-6 {
				t.Fatalf("rates %v are worth less than %v", rates, []float64{first, second})
			}
		}
	})
}
