package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/reason"
)

// whyDevices is what stood in the way of the claims of a class at a pool, if they were what failed.
func (s diagnosis) whyDevices(v *poolFilter, st *level) (reason.Obstacle, bool) {
	if s.devices == nil {
		return reason.Obstacle{}, false
	}
	t, c := v.t, v.c
	r, ok := s.devices.failures[c][t]
	if !ok || t.limits.unlimited() {
		return r, ok
	}
	v.runTests()
	// Limits may have taken away the types that bring the devices.
	for _, o := range s.options(nil, c, st) {
		on := t.newOpenNode(v.portFree.And(v.attaching).And(t.states[t.root].mask))
		var got offer
		s.fitOpen(&got, bin{host: uncounted, number: len(s.open), open: on}, c, o.forms, 1)
		t.free([]*openNode{on})
		if got.pods > 0 {
			return reason.Obstacle{Code: reason.LimitsExceeded, Narrowed: true, Limits: v.limits(got.mask, t.states[got.state])}, true
		}
	}
	return r, ok
}
