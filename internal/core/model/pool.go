package model

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Pool is a NodePool as the engine sees it: the template of its nodes and their limits.
type Pool struct {
	Name   string
	Weight int32
	// Requirements are those of the template and its labels, with the pool and node-class labels.
	Requirements requirement.Set
	// Taints of the template; startup taints do not take part in decisions.
	Taints []Taint
	// NodeFeatures are the features that new nodes are expected to declare, and LackedDrivers the CSI drivers that are not expected on them.
	NodeFeatures, LackedDrivers []string
	// Limits by resource; a resource not listed is not limited.
	Limits map[int]int64
	// Used are amounts that count against Limits beside the capacity of nodes.
	Used map[int]int64
	// Catalog is the instance types that the pool may launch. Empty if the provider failed to list them.
	Catalog catalog.Catalog
}

// SkippedPool is a pool that may not launch nodes for pods. It takes part in no decision, and explains why pods are unschedulable.
type SkippedPool struct {
	// Pool has no Catalog.
	*Pool
	// Why is the reason, such as "it is not ready".
	Why string
	// ForOthers is set for pools that are not meant for pods, or are of another Karpenter: only pods that name the pool are told.
	ForOthers bool
}

// DaemonSet is a workload that puts a pod on every node it matches.
type DaemonSet struct {
	Namespace, Name, UID string
	// Created is the creation time in nanoseconds since the epoch.
	Created int64
	// Shape is that of a pod on a new node. Its priority decides which DaemonSets a node holds that cannot hold all.
	Shape *Shape
	// Labels are those of its pods; nil if they are not known.
	Labels *Labels
	// UsesDevices is set for daemons with resource claims.
	UsesDevices bool
}

// MinAllocatable returns the entrywise minimum of allocatable over all instance types and launchable offerings of the pool,
// before DaemonSets; nil if there are none.
func (p *Pool) MinAllocatable() resource.Vector {
	var low resource.Vector
	for _, t := range p.Catalog {
		if !p.Requirements.Intersects(t.Requirements) {
			continue
		}
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if !o.Launchable() || !p.Requirements.Intersects(o.Requirements) {
				continue
			}
			allocatable := t.Groups[o.Group].Allocatable
			if low == nil {
				low = allocatable.Clone()
			} else {
				low = low.Min(allocatable)
			}
		}
	}
	return low
}

// CanLaunch reports whether an instance of the type could be launched now: an offering that can be meets the requirements of the pool.
func (p *Pool) CanLaunch(t *catalog.InstanceType) bool {
	return p.Requirements.Intersects(t.Requirements) && slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool {
		return o.Launchable() && p.Requirements.Intersects(o.Requirements)
	})
}
