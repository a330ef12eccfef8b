package operator

import (
	"github.com/karpenter-anew/karpenter/internal/controller/loop"
	"github.com/karpenter-anew/karpenter/internal/controller/metering"
	"github.com/karpenter-anew/karpenter/internal/podlatency"
)

// meters show the state of objects, unless that is not wanted.
func meters(tools loop.Tools, p Parts, waits *podlatency.Tracker) []Controller {
	if p.Options.DisableClusterStateObservability {
		return nil
	}
	tools.Recorder = p.StatusRecorder
	return []Controller{metering.New(metering.Deps{Tools: tools, Waits: waits, Buffers: p.Options.FeatureGates.CapacityBuffer})}
}
