package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Plan is the result of a run. It is a value that can be stored, compared and replayed.
type Plan struct {
	// NodeClaims are the NodeClaims to create, in the order they were opened.
	NodeClaims []NodeClaim
	// Placements are the pods that fit on existing or requested nodes.
	Placements []Placement
	// Unschedulable are the pods that fit nowhere, with the reasons.
	Unschedulable []UnschedulablePods
	// Deferred are pods that need an instance of a capacity reservation which other NodeClaims of this plan hold and may give
	// back. They are to be retried, and are not unschedulable.
	Deferred []*model.Pod
	// Undecided are the pods that were not considered before the run was stopped.
	Undecided []*model.Pod
	// Zones counts the pending pods by the zones they could use before anything was placed.
	Zones []ZoneCount
	// Unlaunchable are the pools whose own requirements leave nothing to launch, whatever the pod.
	Unlaunchable []UnlaunchablePool
	// OmittedDaemons are the DaemonSets that new nodes have no capacity for, because no node of some pool could hold their pods.
	OmittedDaemons []OmittedDaemon
}

// OmittedDaemon is a DaemonSet that no new node of some pools can run. Package compile has its fields.
type OmittedDaemon = compile.OmittedDaemon

// UnlaunchablePool is a pool that cannot launch any node.
type UnlaunchablePool struct {
	Pool string
	// MinValues is set when there are instance types, but too few distinct values for the minValues of the pool.
	MinValues bool
	// Unavailable are the compatible offerings that are unavailable at the moment.
	Unavailable []string
}

// NodeClaim is one node to request.
type NodeClaim struct {
	Pool string
	// Pods are expected to run on the node.
	Pods []*model.Pod
	// Requirements bind the launch, instance types included.
	Requirements requirement.Set
	// Labels are the concrete values of custom requirement keys, to be set on the node.
	Labels map[string]string
	// InstanceTypes are the candidates, cheapest first.
	InstanceTypes []string
	// MinValuesRelaxed is set when fewer distinct values are left than the pool requires.
	MinValuesRelaxed bool
	// Requests is the sum of the requests of pods and daemons.
	Requests resource.Vector
	// Price is that of the cheapest candidate in dollars per hour.
	Price float64
	// Drivers are the DRA drivers that publish devices for the ResourceClaims of the pods, sorted.
	Drivers []string
	// Devices is the allocation of these ResourceClaims on the cheapest candidate, by claim.
	Devices []device.Outcome
	// PriceOverlaid and CapacityOverlaid are set when a NodeOverlay changes the price or the capacity of some candidate.
	PriceOverlaid, CapacityOverlaid bool
}

// Placement assigns pods to one existing node.
type Placement struct {
	Node *model.Node
	Pods []*model.Pod
	// Devices is the allocation of the ResourceClaims of the pods, by claim.
	Devices []device.Outcome
}

// Price is the total cost of the NodeClaims in dollars per hour, at their cheapest candidates.
func (p Plan) Price() float64 {
	sum := 0.0
	for _, c := range p.NodeClaims {
		sum += c.Price
	}
	return sum
}
