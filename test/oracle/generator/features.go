package generator

// Feature is something that manifests may contain.
type Feature string

// The features that can be left out of problems.
const (
	// MinValues are minValues of requirements of pools.
	MinValues Feature = "minValues"
	// PinnedAffinity is required pod affinity of pods that also select a zone.
	PinnedAffinity Feature = "pod affinity beside a zone selector"
	// AffinityTerms are several required terms of pod affinity.
	AffinityTerms Feature = "several terms of pod affinity"
	// SidecarPorts are host ports of restartable init containers.
	SidecarPorts Feature = "host ports of sidecars"
	// RestrictedDaemons are DaemonSets for one zone or capacity type.
	RestrictedDaemons Feature = "DaemonSets for one zone or capacity type"
	// RestrictedDaemonPorts are host ports of DaemonSets for one zone or capacity type.
	RestrictedDaemonPorts Feature = "host ports of DaemonSets for one zone or capacity type"
	// SingleUse are volumes with the access mode ReadWriteOncePod.
	SingleUse Feature = "ReadWriteOncePod"
	// NodesWithoutZone are nodes that lack the zone label.
	NodesWithoutZone Feature = "nodes without a zone"
	// RareTopology is anti-affinity by a label that most nodes lack.
	RareTopology Feature = "anti-affinity by a custom label"
	// EmptySelector are spread constraints with an empty label selector.
	EmptySelector Feature = "spread of an empty selector"
	// AlternativesBesideSpread are OR-ed terms of node affinity of pods with spread constraints.
	AlternativesBesideSpread Feature = "OR-ed node affinity beside spread constraints"
	// CustomBesideSpread is node affinity by custom labels of pods with spread constraints.
	CustomBesideSpread Feature = "custom labels beside spread constraints"
	// SharedLateClaims are volume claims that wait for their first consumer and that several pods use.
	SharedLateClaims Feature = "shared volume claims without a volume"
	// LabeledDaemons are DaemonSets whose pods match the selectors of other pods.
	LabeledDaemons Feature = "DaemonSets that selectors match"
	// NodeNames are terms of node affinity on the names of nodes.
	NodeNames Feature = "names of nodes in node affinity"
	// RestartRules are restart rules that need a declared feature of the node.
	RestartRules Feature = "restart rules for all containers"
)

// Off are the features that problems leave out, because the engine is known to answer them wrong; each with what is wrong. An entry goes
// when the engine is mended.
func Off() map[Feature]string {
	return map[Feature]string{}
}
