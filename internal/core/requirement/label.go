package requirement

// Labels that the engine knows by name. The engine does not import the API packages, which define the same names.
const (
	HostnameLabel     = "kubernetes.io/hostname"
	ZoneLabel         = "topology.kubernetes.io/zone"
	InstanceTypeLabel = "node.kubernetes.io/instance-type"
	CapacityTypeLabel = "karpenter.sh/capacity-type"
)
