package options

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// FeatureGates switches features that are not on by default, or not for every cluster. Source: spec, feature gates.
type FeatureGates struct {
	// NodeRepair replaces nodes that stay unhealthy.
	NodeRepair bool
	// ReservedCapacity tracks reserved offerings and reserves them in simulation.
	ReservedCapacity bool
	// SpotToSpotConsolidation lets cheaper spot nodes replace spot nodes.
	SpotToSpotConsolidation bool
	// NodeOverlay decorates instance types with prices and capacity from NodeOverlay objects.
	NodeOverlay bool
	// StaticCapacity keeps NodePools with replicas at their size.
	StaticCapacity bool
	// CapacityBuffer keeps spare capacity for CapacityBuffer objects.
	CapacityBuffer bool
	// TerminateFirstDrift terminates drifted nodes before their replacements launch, if there is no capacity for both.
	TerminateFirstDrift bool
	// TerminateFirstRepair terminates unhealthy nodes before their replacements launch, if there is no capacity for both.
	TerminateFirstRepair bool
	// PodDeletionCostManagement ranks pods by their nodes, so that ReplicaSets that shrink empty nodes.
	PodDeletionCostManagement bool
	// LegacyProvisioner serves Provisioners and node templates of earlier APIs.
	LegacyProvisioner bool
	// TaintTolerationComparisonOperators lets tolerations compare the values of taints.
	TaintTolerationComparisonOperators bool
	// OperationsPolicy applies OperationsPolicy objects: windows, freezes, caps on cost, soft expiry.
	OperationsPolicy bool
	// NominatedNodeName nominates pods to the nodes that start for them.
	NominatedNodeName bool
}

// DefaultFeatureGates returns the gates of a start without any setting.
func DefaultFeatureGates() FeatureGates {
	return FeatureGates{ReservedCapacity: true}
}

// gate ties the name of a gate to its field.
type gate struct {
	name  string
	field *bool
	// about describes its effect when it is on.
	about string
}

// gates lists the fields of g in the order of documentation.
func (g *FeatureGates) gates() []gate {
	return []gate{
		{name: "NodeRepair", field: &g.NodeRepair, about: "Nodes that stay unhealthy are repaired by the repair policies of the cloud provider, within the budgets of their NodePool."},
		{name: "ReservedCapacity", field: &g.ReservedCapacity, about: "Capacity reservations are used first, and never beyond what they hold."},
		{name: "SpotToSpotConsolidation", field: &g.SpotToSpotConsolidation, about: "Spot nodes may be replaced by cheaper spot nodes."},
		{name: "NodeOverlay", field: &g.NodeOverlay, about: "NodeOverlays change prices and resources of instance types."},
		{name: "StaticCapacity", field: &g.StaticCapacity, about: "NodePools with `replicas` are kept at that number of nodes."},
		{name: "CapacityBuffer", field: &g.CapacityBuffer, about: "CapacityBuffers keep capacity for pods to come."},
		{name: "TerminateFirstDrift", field: &g.TerminateFirstDrift, about: "Drifted nodes of full capacity reservations, and of static NodePools at their limit, are terminated before their replacements launch."},
		{name: "TerminateFirstRepair", field: &g.TerminateFirstRepair, about: "The same for unhealthy nodes. It has no effect without `NodeRepair`."},
		{name: "PodDeletionCostManagement", field: &g.PodDeletionCostManagement, about: "Pods are ranked by their nodes, so that ReplicaSets that shrink empty nodes."},
		{name: "LegacyProvisioner", field: &g.LegacyProvisioner, about: "Provisioners (`karpenter.sh/v1alpha5`) and the node templates they refer to are served: a NodePool and a node class are maintained for them."},
		{name: "TaintTolerationComparisonOperators", field: &g.TaintTolerationComparisonOperators, about: "Tolerations with the operators `Lt` and `Gt` tolerate taints. Set it if kube-scheduler has the feature gate of this name."},
		{name: "OperationsPolicy", field: &g.OperationsPolicy, about: "OperationsPolicies are applied: maintenance windows, freezes, caps on the cost per hour, soft expiry, and approval of disruption."},
		{name: "NominatedNodeName", field: &g.NominatedNodeName, about: "Pods are nominated to the nodes that start for them, as a hint for kube-scheduler."},
	}
}

// Gate describes one feature gate.
type Gate struct {
	Name string
	// On is its value.
	On bool
	// About describes its effect when it is on.
	About string
}

// List returns all gates in the order of documentation.
func (g FeatureGates) List() []Gate {
	var out []Gate
	for _, e := range g.gates() {
		out = append(out, Gate{Name: e.name, On: *e.field, About: e.about})
	}
	return out
}

// String renders all gates in the form that ParseFeatureGates reads.
func (g FeatureGates) String() string {
	parts := make([]string, 0, 13)
	for _, e := range g.gates() {
		parts = append(parts, e.name+"="+strconv.FormatBool(*e.field))
	}
	return strings.Join(parts, ",")
}

// ParseFeatureGates reads "Name=bool,Name=bool". Omitted gates keep their default, spaces around names and values are
// ignored, and the last mention of a gate wins. An unknown name and a value that is not a Go boolean are errors.
func ParseFeatureGates(text string) (FeatureGates, error) {
	changes, err := ParseGateChanges(text)
	if err != nil {
		return FeatureGates{}, err
	}
	return changes.Apply(DefaultFeatureGates()), nil
}

// GateChanges are the gates that a text names, with their values.
type GateChanges map[string]bool

// ParseGateChanges reads the text of ParseFeatureGates without the defaults.
func ParseGateChanges(text string) (GateChanges, error) {
	out, known := GateChanges{}, (&FeatureGates{}).gates()
	for entry := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, value, found := strings.Cut(entry, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if lookupGate(known, name) == nil {
			return nil, fmt.Errorf("unknown feature gate %q; known gates: %s", name, gateNames(known))
		}
		if !found || value == "" {
			return nil, fmt.Errorf("feature gate %s has no value; write %s=true or %s=false", name, name, name)
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("feature gate %s has value %q; allowed: true or false", name, value)
		}
		out[name] = on
	}
	return out, nil
}

// Decode implements kong.MapperValue.
func (c *GateChanges) Decode(ctx *kong.DecodeContext) error {
	return DecodeText(ctx, c, ParseGateChanges)
}

// Apply returns g with the changes.
func (c GateChanges) Apply(g FeatureGates) FeatureGates {
	for _, e := range g.gates() {
		if on, named := c[e.name]; named {
			*e.field = on
		}
	}
	return g
}

// String renders the changes in the form that ParseGateChanges reads, sorted.
func (c GateChanges) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, name+"="+strconv.FormatBool(c[name]))
	}
	return strings.Join(parts, ",")
}

func lookupGate(known []gate, name string) *bool {
	for _, e := range known {
		if e.name == name {
			return e.field
		}
	}
	return nil
}

func gateNames(known []gate) string {
	names := make([]string, len(known))
	for i, e := range known {
		names[i] = e.name
	}
	return strings.Join(names, ", ")
}
