package device

import "github.com/karpenter-anew/karpenter/internal/core/resource"

// Usage is the allocation of a device of the cluster to claims. It is never changed once built.
type Usage struct {
	Device ID
	// Shares are the claims that have the device, sorted by claim.
	Shares []Share
}

// Share is one claim's part of a device.
type Share struct {
	Claim string
	// Pods are the UIDs of the pods the claim is reserved for.
	Pods []string
	// PodsOnly is set if the claim is reserved for at least one pod and for nothing else: the device is free once they are gone.
	PodsOnly bool
	// Consumed is the consumed capacity of a shared device; nil for exclusive allocations.
	Consumed []Amount
}

// leaves reports whether the share is released once the leaving pods are gone.
func (s Share) leaves(leaving func(uid string) bool) bool {
	if !s.PodsOnly {
		return false
	}
	for _, uid := range s.Pods {
		if !leaving(uid) {
			return false
		}
	}
	return true
}

// Releasable reports whether the device is free once certain pods are gone.
func (u *Usage) Releasable() bool {
	for _, s := range u.Shares {
		if !s.PodsOnly {
			return false
		}
	}
	return true
}

// Shared reports whether claims share the capacity of the device.
func (u *Usage) Shared() bool {
	for _, s := range u.Shares {
		if s.Consumed != nil {
			return true
		}
	}
	return false
}

// Allocated is the allocated part of the cluster's devices.
type Allocated struct {
	// exclusive devices belong to one claim, capacity is the consumed capacity of shared ones, by dimension.
	exclusive map[ID]bool
	capacity  map[ID]map[string]int64
}

// NewAllocated sums up usages, in any order, without the shares that the leaving pods release. An exclusive device is free once all
// of its shares are released.
func NewAllocated(usages []*Usage, leaving func(uid string) bool) Allocated {
	t := Allocated{exclusive: map[ID]bool{}, capacity: map[ID]map[string]int64{}}
	for _, u := range usages {
		if !u.Shared() {
			if !u.free(leaving) {
				t.exclusive[u.Device] = true
			}
			continue
		}
		used := map[string]int64{}
		stays := false
		for _, s := range u.Shares {
			if s.leaves(leaving) {
				continue
			}
			stays = true
			for _, a := range s.Consumed {
				used[a.Name] = resource.AddSaturated(used[a.Name], a.Value)
			}
		}
		if stays {
			t.capacity[u.Device] = used
		}
	}
	return t
}

func (u *Usage) free(leaving func(uid string) bool) bool {
	for _, s := range u.Shares {
		if !s.leaves(leaving) {
			return false
		}
	}
	return true
}

// inUse reports whether the device is allocated to any claim.
func (t Allocated) inUse(id ID) bool {
	_, partly := t.capacity[id]
	return partly || t.exclusive[id]
}
