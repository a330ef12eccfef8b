package cloud

import resourcev1 "k8s.io/api/resource/v1"

// DynamicResources is what device drivers will publish on a node, as far as it is known before the node exists. It is
// shared and must not be changed once a provider has handed it out.
//
// Source: scheduling specification, instance type; dynamic resource allocation.
type DynamicResources struct {
	// ResourceSlices are complete pools. Where they can be used is the node they are published on, whatever they say.
	ResourceSlices []resourcev1.ResourceSlice
	// AttributeBindings are devices that will have the same value of an attribute that only the node can tell.
	AttributeBindings []AttributeBinding
}

// AttributeBinding is at least two devices of one node that will have the same value of an attribute.
type AttributeBinding struct {
	Attribute resourcev1.FullyQualifiedName
	Devices   []DeviceID
}

// DeviceID names a device among those of DynamicResources.
type DeviceID struct{ Driver, Pool, Device string }
