package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// DeviceClaims are ResourceClaims by name.
type DeviceClaims map[string]*device.Claim

// deviceClaimsOf are the ResourceClaims of a problem; nil when no pod uses any. ResourceClaims that only moving pods use
// are free: they are allocated again where these pods are placed.
func deviceClaimsOf(p Problem) DeviceClaims {
	if !p.UsesDevices() {
		return nil
	}
	moving := p.Moving()
	out := DeviceClaims{}
	for name, claim := range p.Devices.Claims.All() {
		out[name] = claim.Claim
		if claim.Allocation != nil && claim.PodsOnly && !slices.ContainsFunc(claim.Pods, func(uid string) bool { return !moving[uid] }) {
			free := *claim.Claim
			free.Allocation = nil
			out[name] = &free
		}
	}
	return out
}

// UsesDevices reports whether devices have to be allocated for some pod.
func (p Problem) UsesDevices() bool {
	return p.Devices != nil && slices.ContainsFunc(p.Pods, func(pod *model.Pod) bool {
		return len(pod.DeviceClaims()) > 0 || len(extendedBy(pod.Shape, p.Devices.Extended)) > 0
	})
}

// Moving are the pods that run on a node and are placed anew, by UID.
func (p Problem) Moving() map[string]bool {
	out := map[string]bool{}
	for _, pod := range p.Pods {
		if pod.Node != "" {
			out[pod.UID] = true
		}
	}
	return out
}

// Of is the ResourceClaims of a pod.
func (d DeviceClaims) Of(p *model.Pod) []*device.Claim {
	if d == nil || len(p.DeviceClaims()) == 0 {
		return nil
	}
	out := make([]*device.Claim, 0, len(p.DeviceClaims()))
	for _, name := range p.DeviceClaims() {
		if claim := d[name]; claim != nil {
			out = append(out, claim)
		}
	}
	return out
}
