package model

import (
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// Node is a machine that exists or was asked for: a Node object, a NodeClaim, or both joined by their provider id.
type Node struct {
	// ID is unique in a snapshot: the provider id, or a name with a prefix that no provider id has.
	ID string
	// Name is the Node's name once it is registered, the NodeClaim's before.
	Name string
	// NodeName and ClaimName are the objects' names; empty where there is no such object.
	NodeName, ClaimName string
	ProviderID          string
	// Pool is the NodePool's name, empty for nodes that no pool owns.
	Pool string
	// Labels are the facts about the node. A claim that is not launched yet has requirements in their place.
	Labels map[string]string
	// Requirements is Labels as a set, or, before the launch, everything the launch is bound to respect.
	Requirements requirement.Set
	Taints       []Taint

	Capacity    resource.Vector
	Allocatable resource.Vector
	// Used and UsedByDaemons are the requests of bound pods, and of those that DaemonSets own.
	Used, UsedByDaemons resource.Vector
	// Pods are the live pods bound to the node, sorted by namespace and name.
	Pods []*Pod
	// Guarded are those of Pods with required anti-affinity: they keep others away.
	AntiAffinityPods []*Pod
	// Attachable is how many volumes of each driver may be attached; nil where nobody has said yet.
	Attachable volume.Limits
	// RawTaints are the taints of the Node object, passing ones included; empty while there is no Node.
	RawTaints []Taint

	// Managed is set when there is a NodeClaim of ours.
	Managed bool
	// Launched is set when the machine exists at the provider, or is none of ours.
	Launched    bool
	Initialized bool
	Ready       bool
	// Deleting is set from the moment the node is marked for deletion by anyone.
	Deleting bool
	// NominatedUntil is when the last nomination by a scheduling result ends, in nanoseconds since the epoch; 0 for none.
	NominatedUntil int64
	// Headroom is how many virtual pods were given their place on the node when pods were placed last.
	Headroom int
	// InstanceTerminating is set once the provider accepted the deletion.
	InstanceTerminating bool

	// Disruption is what voluntary disruption needs to know; zero for nodes without a NodeClaim.
	Disruption Disruption
}

// Disruption is what voluntary disruption needs to know about a managed node.
type Disruption struct {
	// Consolidatable is the NodeClaim's condition: the quiet time has passed.
	Consolidatable bool
	// DoNotDisrupt is set by the node's annotation.
	DoNotDisrupt bool
	// GracePeriod is set when the claim has a termination grace period of any length.
	GracePeriod bool
	// Drifted is the NodeClaim's condition, and DriftedSince when it became true, in nanoseconds since the epoch.
	Drifted      bool
	DriftedSince int64
	// QuietSince is when a pod came or went last, or the node was initialized, in nanoseconds since the epoch; 0 for nodes
	// that are not initialized.
	LastPodEvent int64
}
