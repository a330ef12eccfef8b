package controller

import (
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/featuregate"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// featureGateControllers show on the objects of feature gates that are off that they are not applied.
func featureGateControllers(shared deps.Shared, gates options.FeatureGates) []Controller {
	if c := featuregate.New(shared, gates); c != nil {
		return []Controller{c}
	}
	return nil
}
