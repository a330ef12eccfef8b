package operator

import (
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/loop"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeoverlay"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

// withOverlays is the cloud of the tools as everybody else should see it, with NodeOverlays applied, and the controller that
// judges them against the cloud as it is.
func withOverlays(tools loop.Tools) (cloud.Cloud, Controller) {
	corrections := &overlay.Store{}
	corrected := tools.Cloud
	corrected.Provider = overlay.Decorate(tools.Cloud.Provider, corrections)
	if corrected.UseCorrection != nil {
		corrected.UseCorrection(corrections.Correct)
	}
	return corrected, nodeoverlay.New(tools, corrections)
}
