package model

import (
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/repair"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// Node is a node that exists or was requested: a Node object, a NodeClaim, or both joined by their provider ID.
type Node struct {
	// ID is unique in a snapshot: the provider ID, or a name with a prefix that no provider ID has.
	ID string
	// Name is the Node's name once it is registered, the NodeClaim's before.
	Name string
	// NodeName and ClaimName are the objects' names; empty where there is no such object.
	NodeName, ClaimName string
	ProviderID          string
	// Pool is the NodePool's name, empty for nodes without a pool.
	Pool string
	// Labels are those of the node, or of the NodeClaim before registration.
	Labels map[string]string
	// Requirements is Labels as a set, or, before the launch, the requirements of the NodeClaim.
	Requirements requirement.Set
	Taints       []Taint

	Capacity    resource.Vector
	Allocatable resource.Vector
	// Used and UsedByDaemons are the requests of all bound pods, and of those that DaemonSets own.
	Used, UsedByDaemons resource.Vector
	// Pods are the live pods bound to the node, sorted by namespace and name.
	Pods []*Pod
	// AntiAffinityPods are those of Pods with required anti-affinity.
	AntiAffinityPods []*Pod
	// Attachable is the number of volumes that may be attached by driver; nil without a CSINode.
	Attachable volume.Limits
	// Attached are the volumes that are attached to the node, whether a pod there uses them or not; their claims may be shared with pods.
	Attached []volume.Attachment
	// NodeFeatures are the features that the kubelet declares, sorted.
	NodeFeatures []string
	// FeaturesExpected is set for as long as the kubelet of a managed node has not reported its features, DriversExpected for as long as CSI
	// drivers may still be installed on it.
	FeaturesExpected, DriversExpected bool
	// RawTaints are the taints of the Node object, ephemeral ones included; empty while there is no Node.
	RawTaints []Taint

	// Managed is set when the node has a NodeClaim of this installation.
	Managed bool
	// Launched is set when the instance exists, or the node is not managed.
	Launched bool
	// Registered is set when the Node has the labels and taints of its NodeClaim, or the node is not managed.
	Registered bool
	// Initialized is set when the Node is ready for pods; it is not while Rebooting is set.
	Initialized bool
	// Rebooting is set from the request of a reboot until the node is ready again.
	Rebooting bool
	// OpenDrain is set while a node that reboots is drained without a limit: when it returns depends on its pods.
	OpenDrain bool
	Ready     bool
	// Maintenance is set while conditions of the Node say that an administrator drains or maintains it.
	Maintenance bool
	// Deleting is set as soon as the node is marked for deletion by any controller or user.
	Deleting bool
	// NominatedUntil is when the last nomination by a scheduling result ends, in nanoseconds since the epoch; 0 for none.
	NominatedUntil int64
	// Headroom is the number of virtual pods that the last scheduling run placed on the node.
	Headroom int
	// InstanceTerminating is set once the provider accepted the deletion.
	InstanceTerminating bool

	// Disruption is the input of voluntary disruption; zero for nodes without a NodeClaim.
	Disruption Disruption
	// Health is what the repair of the node depends on.
	Health repair.Health
}

// Disruption is the input of voluntary disruption for a managed node.
type Disruption struct {
	// Consolidatable is the NodeClaim's condition: consolidateAfter has passed.
	Consolidatable bool
	// DoNotDisrupt is set by the node's annotation.
	DoNotDisrupt bool
	// DoNotRepair is set by the node's annotation.
	DoNotRepair bool
	// GracePeriod is the termination grace period of the claim; nil for none.
	GracePeriod *time.Duration
	// Created is when the claim was created, in nanoseconds since the epoch, and ExpireAfter how long it lives; 0 for no end.
	Created     int64
	ExpireAfter time.Duration
	// Drifted is the NodeClaim's condition, and DriftedSince when it became true, in nanoseconds since the epoch.
	Drifted      bool
	DriftedSince int64
	// LastPodEvent is when a pod was last bound or removed, or the node was initialized, in nanoseconds since the epoch; 0 for nodes
	// that are not initialized.
	LastPodEvent int64
}

// Expires is when the node expires; zero for never, and where its creation is not known, as in manifests.
func (d Disruption) Expires() time.Time {
	if d.ExpireAfter <= 0 || d.Created <= 0 {
		return time.Time{}
	}
	return time.Unix(0, d.Created).Add(d.ExpireAfter)
}
