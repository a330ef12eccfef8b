package model

import (
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Snapshot is the cluster state at one moment.
type Snapshot struct {
	// Version grows with every change.
	Version uint64
	// Resources names the entries of every vector in the snapshot.
	Resources *resource.Table
	// Nodes by ID.
	Nodes Index[*Node]
	// Pending are the pods that kube-scheduler could not place, by UID.
	Pending Index[*Pod]
	// DaemonSets by namespace/name.
	DaemonSets Index[*DaemonSet]
	// Namespaces are the labels of every namespace, by name. The map is never changed.
	Namespaces map[string]map[string]string
	// Virtual are the virtual pods of capacity buffers. The list is never changed.
	Virtual []*Pod
	// HeadroomUnknown is set until the first scheduling run has placed the virtual pods.
	HeadroomUnknown bool
	// Learned is what the nodes had that were launched last.
	Learned LearnedFeatures
	// PodGroups are those by namespace/name; nil while the API server does not serve them. Pods have no group then, whatever they say.
	PodGroups *Index[*PodGroup]
	// Devices is nil while dynamic resource allocation is ignored.
	Devices *Devices
	// Health counts the nodes of each pool; nil while nodes are not repaired. The map is never changed.
	Health map[string]repair.Nodes
}

// Devices are the devices that drivers publish, the claims for them and their usage.
type Devices struct {
	// Slices by name.
	Slices Index[*device.Slice]
	// Claims by namespace/name.
	Claims Index[*DeviceClaim]
	// Usages by the name of the device.
	Usages Index[*device.Usage]
	// TaintRules taint devices, by name.
	TaintRules Index[*device.TaintRule]
	// Extended are the device classes of extended resources, by the name of the resource. The map is never changed.
	Extended map[string]ExtendedClass
}

// DeviceClaim is a resource claim with the pods it is reserved for.
type DeviceClaim struct {
	*device.Claim
	// Pods are UIDs. PodsOnly is set when the claim is reserved for at least one pod and for nothing else.
	Pods     []string
	PodsOnly bool
}
