// Package instancetype computes an instance type of Azure under a node class as scheduling needs it: labels, capacity, overhead and
// offerings. All data comes in as plain values; the package makes no calls, keeps no state and logs nothing.
//
// Source: Azure provider specification, instance types; offerings; capacity and overhead.
package instancetype

import (
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// Settings are the settings of the installation on which instance types depend.
type Settings struct {
	// Location is the location of the cluster, such as westus2.
	Location string
	// NodeResourceGroup is the resource group of the nodes.
	NodeResourceGroup string
	// VMMemoryOverheadPercent is the fraction of the memory that the hypervisor is assumed to use, for instance 0.075.
	VMMemoryOverheadPercent float64
}

// Input is everything that an instance type under a node class depends on.
type Input struct {
	SKU      sku.Description
	Class    Class
	Settings Settings
	Market   Market
}

// Resolve returns the instance type for scheduling, and false if nodes of the class cannot have it. It shares no memory with the input.
//
// A type without available offerings is returned: it may be available again.
func Resolve(in Input) (*cloud.InstanceType, bool) {
	if !Compatible(&in.SKU, in.Class) {
		return nil, false
	}
	offerings := in.offerings()
	return &cloud.InstanceType{
		Name:         in.SKU.Name,
		Requirements: in.requirements(offerings),
		Offerings:    offerings,
		Capacity:     in.capacity(),
		Overhead:     in.overhead(),
	}, true
}
