package model

import "github.com/karpenter-anew/karpenter/internal/core/device"

// ExtendedRequest is what the containers of a pod request of one extended resource, which dynamic resource allocation may serve.
type ExtendedRequest struct {
	// Name is the name of the resource.
	Name string
	// Counts are the devices of each request of the claim that kube-scheduler makes, all above zero.
	Counts []int
}

// Total is the number of devices.
func (r ExtendedRequest) Total() int {
	n := 0
	for _, count := range r.Counts {
		n += count
	}
	return n
}

// ExtendedClass is the device class of an extended resource.
type ExtendedClass struct {
	// Name is the name of the DeviceClass.
	Name string
	// Selection is the devices of the class.
	Selection *device.Selection
	// Problem is why no device of the class can be allocated; empty for most classes.
	Problem string
}
