package disruption

import (
	"context"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// letTerminateFirst lets a method terminate nodes before their replacements launch, if the feature gate of its reason is on.
func (pl *planner) letTerminateFirst(ctx context.Context, v view, s *disrupt.Session, m disrupt.Method) {
	switch m.Reason {
	case disrupt.Drifted:
		s.TerminateFirst = pl.Gates.TerminateFirstDrift
	case disrupt.Unhealthy:
		s.TerminateFirst = pl.Gates.TerminateFirstRepair
	}
	s.TerminateFirstStatic = s.TerminateFirst && pl.Gates.StaticCapacity
	if pl.Gates.ReservedCapacity {
		s.ReservationLabel = pl.Cloud.ReservationIDLabel
	}
	s.StaticPool = func(name string) *model.Pool {
		pool, err := pl.reads.builder().StaticPool(ctx, v.pools[name])
		if err != nil {
			pl.Log.Error("cannot compare a static nodepool with its capacity reservations, leaving its nodes alone", logfield.NodePool(name), logfield.Error(err))
			return nil
		}
		return pool
	}
}
