// Package unschedulable is the closed vocabulary of why a pod was not placed. The engine returns these values; they are rendered as
// text only for events, logs and reports.
//
// Source: scheduling specification, errors and how they are surfaced.
package unschedulable

// Code names one kind of reason. The set is closed: a new kind is a new constant with its rule.
type Code string

// The reasons, in the order in which they are tested.
const (
	// DevicesIgnored means that the pod has resource claims and the controller ignores them.
	DevicesIgnored Code = "DevicesIgnored"
	// DeviceClaimMissing means that a resource claim of the pod does not exist.
	DeviceClaimMissing Code = "DeviceClaimMissing"
	// PodGroupMissing means that the pod's group does not exist.
	PodGroupMissing Code = "PodGroupMissing"
	// PodGroupMismatch means that the members of the pod's group disagree in what has to be equal.
	PodGroupMismatch Code = "PodGroupMismatch"
	// PodGroupTopologyUnknown means that the pod's group needs one value of a label that no node has.
	PodGroupTopologyUnknown Code = "PodGroupTopologyUnknown"
	// PodGroupShort means that too few members of the pod's group can be placed at once.
	PodGroupShort Code = "PodGroupShort"
	// NodeNamed means that the pod requires an existing node by its name.
	NodeNamed Code = "NodeNamed"
	// NoPools means that there is no pool to launch from.
	NoPools Code = "NoPools"
	// PoolNotUsed means that the pool could have nodes for the pod, and may not launch any: it is not ready, for example.
	PoolNotUsed Code = "PoolNotUsed"
	// PoolEmpty means that the pool's own requirements leave no instance type.
	PoolEmpty Code = "PoolEmpty"
	// NodesExhausted means that the pool's limit on the number of nodes is used up.
	NodesExhausted Code = "NodesExhausted"
	// LimitsExceeded means that every instance type, or every one that the pod would fit on, would exceed the pool's remaining
	// limits.
	LimitsExceeded Code = "LimitsExceeded"
	// CostCapExceeded means that the same is the case for caps on cost of operations policies alone.
	CostCapExceeded Code = "CostCapExceeded"
	// TaintNotTolerated means that the pod does not tolerate a taint of the pool.
	TaintNotTolerated Code = "TaintNotTolerated"
	// FeatureMissing means that nodes of the pool do not declare a feature that the pod needs.
	FeatureMissing Code = "FeatureMissing"
	// DriverMissing means that a CSI driver of the pod's volumes is not installed on nodes of the pool.
	DriverMissing Code = "DriverMissing"
	// LabelUndefined means that the pod requires a label that nodes of the pool do not have.
	LabelUndefined Code = "LabelUndefined"
	// RequirementConflict means that pod and pool require different values of a label.
	RequirementConflict Code = "RequirementConflict"
	// TooManyRequirements means that pod and pool together constrain more labels than a NodeClaim can hold.
	TooManyRequirements Code = "TooManyRequirements"
	// VolumeUnreachable means that the pod's volumes cannot be used from any node of the pool.
	VolumeUnreachable Code = "VolumeUnreachable"
	// DevicesUnavailable means that there are not enough free devices for the pod's resource claims.
	DevicesUnavailable Code = "DevicesUnavailable"
	// DevicesUnreachable means that the devices of the pod's resource claims cannot be used from any node of the pool.
	DevicesUnreachable Code = "DevicesUnreachable"
	// NoInstanceTypeWithDevices means that no instance type with the devices can run the pod.
	NoInstanceTypeWithDevices Code = "NoInstanceTypeWithDevices"
	// TopologyUnsatisfiable means that spread, affinity or anti-affinity leaves no domain for the pod.
	TopologyUnsatisfiable Code = "TopologyUnsatisfiable"
	// HostPortTaken means that DaemonSets use the pod's host port on every instance type.
	HostPortTaken Code = "HostPortTaken"
	// VolumesNotAttachable means that no instance type can attach all volumes of the pod.
	VolumesNotAttachable Code = "VolumesNotAttachable"
	// MinValuesUnmet means that too few distinct values of a label are left.
	MinValuesUnmet Code = "MinValuesUnmet"
	// DaemonsTakeRoom means that the pod would fit without the requests of DaemonSets.
	DaemonsTakeRoom Code = "DaemonsTakeRoom"
	// OfferingUnavailable means that every offering on which the pod would fit is currently unavailable.
	OfferingUnavailable Code = "OfferingUnavailable"
	// NoInstanceType means that no single instance type meets requirements, resources and offerings together.
	NoInstanceType Code = "NoInstanceType"
)

// Rule documents one code: what is tested, and how a user can change the outcome.
type Rule struct {
	Code   Code
	Rule   string
	Remedy string
}

// Rules returns the rule of every code, in the order in which reasons are tested.
func Rules() []Rule {
	return []Rule{
		{DevicesIgnored, "Pods with resource claims are placed only if dynamic resource allocation is enabled.", "Start the controller with --ignore-dra-requests=false."},
		{DeviceClaimMissing, "Every resource claim that a pod refers to must exist; Kubernetes may still be creating one from a template.", "Create the claim, or wait for the one from the template."},
		{PodGroupMissing, "A pod with spec.schedulingGroup is placed only once its PodGroup exists; kube-scheduler does not consider it before.", "Create the PodGroup, or correct spec.schedulingGroup.podGroupName of the pods."},
		{PodGroupMismatch, "All pods of a PodGroup must have the same schedulerName, and the priority and the preemptionPolicy of the group; kube-scheduler places none of them otherwise.", "Create the pods with the priority class and the scheduler of the group."},
		{PodGroupTopologyUnknown, "All pods of a PodGroup with a topology constraint run on nodes with the same value of a label. Nodes are launched only if instance types, the NodePool or a node define the values of the label.", "Use a label with known values, such as topology.kubernetes.io/zone, or define the label in the NodePool."},
		{PodGroupShort, "Pods of a PodGroup are placed only if as many of them can run at once as the group requires. The reasons that follow are those of the first pod without a place.", "Remove what is in the way of the first pod without a place, create the missing pods, or lower minCount of the group."},
		{NodeNamed, "A pod whose required node affinity names an existing node in every term, with matchFields, can only run there: no node is launched for it.", "Free capacity on the node that the pod names, or add a term to its node affinity that other nodes can meet."},
		{NoPools, "A node can be launched only from a NodePool that is ready and not static.", "Create a NodePool, or check the Ready conditions of the existing ones."},
		{PoolNotUsed, "A NodePool launches nodes for pods while it is ready, is not being deleted, is not static, and its instance types are known.", "Look at the conditions of the NodePool and of its node class, or let the pod use another NodePool."},
		{PoolEmpty, "A pool's own requirements must leave at least one available instance type.", "Relax the pool's requirements; compare them with the labels of the provider's instance types."},
		{NodesExhausted, "A pool launches no node beyond its limit on nodes.", "Raise limits.nodes of the pool or remove a node."},
		{LimitsExceeded, "A node is launched only if its full capacity, together with that of the pool's existing and planned nodes, stays within the pool's limits.", "Raise the pool's limits or free capacity in it."},
		{CostCapExceeded, "A node is launched only if the most that it may cost, together with what the nodes of the pool or of the cluster cost, launches in flight included, stays within the caps of the OperationsPolicies.", "Raise the cap, let the NodePool use cheaper instance types, or wait until other nodes are gone. While the price of a node is not known, nothing is launched under a cap that it counts against."},
		{TaintNotTolerated, "A pod must tolerate every taint of the pool's template; startup taints do not count.", "Add the toleration to the pod, or create a pool without the taint."},
		{FeatureMissing, "The nodes of a pool must declare the features that a pod needs. What the newest nodes of the pool declared is expected of new ones.", "Use a node image whose kubelet and container runtime have the feature, or do not use the feature in the pod."},
		{DriverMissing, "A CSI driver that keeps pods off nodes without it must be installed on the nodes of a pool. It is expected to be, unless the newest node of the pool was without it five minutes after its start.", "Let the DaemonSet of the driver run on the nodes of the pool, or unset preventPodSchedulingIfMissing in the CSIDriver."},
		{LabelUndefined, "A label that a pod requires must be defined by the pool or be a well-known label.", "Add the label to the pool's template or requirements, or correct the pod's selector."},
		{RequirementConflict, "Pod and pool must have at least one value in common for every label that both constrain.", "Widen the pool's requirement or the pod's selector."},
		{TooManyRequirements, "A NodeClaim holds at most 100 requirements, and 256 KiB of excluded values.", "Let the pod or the pool constrain fewer labels, or exclude fewer values."},
		{VolumeUnreachable, "All volumes of a pod must be usable from one node: in the same zone, or in any other topology that their storage classes or volumes require.", "Create a pool in the zone of the volumes, or move the volumes to one zone."},
		{DevicesUnavailable, "Every resource claim of a pod must be satisfied by free devices that exist, or by those of an instance type.", "Free devices, relax the claim's selectors and constraints, or allow instance types with such devices."},
		{DevicesUnreachable, "All devices of a pod's resource claims must be usable from one node of the pool.", "Create a pool in the zone of the devices, or do not combine claims from different zones."},
		{NoInstanceTypeWithDevices, "One instance type must have the devices and meet requirements, resources and offerings too.", "Lower the pod's requests, relax its requirements, or allow other instance types with the devices."},
		{TopologyUnsatisfiable, "All required spread, affinity and anti-affinity constraints together must leave a domain.", "Add capacity in the domains with the fewest pods, allow pools in more domains, or relax the constraint."},
		{HostPortTaken, "Only one pod can use a port of a node; DaemonSets use theirs on every node they run on.", "Use another host port, or none, or keep the DaemonSet off the nodes of one pool."},
		{VolumesNotAttachable, "A node can attach a limited number of volumes per driver.", "Give the pod fewer volumes, or allow instance types that attach more."},
		{MinValuesUnmet, "A launch must keep at least as many distinct values as the pool's minValues requires.", "Lower minValues, or relax the requirements that exclude instance types."},
		{DaemonsTakeRoom, "The capacity of a node less the requests of its DaemonSets must be enough for the pod.", "Lower the requests of the DaemonSets, keep them off the nodes of one pool, or allow larger instance types."},
		{OfferingUnavailable, "An offering on which the pod fits must be available: the cloud has capacity, its price is known, and the node class can be used in its zone.", "Allow other zones, capacity types or instance types in pool and pod, or let the node class cover the zone; offerings with insufficient capacity are retried after a while."},
		{NoInstanceType, "One instance type must meet the requirements, have the resources and have an available offering.", "Lower the pod's requests, relax its requirements, or allow more in the pool."},
	}
}
