package source

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// assumedGates are those of a controller that publishes nothing: NodeOverlays, CapacityBuffers and static NodePools count, because who writes
// them expects them to.
func assumedGates() options.FeatureGates {
	out := options.DefaultFeatureGates()
	out.NodeOverlay, out.CapacityBuffer, out.StaticCapacity = true, true, true
	return out
}

// disabledGates are the feature gates that are off according to the status of objects: their controller writes that, whether it publishes its
// settings or not.
func disabledGates(objects []client.Object) options.GateChanges {
	out := options.GateChanges{}
	for _, o := range objects {
		switch o := o.(type) {
		case *v1.NodePool:
			if c := meta.FindStatusCondition(o.Status.Conditions, v1.ConditionTypeReplicasKept); c != nil && c.Reason == v1.ReasonStaticCapacityDisabled {
				out["StaticCapacity"] = false
			}
		case *v1alpha1.NodeOverlay:
			if c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionTypeReady); c != nil && c.Reason == v1alpha1.ReasonNodeOverlayDisabled {
				out["NodeOverlay"] = false
			}
		case *autoscalingv1beta1.CapacityBuffer:
			c := meta.FindStatusCondition(o.Status.Conditions, autoscalingv1beta1.ConditionTypeReadyForProvisioning)
			if c != nil && c.Reason == autoscalingv1beta1.ReasonCapacityBufferDisabled {
				out["CapacityBuffer"] = false
			}
		}
	}
	return out
}

// adoptDisabledGates turns off the gates that are off according to the status of objects, and that the user did not name.
func (p *Settings) adoptDisabledGates(objects []client.Object) {
	named := p.FeatureGates
	p.FeatureGates = disabledGates(objects)
	maps.Copy(p.FeatureGates, named)
}

// AssumedGates says which feature gates are assumed to be on for objects, although they are off by default and no flag names them; empty for none.
func (p *Settings) AssumedGates(objects []client.Object) string {
	found := map[string]bool{}
	for _, o := range objects {
		switch o := o.(type) {
		case *v1.NodePool:
			found["StaticCapacity"] = found["StaticCapacity"] || o.Spec.Replicas != nil
		case *v1alpha1.NodeOverlay:
			found["NodeOverlay"] = true
		case *autoscalingv1beta1.CapacityBuffer:
			found["CapacityBuffer"] = true
		}
	}
	var out []string
	for _, gate := range []string{"CapacityBuffer", "NodeOverlay", "StaticCapacity"} {
		if _, named := p.FeatureGates[gate]; found[gate] && !named {
			out = append(out, gate+"=true")
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "the controller is assumed to have --feature-gates=" + strings.Join(out, ",") + ", which is not the default"
}
