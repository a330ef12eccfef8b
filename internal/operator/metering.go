package operator

import (
	"github.com/karpenter-anew/karpenter/internal/controller/loop"
	"github.com/karpenter-anew/karpenter/internal/controller/metering"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/waiting"
)

// meters show the state of objects, unless that is not wanted.
func meters(tools loop.Tools, o options.Options, waits *waiting.Book) []Controller {
	if o.DisableClusterStateObservability {
		return nil
	}
	return []Controller{metering.New(metering.Deps{Tools: tools, Waits: waits, Buffers: o.FeatureGates.CapacityBuffer})}
}
