package solve

import "testing"

func TestAClaimTooLargeForTheTiniestMachinesIsStillSplit(t *testing.T) {
	p := pool("default",
		machine("nano", 2, 2, 0.001), machine("medium", 16, 64, 0.20), machine("giant", 896, 12288, 130))
	plan := Solve(problem(pods(600, shape(1000, gi/8)), p))
	for _, c := range plan.Claims {
		if c.Price > 1 {
			t.Errorf("a claim of %d pods costs $%.2f/h: it should have been split", len(c.Pods), c.Price)
		}
	}
	if len(plan.Unschedulable) != 0 {
		t.Errorf("refused: %v", plan.Unschedulable[0].Reasons)
	}
}

func TestSplittingNeverCostsMoreAndLosesNobody(t *testing.T) {
	in := mixedProblem(3000, 200, 60)
	s := compile(in)
	for _, r := range s.queue() {
		s.place(r)
	}
	before := s.plan()
	after := Solve(in)
	if after.Price() > before.Price()+1e-9 {
		t.Errorf("$%.4f/h after splitting, $%.4f/h before", after.Price(), before.Price())
	}
	placed := map[string]int{}
	for _, c := range after.Claims {
		for _, p := range c.Pods {
			placed[p.UID]++
		}
	}
	if len(placed) != 3000 {
		t.Errorf("%d pods placed, want 3000", len(placed))
	}
	for uid, n := range placed {
		if n != 1 {
			t.Errorf("pod %s is placed %d times", uid, n)
		}
	}
}
