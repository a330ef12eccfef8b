package disruption

import "github.com/karpenter-anew/karpenter/internal/core/disrupt"

// letTerminateFirst lets a method terminate nodes before their replacements launch, if the feature gate of its reason is on.
func (pl *planner) letTerminateFirst(s *disrupt.Session, m disrupt.Method) {
	switch m.Reason {
	case disrupt.Drifted:
		s.TerminateFirst = pl.Gates.TerminateFirstDrift
	case disrupt.Unhealthy:
		s.TerminateFirst = pl.Gates.TerminateFirstRepair
	}
	s.TerminateFirstStatic = s.TerminateFirst && pl.Gates.StaticCapacity
}
