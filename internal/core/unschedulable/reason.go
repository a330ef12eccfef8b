package unschedulable

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Reason is why a pod was not placed on nodes of a pool. Code determines which of the other fields are set.
type Reason struct {
	Code Code
	// Pool is the name of the pool; empty when there is none.
	Pool string
	// Why is what is in the way of using the pool, in itself.
	Why string
	// Taint is the first taint not tolerated, as key[=value]:effect.
	Taint string
	// Features are the features, or the CSI drivers, that nodes of the pool lack.
	Features []string
	// Conflict is the label on which pod and pool conflict, Hint a known label that the user may have meant.
	Conflict requirement.Conflict
	Hint     string
	// Claim is the resource claim that is missing, Devices the problem with existing ones.
	Claim   string
	Devices string
	// Group is what keeps the pod's group from being placed.
	Group PodGroup
	// Topology is the constraint that leaves no domain.
	Topology Topology
	// Limits are the pool's limits that are exceeded; Narrowed is set when they leave instance types, but none that the pod fits on. Beside
	// another reason, which would remain without limits, they are those that leave no instance type.
	Limits   []Limit
	Narrowed bool
	// Port is the host port that is taken.
	Port string
	// AttachLimit is what a node would have to attach.
	AttachLimit AttachLimit
	// Keys are the labels whose minValues are not met, MinValues how many values of each are required and available.
	Keys      []string
	MinValues []MinValues
	// Truncated is set when they were met before the instance types were cut in the end: to the maximum length of the list, or to
	// those with a capacity reservation.
	Truncated bool
	// Criteria records which parts of the instance-type test at least one type passed.
	Criteria Criteria
	// Requirements and Resources are those that the instance type has to meet, for display.
	Requirements requirement.Set
	Resources    string
	// Insufficient are the requests that exceed the capacity for pods of every instance type that passes the other tests.
	Insufficient []InsufficientResource
	// Daemons is the minimum request of DaemonSets, if the pod would fit without it.
	Daemons string
	// UnavailableOfferings are offerings on which the pod would fit.
	UnavailableOfferings []string
	// Without are requirements; the pod would fit without any one of them.
	Without requirement.Set
	// Contradictory are the labels on which a pool has requirements that no value meets together.
	Contradictory []string
	// UnknownValues are required values of labels that nothing has.
	UnknownValues []UnknownValue
	// HugeCPU is set when the pod requests a million cores or more.
	HugeCPU bool
}

// OverLimits is the reason that limits of a pool are exceeded, or caps on cost alone. narrowed is set when they leave instance types, but none that
// the pod fits on.
func OverLimits(limits []Limit, narrowed bool) Reason {
	r := Reason{Code: LimitsExceeded, Narrowed: narrowed, Limits: limits}
	if len(limits) > 0 && !slices.ContainsFunc(limits, func(l Limit) bool { return !resource.IsCost(l.Resource) }) {
		r.Code = CostCapExceeded
	}
	return r
}

// OverLimits reports whether the reason is that a node would exceed limits, or caps on cost.
func (r Reason) OverLimits() bool {
	return r.Code == LimitsExceeded || r.Code == NodesExhausted || r.Code == CostCapExceeded
}

// WithoutNeeded is the reason without the limits that would be sufficient: other things may be in the way of the pod too.
func (r Reason) WithoutNeeded() Reason {
	r.Limits = slices.Clone(r.Limits)
	for i := range r.Limits {
		r.Limits[i].Needed = ""
	}
	return r
}

// Criteria records which tests at least one instance type passed: each on its own, and in pairs.
type Criteria struct {
	Requirements, Resources, Offering bool

	RequirementsAndResources bool
	RequirementsAndOffering  bool
	ResourcesAndOffering     bool
}

// String renders the reason as events and logs show it.
func (r Reason) String() string {
	out := r.Headline()
	if detail := r.Detail(); detail != "" {
		// Lists of requirements may be long, and events are cut at their end.
		out += " (" + detail + ")"
	}
	if r.HasRequest() {
		out += fmt.Sprintf(", requirements=%s, resources=%s", r.Requirements, r.Resources)
	}
	return out
}

// HasRequest reports whether Requirements and Resources are set.
func (r Reason) HasRequest() bool {
	switch r.Code {
	case NoInstanceType, DaemonsTakeRoom, OfferingUnavailable:
		return true
	default:
		return r.Code == MinValuesUnmet && !r.Truncated
	}
}

// Headline returns the reason alone, without details, requirements and resources.
func (r Reason) Headline() string {
	switch r.Code {
	case DevicesIgnored:
		return "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"
	case DeviceClaimMissing:
		return fmt.Sprintf("resourceclaim %q not found", r.Claim)
	case PodGroupMissing, PodGroupMismatch, PodGroupTopologyUnknown, PodGroupShort:
		return r.Group.headline(r.Code)
	case NodeNamed:
		return "no node is launched for a pod that requires an existing node by its name (" + nameOf(r.Conflict.Want) + ")"
	case NoPools:
		return "no dynamic nodepools found"
	case PoolNotUsed:
		return "not used: " + r.Why
	case PoolEmpty:
		return "nodepool requirements filtered out all available instance types"
	case NodesExhausted:
		return fmt.Sprintf("node limits have been exhausted for nodepool (NodePool=%s)", r.Pool)
	case LimitsExceeded:
		return r.beyond("limits")
	case CostCapExceeded:
		return r.beyond("a cost cap")
	case TaintNotTolerated:
		return fmt.Sprintf("did not tolerate taint (taint=%s)", r.Taint)
	case FeatureMissing:
		return "nodes of the pool do not declare the features that the pod needs (" + strings.Join(r.Features, ", ") + ")"
	case DriverMissing:
		return "nodes of the pool do not have the CSI driver of the pod's volumes (" + strings.Join(r.Features, ", ") + ")"
	case LabelUndefined:
		return fmt.Sprintf("incompatible requirements, label %q does not have known values%s", r.Conflict.Key, typoOf(r.Hint))
	case RequirementConflict:
		return fmt.Sprintf("incompatible requirements, key %s, %s not in %s", r.Conflict.Key, r.Conflict.Want, r.Conflict.Have)
	case TooManyRequirements:
		return "pod and nodepool together have more requirements than a nodeclaim can hold"
	case VolumeUnreachable:
		return fmt.Sprintf("incompatible volume requirements, key %s, %s not in %s", r.Conflict.Key, r.Conflict.Want, r.Conflict.Have)
	case DevicesUnavailable:
		return "allocating dynamic resources, " + r.Devices
	case DevicesUnreachable:
		return fmt.Sprintf("incompatible dynamic resource requirements, key %s, %s not in %s", r.Conflict.Key, r.Conflict.Want, r.Conflict.Have)
	case NoInstanceTypeWithDevices:
		return "no instance type satisfies both scheduling and dynamic resource requirements"
	case TopologyUnsatisfiable:
		return "unsatisfiable topology constraint for " + r.Topology.String()
	case HostPortTaken:
		return fmt.Sprintf("pod hostport conflicts with existing hostport configuration (%s)", r.Port)
	case VolumesNotAttachable:
		return "no instance type can attach all volumes of the pod"
	case MinValuesUnmet:
		unmet := fmt.Sprintf("minValues requirement is not met for label(s) (label(s)=[%s])", strings.Join(r.Keys, " "))
		if r.Truncated {
			return fmt.Sprintf("pod didn’t schedule because NodePool couldn’t meet minValues requirements, validating minValues, %s (NodePool=%s)", unmet, r.Pool)
		}
		return unmet
	default:
		return r.instanceType()
	}
}

// nameOf returns the requirement on the name of a node as matchFields have it.
func nameOf(want requirement.Requirement) string {
	want.Key = strings.TrimSuffix(want.Key, requirement.FieldSuffix)
	if want.Len() == 0 {
		return "its matchFields leave no " + want.Key
	}
	return want.String()
}

// beyond returns the message for a pool whose instance types are all above something.
func (r Reason) beyond(what string) string {
	types := "all available instance types"
	if r.Narrowed {
		types += " that the pod fits on"
	}
	return fmt.Sprintf("%s exceed %s for nodepool (NodePool=%s)", types, what, r.Pool)
}

// instanceType returns the message for the outcome of the three tests: the first one that applies.
func (r Reason) instanceType() string {
	const none = "no instance type met the scheduling requirements or had enough resources or had a required offering"
	c := r.Criteria
	switch {
	case !c.Requirements && !c.Resources && !c.Offering:
		return none
	case !c.Requirements && !c.Resources:
		return "no instance type met the scheduling requirements or had enough resources"
	case !c.Requirements && !c.Offering:
		return "no instance type met the scheduling requirements or had a required offering"
	case !c.Resources && !c.Offering:
		return "no instance type had enough resources or had a required offering"
	case !c.Requirements:
		return "no instance type met all requirements"
	case !c.Resources && r.HugeCPU:
		return "no instance type has enough resources (CPU request >= 1 Million, m vs M typo?)"
	case !c.Resources:
		return "no instance type has enough resources"
	case !c.Offering:
		return "no instance type has the required offering"
	case c.RequirementsAndResources:
		return "no instance type which met the scheduling requirements and had enough resources, had a required offering"
	case c.ResourcesAndOffering:
		return "no instance type which had enough resources and the required offering met the scheduling requirements"
	case c.RequirementsAndOffering:
		return "no instance type which met the scheduling requirements and the required offering had the required resources"
	default:
		return "no instance type met the requirements/resources/offering tuple"
	}
}

// Reasons are the reasons why a pod was not placed, one per pool; see NearestFirst.
type Reasons []Reason

// NearestFirst sorts the reasons by how little the pool would have to change: a limit before a conflict of labels, that before a taint, which
// keeps a pool for other pods on purpose. Equally near pools stay in the order in which they were tried.
func (rs Reasons) NearestFirst() Reasons {
	slices.SortStableFunc(rs, func(a, b Reason) int { return cmp.Compare(a.distance(), b.distance()) })
	return rs
}

// distance ranks a reason for NearestFirst.
func (r Reason) distance() int {
	switch r.Code {
	case PodGroupShort:
		return -1 // the others explain it
	case NodesExhausted, LimitsExceeded:
		return 0
	case RequirementConflict:
		if r.Conflict.Key == NodePoolKey && len(r.UnknownValues) == 0 {
			return 4 // the pod names another pool
		}
		return 2
	case FeatureMissing, DriverMissing, LabelUndefined, TooManyRequirements, VolumeUnreachable, DevicesUnreachable:
		return 2
	case TaintNotTolerated:
		return 3
	default:
		return 1
	}
}

// NodePoolKey is the label with the name of a node's pool.
const NodePoolKey = "karpenter.sh/nodepool"

// String joins the reasons with "; ".
func (rs Reasons) String() string { return strings.Join(rs.Texts(), "; ") }

// Texts returns each reason as text, with the name of its pool if there are several. Where all pools are empty, those that are so for the same
// reason are listed once.
func (rs Reasons) Texts() []string {
	parts := make([]string, 0, len(rs))
	allEmpty := !slices.ContainsFunc(rs, func(r Reason) bool { return r.Code != PoolEmpty })
	for i, r := range rs {
		switch {
		case allEmpty && i > 0 && r.String() == rs[i-1].String():
		case r.Code == PoolNotUsed:
			parts = append(parts, fmt.Sprintf("nodepool %q is %s", r.Pool, r))
		case len(rs) == 1 || r.Pool == "" || allEmpty:
			parts = append(parts, r.String())
		default:
			parts = append(parts, fmt.Sprintf("NodePool %q: %s", r.Pool, r))
		}
	}
	return parts
}
