package devices

import (
	"fmt"
	"strconv"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// SharingAnnotation is the annotation of a node class that says how claims share GPUs.
const SharingAnnotation = awsv1.Group + "/nvidia-consumable-capacity"

// Sharing is how the driver of NVIDIA lets claims share a GPU. The zero value is exclusive GPUs.
type Sharing struct {
	// Memory says that claims take parts of the memory; a claim that names no amount takes all.
	Memory bool
	// Unlimited says that any number of claims share a GPU, whatever memory they name.
	Unlimited bool
	// Shares is how many shares a GPU has besides; 0 for no such capacity.
	Shares int64
}

// Any reports whether GPUs are shared at all.
func (s Sharing) Any() bool { return s.Memory || s.Unlimited }

// ParseSharing reads the annotation of a node class: empty or disabled, memory, unlimited, or a number of shares from 1.
//
// Source: specification of version 1.15, N333.
func ParseSharing(value string) (Sharing, error) {
	switch value {
	case "", "disabled":
		return Sharing{}, nil
	case "memory":
		return Sharing{Memory: true}, nil
	case "unlimited":
		return Sharing{Unlimited: true}, nil
	}
	shares, err := strconv.ParseInt(value, 10, 64)
	if err != nil || shares < 1 {
		return Sharing{}, fmt.Errorf("%q is not allowed: set disabled, memory, unlimited, or a number of shares of at least 1", value)
	}
	return Sharing{Unlimited: true, Shares: shares}, nil
}

// apply makes a device with memory one that claims share.
func (s Sharing) apply(d *resourcev1.Device) {
	if !s.Any() {
		return
	}
	shared, step := true, resource.MustParse("1Mi")
	d.AllowMultipleAllocations = &shared
	memory := d.Capacity["memory"]
	least, usual := step, memory.Value
	if s.Unlimited {
		least, usual = *resource.NewQuantity(0, resource.BinarySI), *resource.NewQuantity(0, resource.BinarySI)
	}
	memory.RequestPolicy = between(usual, least, memory.Value, step)
	d.Capacity["memory"] = memory
	if s.Shares > 0 {
		one, all := *resource.NewQuantity(1, resource.DecimalSI), *resource.NewQuantity(s.Shares, resource.DecimalSI)
		d.Capacity["shares"] = resourcev1.DeviceCapacity{Value: all, RequestPolicy: between(one, one, all, one)}
	}
}

// between allows requests from least to most in steps; usual is taken where a claim names no amount.
func between(usual, least, most, step resource.Quantity) *resourcev1.CapacityRequestPolicy {
	return &resourcev1.CapacityRequestPolicy{Default: &usual, ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: &least, Max: &most, Step: &step}}
}
