package operator

import (
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeoverlay"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

// withOverlays is the cloud of the shared as everybody else should see it, with NodeOverlays applied, and the controller that
// judges them against the cloud as it is.
func withOverlays(shared deps.Shared) (cloud.Cloud, Controller) {
	corrections := &overlay.Store{}
	corrected := shared.Cloud
	corrected.Provider = overlay.Decorate(shared.Cloud.Provider, corrections)
	if corrected.UseCorrection != nil {
		corrected.UseCorrection(corrections.Correct)
	}
	return corrected, nodeoverlay.New(shared, corrections)
}
