package controller

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/legacy"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// legacyControllers serve objects of earlier APIs if that is enabled.
func legacyControllers(shared deps.Shared, gates options.FeatureGates) []Controller {
	if !gates.LegacyProvisioner {
		return nil
	}
	return []Controller{lateLegacy{shared}}
}

// lateLegacy is a controller that is built when it is registered, because building it reads definitions and can fail.
type lateLegacy struct{ shared deps.Shared }

// Register builds the controller and adds it to the manager.
func (k lateLegacy) Register(m manager.Manager) error {
	c, err := legacy.New(k.shared)
	if err != nil {
		return fmt.Errorf("building the controller of Provisioners: %w", err)
	}
	return c.Register(m)
}
