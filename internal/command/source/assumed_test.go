package source

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// TestGatesThatObjectsSayAreOff: a controller that publishes no settings says by the status of objects that it does not apply them.
func TestGatesThatObjectsSayAreOff(t *testing.T) {
	overlay := func(reason string) client.Object {
		o := &v1alpha1.NodeOverlay{}
		meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason})
		return o
	}
	buffer := func(reason string) client.Object {
		b := &autoscalingv1beta1.CapacityBuffer{}
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: "ReadyForProvisioning", Status: metav1.ConditionFalse, Reason: reason})
		return b
	}
	static := func(reason string) client.Object {
		p := &v1.NodePool{Spec: v1.NodePoolSpec{Replicas: new(int64(2))}}
		meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: "ReplicasKept", Status: metav1.ConditionFalse, Reason: reason})
		return p
	}
	for name, c := range map[string]struct {
		objects []client.Object
		user    options.GateChanges
		// ignored are whether NodeOverlays and CapacityBuffers are; assumed are the gates that are said to be assumed.
		overlays, buffers bool
		assumed           string
	}{
		"nothing is said":        {[]client.Object{overlay("Conflict"), buffer("ResolutionFailed")}, nil, false, false, "CapacityBuffer=true,NodeOverlay=true"},
		"one gate is off":        {[]client.Object{overlay("NodeOverlayDisabled"), overlay("Conflict"), buffer("ResolutionFailed")}, nil, true, false, "CapacityBuffer=true"},
		"replicas are not kept":  {[]client.Object{static("StaticCapacityDisabled")}, nil, false, false, ""},
		"replicas are kept":      {[]client.Object{static("NodeLimitBelowReplicas")}, nil, false, false, "StaticCapacity=true"},
		"both gates are off":     {[]client.Object{overlay("NodeOverlayDisabled"), buffer("CapacityBufferDisabled")}, nil, true, true, ""},
		"the user turns one on":  {[]client.Object{overlay("NodeOverlayDisabled"), buffer("CapacityBufferDisabled")}, options.GateChanges{"NodeOverlay": true}, false, true, ""},
		"the user turns one off": {[]client.Object{overlay("Conflict"), buffer("ResolutionFailed")}, options.GateChanges{"CapacityBuffer": false}, false, true, "NodeOverlay=true"},
	} {
		p := Settings{FeatureGates: c.user}
		p.adoptDisabledGates(c.objects)
		got := p.Simulation()
		if got.IgnoreOverlays != c.overlays || got.IgnoreBuffers != c.buffers {
			t.Errorf("%s: NodeOverlays are ignored: %t, CapacityBuffers: %t", name, got.IgnoreOverlays, got.IgnoreBuffers)
		}
		if got := p.AssumedGates(c.objects); (c.assumed == "") != (got == "") || !strings.Contains(got, "--feature-gates="+c.assumed) && c.assumed != "" {
			t.Errorf("%s: %q, want %q", name, got, c.assumed)
		}
	}
}
