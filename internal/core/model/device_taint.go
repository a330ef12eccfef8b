package model

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/device"
)

// EvictedClaims are the resource claims whose pods are evicted soon, because a device has a NoExecute taint, by namespace/name.
func (d *Devices) EvictedClaims() map[string]bool {
	if d == nil {
		return nil
	}
	evictions := device.NewEvictions(d.Slices.Sorted(), d.TaintRules.Sorted())
	if evictions.None() {
		return nil
	}
	out := map[string]bool{}
	for id, claim := range d.Claims.All() {
		if claim.Allocation != nil && evictions.Evict(claim.Allocation) {
			out[id] = true
		}
	}
	return out
}

// UsesClaim reports whether a pod of the node has one of the resource claims.
func (n *Node) UsesClaim(claims map[string]bool) bool {
	return len(claims) > 0 && slices.ContainsFunc(n.Pods, func(p *Pod) bool {
		return slices.ContainsFunc(p.DeviceClaims(), func(id string) bool { return claims[id] })
	})
}
