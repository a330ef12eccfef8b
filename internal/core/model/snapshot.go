package model

import (
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Snapshot is what is, at one moment.
type Snapshot struct {
	// Version grows with every change.
	Version uint64
	// Resources names the entries of every vector in the snapshot.
	Resources *resource.Table
	// Nodes by ID.
	Nodes Index[*Node]
	// Pending are the pods that wait for a node and that the scheduler could not place, by UID.
	Pending Index[*Pod]
	// DaemonSets by namespace/name.
	DaemonSets Index[*DaemonSet]
	// Namespaces are the labels of every namespace, by name. The map is never changed.
	Namespaces map[string]map[string]string
	// Virtual are the pods that stand for the headroom of capacity buffers. The list is never changed.
	Virtual []*Pod
	// Unsettled is set while it is not known yet on which nodes they have their place.
	HeadroomUnknown bool
	// Devices are nil while dynamic resource allocation is ignored.
	Devices *Devices
}

// Devices is what drivers publish, and what claims want and have of it.
type Devices struct {
	// Slices by name.
	Slices Index[*device.Slice]
	// Claims by namespace/name.
	Claims Index[*DeviceClaim]
	// Usages by the name of the device.
	Usages Index[*device.Usage]
}

// DeviceClaim is a resource claim with the pods it is reserved for.
type DeviceClaim struct {
	*device.Claim
	// Pods are UIDs. PodsOnly is set when pods, and at least one, are all the claim is reserved for.
	Pods     []string
	PodsOnly bool
}
