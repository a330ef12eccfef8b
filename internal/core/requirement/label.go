package requirement

// Labels that the engine knows by name. The engine does not import the API packages, which define the same names.
const (
	HostnameLabel     = "kubernetes.io/hostname"
	ZoneLabel         = "topology.kubernetes.io/zone"
	InstanceTypeLabel = "node.kubernetes.io/instance-type"
	CapacityTypeLabel = "karpenter.sh/capacity-type"
)

// NodeName is the key of requirements on the name of the Node object, which node affinity selects with matchFields. It is no label: the space
// keeps it apart from labels. Existing nodes have it, and nodes that are planned do not, because their names are not known.
const NodeName = "metadata.name" + FieldSuffix

// FieldSuffix follows the name of a field of the Node object in the key of a requirement.
const FieldSuffix = " (field)"
