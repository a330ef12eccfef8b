package solve

import "testing"

// TestOnlyOverlaidCandidatesMark: a NodeClaim is marked when a NodeOverlay corrects a type that it lists, and no other
// type.
func TestOnlyOverlaidCandidatesMark(t *testing.T) {
	t.Attr("covers", "L220")
	for _, test := range []struct {
		name                string
		cpu                 int64
		priced, resized     bool
		wantPrice, wantSize bool
	}{
		{"the corrected type is a candidate", 1000, true, true, true, true},
		{"only its price is corrected", 1000, true, false, true, false},
		{"only its capacity is corrected", 1000, false, true, false, true},
		{"the corrected type is too small", 3000, true, true, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			small, large := instanceType("small", 2, 8, 0.10), instanceType("large", 4, 16, 0.20)
			small.PriceOverlaid, small.CapacityOverlaid = test.priced, test.resized
			plan := Solve(problem(pods(1, shape(test.cpu, gi)), pool("default", small, large)))
			if c := plan.NodeClaims[0]; c.PriceOverlaid != test.wantPrice || c.CapacityOverlaid != test.wantSize {
				t.Errorf("claim for %v: price %t, capacity %t, want %t, %t", c.InstanceTypes, c.PriceOverlaid, c.CapacityOverlaid, test.wantPrice, test.wantSize)
			}
		})
	}
}
