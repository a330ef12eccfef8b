package bound_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/bound"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// tinyProblems is the number of problems that are compared with brute force.
const tinyProblems = 10_000

func TestBoundNeverExceedsTheMinimumCost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var exact, bought int
	var reached []float64
	for n := range tinyProblems {
		tiny := randomTiny(r)
		p := tiny.problem()
		plan := solve.Solve(p)
		set := 0
		for _, c := range plan.NodeClaims {
			for _, pod := range c.Pods {
				set |= 1 << number(pod.Name)
			}
		}
		for _, at := range plan.Placements {
			for _, pod := range at.Pods {
				set |= 1 << number(pod.Name)
			}
		}
		least, got := tiny.cheapest(set), bound.Of(p, plan)
		if got > least || got < 0 {
			t.Fatalf("problem %d: the bound is %.9f, the minimum cost is %.9f and the plan's %.9f\n%+v", n, got, least, plan.Price(), tiny)
		}
		// A NodeClaim without a reservation may still be listed at the price of one.
		if price := plan.Price(); tiny.reserved == 0 && least > price*(1+1e-9) {
			t.Fatalf("problem %d: the plan costs %.9f and the minimum cost is %.9f\n%+v", n, price, least, tiny)
		}
		if least > 0 {
			bought++
			reached = append(reached, got/least)
			if got > least*(1-1e-6) {
				exact++
			}
		}
	}
	slices.Sort(reached)
	t.Logf("%d problems need new nodes; the bound is exact for %d; it reaches %.3f of the minimum cost in the worst tenth, %.3f in the worst case",
		bought, exact, reached[len(reached)/10], reached[0])
	if exact*10 < bought*6 || reached[len(reached)/10] < 0.8 {
		t.Errorf("the bound is exact for %d of %d problems and reaches %.3f in the worst tenth", exact, bought, reached[len(reached)/10])
	}
}

func number(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "pod-"))
	if err != nil {
		panic(err)
	}
	return n
}
