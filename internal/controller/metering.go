package controller

import (
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/metering"
	"github.com/karpenter-anew/karpenter/internal/podlatency"
)

// meteringControllers show the state of objects, unless that is not wanted.
func meteringControllers(shared deps.Shared, p Parts, waits *podlatency.Tracker) []Controller {
	if p.Options.DisableClusterStateObservability {
		return nil
	}
	shared.Recorder = p.StatusRecorder
	return []Controller{metering.New(metering.Deps{Shared: shared, PodLatency: waits, Buffers: p.Options.FeatureGates.CapacityBuffer})}
}
