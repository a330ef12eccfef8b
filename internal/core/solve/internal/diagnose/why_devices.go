package diagnose

import (
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// whyDevices is the reason against the ResourceClaims of a class at a pool, if there is one.
func (s diagnosis) whyDevices(v *poolFilter, st *compile.Level) (unschedulable.Reason, bool) {
	if s.Devices == nil {
		return unschedulable.Reason{}, false
	}
	t, c := v.t, v.c
	r, ok := s.Devices.Failures[c][t]
	untested := !ok && len(c.DeviceClaims) > 0 && v.closed()
	if t.Limits.Unlimited() || !ok && !untested {
		return r, ok
	}
	v.runTests(t.States[t.Step(t.Root, st.Conjunction)])
	// Limits may exclude the types with the devices.
	for _, o := range s.Options(nil, c, st) {
		on := t.NewOpenNode(v.portFree.And(v.attaching).And(t.States[t.Root].Mask))
		var got compile.Offer
		// Any pod of the class fails alike.
		s.FitOpen(&got, compile.Bin{Host: compile.Uncounted, Number: len(s.Open), Open: on}, c, o.Forms, make([]*model.Pod, 1))
		t.Free([]*compile.OpenNode{on})
		if got.Pods > 0 {
			return v.overLimits(got.Mask, t.States[got.State]), true
		}
	}
	if untested {
		r, ok = s.Devices.Failures[compile.Asked(c)][t]
	}
	return r, ok
}
