package v1

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Labels of NodeClaims and Nodes.
const (
	// NodePoolLabelKey holds the name of the pool.
	NodePoolLabelKey = Group + "/nodepool"
	// CapacityTypeLabelKey holds how the instance is paid for; see the CapacityType constants.
	CapacityTypeLabelKey = Group + "/capacity-type"
	// NodeRegisteredLabelKey is "true" on a Node whose metadata was synced from its NodeClaim.
	NodeRegisteredLabelKey = Group + "/registered"
	// NodeInitializedLabelKey is "true" on a Node that is ready for pods and disruption.
	NodeInitializedLabelKey = Group + "/initialized"
	// NodeDoNotSyncTaintsLabelKey is "true" on a Node that gets its taints from elsewhere.
	NodeDoNotSyncTaintsLabelKey = Group + "/do-not-sync-taints"
)

// Annotations of NodePools, NodeClaims, Nodes and pods.
const (
	// DoNotDisruptAnnotationKey on a Node ("true") or a pod ("true" or a duration) forbids voluntary disruption.
	DoNotDisruptAnnotationKey = Group + "/do-not-disrupt"
	// DisruptionCostAnnotationKey on a pod holds the cost of its disruption, a base-10 32-bit integer. It replaces the pod deletion cost of
	// ReplicaSets as an input of disruption.
	DisruptionCostAnnotationKey = Group + "/disruption-cost"
	// DoNotRepairAnnotationKey on a Node ("true", no other value) forbids node repair, reboots included.
	DoNotRepairAnnotationKey = Group + "/do-not-repair"
	// NodePoolHashAnnotationKey holds the template hash, in decimal.
	NodePoolHashAnnotationKey = Group + "/nodepool-hash"
	// NodePoolHashVersionAnnotationKey holds the version of the hash; hashes of different versions are not compared.
	NodePoolHashVersionAnnotationKey = Group + "/nodepool-hash-version"
	// NodePoolSnapshotHashAnnotationKey is in snapshots only: the hash of a template without the fields that the snapshot does not have. While it
	// is that of the template, NodePoolHashAnnotationKey has the hash of the whole template.
	NodePoolSnapshotHashAnnotationKey = Group + "/nodepool-snapshot-hash"
	// NodeClaimTerminationTimestampAnnotationKey holds the time, in RFC 3339, at which draining ends by force.
	NodeClaimTerminationTimestampAnnotationKey = Group + "/nodeclaim-termination-timestamp"
	// NodeClaimMinValuesRelaxedAnnotationKey tells whether minValues was relaxed for the claim, "true" or "false".
	NodeClaimMinValuesRelaxedAnnotationKey = Group + "/nodeclaim-min-values-relaxed"
	// RequestedDRADriversAnnotationKey lists, sorted and comma separated, the drivers whose devices the claim needs.
	RequestedDRADriversAnnotationKey = Group + "/requested-dra-drivers"
	// PriceOverlayAppliedAnnotationKey is "true" on a claim that was offered an overlaid price.
	PriceOverlayAppliedAnnotationKey = Group + "/price-overlay-applied"
	// CapacityOverlayAppliedAnnotationKey is "true" on a claim that was offered overlaid capacity.
	CapacityOverlayAppliedAnnotationKey = Group + "/capacity-overlay-applied"
	// RebootPreBootIDAnnotationKey on a NodeClaim holds the boot ID of its node before the reboot. It is written once the node is drained,
	// before the cloud is asked to reboot the instance.
	RebootPreBootIDAnnotationKey = Group + "/reboot-pre-boot-id"
	// RebootTerminationGracePeriodAnnotationKey on a NodeClaim holds how long its node may be drained before a reboot, as a Go duration.
	// Absent means without a limit, 0s means that pods are not evicted.
	RebootTerminationGracePeriodAnnotationKey = Group + "/reboot-termination-grace-period"
)

// TerminationFinalizer is on NodeClaims and Nodes until the instance is drained and gone.
const TerminationFinalizer = Group + "/termination"

// Keys of taints on Nodes; neither has a value.
const (
	// DisruptedTaintKey keeps pods away from a node that is about to be removed.
	DisruptedTaintKey = Group + "/disrupted"
	// UnregisteredTaintKey keeps pods away from a node until its metadata is synced.
	UnregisteredTaintKey = Group + "/unregistered"
	// RebootingTaintKey keeps pods away from a node from the request of a reboot until it has booted.
	RebootingTaintKey = Group + "/rebooting"
)

// Values of CapacityTypeLabelKey.
const (
	CapacityTypeSpot     = "spot"
	CapacityTypeOnDemand = "on-demand"
	CapacityTypeReserved = "reserved"
)

// ResourceNodes is the pseudo-resource that counts nodes, in limits and in a pool's status.
const ResourceNodes corev1.ResourceName = "nodes"

// DisruptedNoScheduleTaint is the taint of a node that is about to be removed.
func DisruptedNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// UnregisteredNoExecuteTaint is the taint of a node that has not registered yet.
func UnregisteredNoExecuteTaint() corev1.Taint {
	return corev1.Taint{Key: UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}
}

// RebootingNoScheduleTaint is the taint of a node that is about to be rebooted.
func RebootingNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: RebootingTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// NodeClassLabelKey is the label that names the node class of a NodeClaim or Node: <group>/<kind in lower case>.
func NodeClassLabelKey(group, kind string) string {
	return group + "/" + strings.ToLower(kind)
}
