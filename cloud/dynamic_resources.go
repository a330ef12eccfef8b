package cloud

import resourcev1 "k8s.io/api/resource/v1"

// DynamicResources is what device drivers are expected to publish on a node. It is
// shared and must not be changed once a provider has returned it.
//
// Source: scheduling specification, instance type; dynamic resource allocation.
type DynamicResources struct {
	// ResourceSlices are complete pools. They are usable on the node that publishes them, whatever their node selection.
	ResourceSlices []resourcev1.ResourceSlice
	// AttributeBindings are devices that will have the same value of an attribute that is known only on the node.
	AttributeBindings []AttributeBinding
}

// AttributeBinding is at least two devices of one node that will have the same value of an attribute.
type AttributeBinding struct {
	Attribute resourcev1.FullyQualifiedName
	Devices   []DeviceID
}

// DeviceID names a device among those of DynamicResources.
type DeviceID struct{ Driver, Pool, Device string }
