package model

import (
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Pool is a NodePool as the engine sees it: the blueprint of its nodes and the bounds of their number.
type Pool struct {
	Name   string
	Weight int32
	// Requirements are those of the template and its labels, with the pool and node-class labels.
	Requirements requirement.Set
	// Taints of the template; startup taints do not take part in decisions.
	Taints []Taint
	// Limits by resource; a resource not listed is not limited.
	Limits map[int]int64
	// Catalog is what the pool may launch. Empty when the provider could not tell.
	Catalog catalog.Catalog
}

// DaemonSet is a workload that puts a pod on every node it matches.
type DaemonSet struct {
	Namespace, Name string
	Shape           *Shape
	// UsesDevices is set for daemons with resource claims.
	UsesDevices bool
}

// Floor is what every machine that the pool may launch now leaves for pods, daemons included; nil if it can launch none.
func (p *Pool) MinAllocatable() resource.Vector {
	var floor resource.Vector
	for _, t := range p.Catalog {
		if !p.Requirements.Intersects(t.Requirements) {
			continue
		}
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if !o.Available() || !p.Requirements.Intersects(o.Requirements) {
				continue
			}
			leaves := t.Groups[o.Group].Allocatable
			if floor == nil {
				floor = leaves.Clone()
			} else {
				floor = floor.Min(leaves)
			}
		}
	}
	return floor
}
