package solve

import (
	"math"
	"slices"
)

// going is the going rate of every resource, in dollars an hour a unit: the dual prices of buying room for demand by the piece, at
// the least cost. No machine's room is worth more than the machine costs; that of the best buys is worth as much.
//
// The linear program min Σ price·x, Σ room·x ≥ demand, x ≥ 0 has a row per resource only, so every step of the simplex method
// solves systems of that size and looks at each machine once. Source: Dantzig, Linear Programming and Extensions, 1963,
// chapter 9; Gilmore and Gomory, A Linear Programming Approach to the Cutting-Stock Problem, 1961.
func going(demand []float64, rooms [][]float64, prices []float64) []float64 {
	return newVertex(rooms, prices, len(demand)).going(demand)
}

// going is the going rate for a demand, found from the corner where the search for the last one ended, if that demand can be met
// there: what is left of the same pods is mostly served by the same machines.
func (v *vertex) going(demand []float64) []float64 {
	v.demand = demand
	if !v.met() {
		for r := range v.members {
			v.members[r] = source(r)
		}
	}
	for range stepsPerRow * len(demand) {
		enter := v.improving(v.rates())
		if enter == none || !v.swap(enter) {
			break
		}
	}
	rates := v.rates()
	for r := range rates {
		rates[r] = max(rates[r], 0)
	}
	return rates
}

const (
	// stepsPerRow ends a search that turns in circles; what it has by then is still a fair guess.
	stepsPerRow = 20
	// negligible is what rounding may make of zero.
	negligible = 1e-9
	none       = -1
	// dearer is how much more than from any machine room costs from no machine.
	dearer = 1e3
)

// vertex is a corner of the program: as many machines, or resources with room to spare, as there are rows. Rows that are not
// served by any yet are served from a source that is dearer than everything.
type vertex struct {
	demand []float64
	rooms  [][]float64
	prices []float64
	dear   float64
	// members are machines by index, or numbers that spare and source give.
	members []int
	// matrix and side are scratch.
	matrix [][]float64
	side   []float64
}

func spare(row int) int { return -2 - 2*row }

func source(row int) int { return -3 - 2*row }

// newVertex is the corner of a program with n rows where all is served from elsewhere.
func newVertex(rooms [][]float64, prices []float64, n int) *vertex {
	v := &vertex{rooms: rooms, prices: prices, members: make([]int, n), matrix: make([][]float64, n), side: make([]float64, n)}
	for r := range n {
		v.members[r], v.matrix[r] = source(r), make([]float64, n)
		for j, room := range rooms {
			// What one row could cost at most, were its demand bought alone.
			if room[r] > 0 {
				v.dear = max(v.dear, prices[j]/room[r])
			}
		}
	}
	v.dear = dearer * (1 + v.dear)
	return v
}

// met reports whether the members can meet the demand.
func (v *vertex) met() bool {
	for _, amount := range v.mix(func(r int) float64 { return v.demand[r] }) {
		if amount < -negligible {
			return false
		}
	}
	return true
}

// entry is what one unit of a member adds to a row.
func (v *vertex) entry(member, row int) float64 {
	switch {
	case member >= 0:
		return v.rooms[member][row]
	case member == spare(row):
		return -1
	case member == source(row):
		return 1
	}
	return 0
}

// rates are the prices of resources at which every member is worth what it costs.
func (v *vertex) rates() []float64 {
	for i, member := range v.members {
		switch {
		case member >= 0:
			v.side[i] = v.prices[member]
		case member%2 == 0: // room to spare
			v.side[i] = 0
		default:
			v.side[i] = v.dear
		}
		for r := range v.demand {
			v.matrix[i][r] = v.entry(member, r)
		}
	}
	return eliminate(v.matrix, v.side)
}

// improving is who is worth more than it costs, by the most in relation to its price; none if nobody is.
func (v *vertex) improving(rates []float64) int {
	enter, most := none, negligible
	for j, room := range v.rooms {
		if gain := (dot(rates, room) - v.prices[j]) / (1 + v.prices[j]); gain > most {
			enter, most = j, gain
		}
	}
	if enter != none {
		return enter
	}
	for r, rate := range rates {
		if rate < -negligible {
			return spare(r)
		}
	}
	return none
}

// swap lets one in and another out, so that demand stays met. It reports whether somebody had to leave.
func (v *vertex) swap(enter int) bool {
	now := v.mix(func(r int) float64 { return v.demand[r] })
	step := v.mix(func(r int) float64 { return v.entry(enter, r) })
	leave, least := none, math.Inf(1)
	for i := range step {
		if step[i] > negligible {
			if ratio := max(now[i], 0) / step[i]; ratio < least {
				leave, least = i, ratio
			}
		}
	}
	if leave == none {
		return false
	}
	v.members[leave] = enter
	return true
}

// mix is how much of each member adds up to the side.
func (v *vertex) mix(side func(row int) float64) []float64 {
	for r := range v.demand {
		v.side[r] = side(r)
		for i, member := range v.members {
			v.matrix[r][i] = v.entry(member, r)
		}
	}
	return eliminate(v.matrix, v.side)
}

// eliminate solves matrix·x = side, and uses both up. What the matrix leaves open is zero.
func eliminate(matrix [][]float64, side []float64) []float64 {
	n := len(side)
	for c := range n {
		pivot := c
		for r := c + 1; r < n; r++ {
			if math.Abs(matrix[r][c]) > math.Abs(matrix[pivot][c]) {
				pivot = r
			}
		}
		if matrix[pivot][c] == 0 {
			continue
		}
		matrix[c], matrix[pivot], side[c], side[pivot] = matrix[pivot], matrix[c], side[pivot], side[c]
		for r := range n {
			if r == c || matrix[r][c] == 0 {
				continue
			}
			f := matrix[r][c] / matrix[c][c]
			for k := c; k < n; k++ {
				matrix[r][k] -= f * matrix[c][k]
			}
			side[r] -= f * side[c]
		}
	}
	x := slices.Repeat([]float64{0}, n)
	for c := range n {
		if matrix[c][c] != 0 {
			x[c] = side[c] / matrix[c][c]
		}
	}
	return x
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
