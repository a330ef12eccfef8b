// Package reason is the closed vocabulary of why a pod was not placed. The engine answers in these values; text is made
// at the edge, when somebody reads it.
//
// Source: scheduling specification, errors and how they are surfaced.
package reason

// Code names one kind of obstacle. The set is closed: a new kind is a new constant with its rule.
type Code string

// The obstacles, in the order in which they are tested.
const (
	// DevicesIgnored means that the pod has resource claims and the installation does not look at them.
	DevicesIgnored Code = "DevicesIgnored"
	// DeviceClaimMissing means that a resource claim of the pod does not exist.
	DeviceClaimMissing Code = "DeviceClaimMissing"
	// NoPools means that there is no pool to launch from.
	NoPools Code = "NoPools"
	// PoolEmpty means that the pool's own requirements leave no instance type.
	PoolEmpty Code = "PoolEmpty"
	// NodesExhausted means that the pool's limit on the number of nodes is used up.
	NodesExhausted Code = "NodesExhausted"
	// LimitsExceeded means that every instance type, or every one that the pod would fit on, would exceed the pool's remaining
	// limits.
	LimitsExceeded Code = "LimitsExceeded"
	// TaintNotTolerated means that the pod does not tolerate a taint of the pool.
	TaintNotTolerated Code = "TaintNotTolerated"
	// LabelUndefined means that the pod demands a label that nodes of the pool do not have.
	LabelUndefined Code = "LabelUndefined"
	// RequirementConflict means that pod and pool want different values of a label.
	RequirementConflict Code = "RequirementConflict"
	// VolumeUnreachable means that the pod's volumes cannot be used from any node of the pool.
	VolumeUnreachable Code = "VolumeUnreachable"
	// DevicesUnavailable means that no device, or not enough of them, can be had for the pod's resource claims.
	DevicesUnavailable Code = "DevicesUnavailable"
	// DevicesUnreachable means that the devices of the pod's resource claims cannot be used from any node of the pool.
	DevicesUnreachable Code = "DevicesUnreachable"
	// NoInstanceTypeWithDevices means that the instance types with the devices are not those that can run the pod.
	NoInstanceTypeWithDevices Code = "NoInstanceTypeWithDevices"
	// TopologyUnsatisfiable means that spread, affinity or anti-affinity leaves no domain for the pod.
	TopologyUnsatisfiable Code = "TopologyUnsatisfiable"
	// HostPortTaken means that daemons claim a port that the pod wants on every instance type.
	HostPortTaken Code = "HostPortTaken"
	// VolumesNotAttachable means that no instance type has slots for all volumes of the pod.
	VolumesNotAttachable Code = "VolumesNotAttachable"
	// MinValuesUnmet means that too few distinct values of a label stay available.
	MinValuesUnmet Code = "MinValuesUnmet"
	// DaemonsTakeRoom means that the pod would fit if it were not for what DaemonSets take on every node.
	DaemonsTakeRoom Code = "DaemonsTakeRoom"
	// OfferingUnavailable means that what the pod would fit on is on offer, but cannot be had at this moment.
	OfferingUnavailable Code = "OfferingUnavailable"
	// NoInstanceType means that no single instance type passes requirements, resources and offerings together.
	NoInstanceType Code = "NoInstanceType"
)

// Rule is one line per code for people: what was tested, and what would change the outcome.
type Rule struct {
	Code   Code
	Rule   string
	Remedy string
}

// Rules is the vocabulary, in the order of Code.
func Rules() []Rule {
	return []Rule{
		{DevicesIgnored, "Pods with resource claims are placed only where dynamic resource allocation is looked at.", "Start the controller with --ignore-dra-requests=false."},
		{DeviceClaimMissing, "Every resource claim a pod refers to must exist; one made from a template may be on its way.", "Create the claim, or wait for the one from the template."},
		{NoPools, "A node can be launched only from a NodePool that is ready and not static.", "Create a NodePool, or look at the Ready condition of the ones there are."},
		{PoolEmpty, "A pool's own requirements must leave at least one instance type that is on offer.", "Loosen the pool's requirements; compare them with the labels of the provider's instance types."},
		{NodesExhausted, "A pool launches no node beyond its limit on nodes.", "Raise limits.nodes of the pool or free a node."},
		{LimitsExceeded, "A node is launched only if its full capacity stays within the pool's limits, together with what its nodes have and what is about to be launched.", "Raise the pool's limits or free capacity in it."},
		{TaintNotTolerated, "A pod must tolerate every taint of the pool's template; startup taints do not count.", "Add the toleration to the pod, or offer a pool without the taint."},
		{LabelUndefined, "A label that a pod demands must be defined by the pool or be a well-known label.", "Add the label to the pool's template or requirements, or correct the pod's selector."},
		{RequirementConflict, "Pod and pool must agree on at least one value of every label that both constrain.", "Widen the pool's requirement or the pod's selector."},
		{VolumeUnreachable, "All volumes of a pod must be usable from one node: same zone, or whatever their storage class or volume demands.", "Offer a pool in the zone of the volumes, or move the volumes to one zone."},
		{DevicesUnavailable, "Every resource claim of a pod must be satisfied with devices that exist and are free, or that an instance type comes with.", "Free devices, loosen the claim's selectors and constraints, or offer instance types with such devices."},
		{DevicesUnreachable, "The node must be where all devices of a pod's resource claims can be used.", "Offer a pool in the zone of the devices, or do not combine claims from different zones."},
		{NoInstanceTypeWithDevices, "One instance type must come with the devices and pass requirements, resources and offerings too.", "Lower the pod's requests, loosen its requirements, or offer the devices with other instance types."},
		{TopologyUnsatisfiable, "Every spread, affinity and anti-affinity that is not a wish must leave a domain, all of them together.", "Make room in the domains that count least, offer pools in more of them, or loosen the constraint."},
		{HostPortTaken, "A port of the node belongs to one pod; DaemonSets claim theirs on every node they run on.", "Use another host port, or none, or keep the DaemonSet off the nodes of one pool."},
		{VolumesNotAttachable, "A node attaches only so many volumes of a driver.", "Give the pod fewer volumes, or offer instance types that attach more."},
		{MinValuesUnmet, "A launch must keep as many distinct values as the pool's minValues demands.", "Lower minValues, or loosen what narrows the instance types."},
		{DaemonsTakeRoom, "What is left of a node beside its DaemonSets must be enough for the pod.", "Lower the requests of the DaemonSets, keep them off the nodes of one pool, or offer larger instance types."},
		{OfferingUnavailable, "What a pod fits on must be available: the cloud has some left, its price is known, and the node class can be used in its zone.", "Allow other zones, capacity types or instance types in pool and pod, or let the node class cover the zone; what the cloud has run out of is tried again after a while."},
		{NoInstanceType, "One instance type must meet the requirements, have the resources and be on offer.", "Lower the pod's requests, loosen its requirements, or widen the pool."},
	}
}
