package source

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud/plugin"
)

// UnpredictedDevices notes that pods that wait have claims for devices that the cloud leaves out; nothing where claims are rejected anyway.
func (p *Settings) UnpredictedDevices(opened plugin.Opened) []string {
	if p.IgnoreDRARequests || opened.UnpredictedDevices == "" {
		return nil
	}
	var claiming int
	for _, o := range opened.Objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName == "" && len(pod.Spec.ResourceClaims) > 0 {
			claiming++
		}
	}
	switch claiming {
	case 0:
		return nil
	case 1:
		return []string{"1 pending pod has resource claims; " + opened.UnpredictedDevices}
	}
	return []string{fmt.Sprintf("%d pending pods have resource claims; %s", claiming, opened.UnpredictedDevices)}
}
