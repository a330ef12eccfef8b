package controller

import (
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeoverlay"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

// withOverlays returns the cloud of shared with NodeOverlays applied, for use by all other controllers, and the controller that
// validates them against the cloud without overlays.
func withOverlays(shared deps.Shared) (cloud.Cloud, Controller) {
	corrections := &overlay.Store{}
	corrected := shared.Cloud
	corrected.Provider = overlay.Decorate(shared.Cloud.Provider, corrections)
	if corrected.UseCorrection != nil {
		corrected.UseCorrection(corrections.Correct)
	}
	return corrected, nodeoverlay.New(shared, corrections)
}
