package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/reason"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Plan is what should be. It is a value that can be stored, compared and replayed.
type Plan struct {
	// Claims are the machines to ask for, in the order they were opened.
	Claims []Claim
	// Placements are pods that fit on machines that exist or were asked for earlier.
	Placements []Placement
	// Unschedulable are pods that fit nowhere, with the reasons.
	Unschedulable []Refusal
	// PutOff are pods that a machine from a capacity reservation would suit that another claim of this plan may not need
	// in the end. They should be asked about again, and are not unschedulable.
	PutOff []*model.Pod
	// Undecided are pods the run did not get to before it was stopped.
	Undecided []*model.Pod
	// Zones counts the pending pods by the zones that were open to them at the start.
	Zones []ZoneCount
	// Barren are pools whose own requirements leave nothing to launch, whatever the pod.
	Barren []BarrenPool
}

// BarrenPool is a pool from which no machine can be launched.
type BarrenPool struct {
	Pool string
	// MinValues says that there are instance types, but not as many different ones as the pool asks for.
	MinValues bool
	// Unavailable are offerings that would do and cannot be had at the moment.
	Unavailable []string
}

// Claim is one machine to ask for.
type Claim struct {
	Pool string
	// Pods are expected to run on the machine.
	Pods []*model.Pod
	// Requirements is what the launch has to respect, instance types included.
	Requirements requirement.Set
	// Labels are the concrete values of custom requirement keys, to be put on the machine.
	Labels map[string]string
	// InstanceTypes are the candidates, cheapest first.
	InstanceTypes []string
	// MinValuesRelaxed says that fewer distinct values are left than the pool asked for.
	MinValuesRelaxed bool
	// Requests is what pods and daemons will ask of the machine.
	Requests resource.Vector
	// Price is that of the cheapest candidate in dollars an hour.
	Price float64
	// Drivers are those that will publish devices for the claims of the pods, sorted.
	Drivers []string
	// Devices is what these claims get on the cheapest candidate, by claim.
	Devices []device.Outcome
	// PriceOverlaid and CapacityOverlaid say that a user corrected the price or the capacity of some candidate.
	PriceOverlaid, CapacityOverlaid bool
}

// Placement puts pods on one existing node.
type Placement struct {
	Node *model.Node
	Pods []*model.Pod
	// Devices is what the claims of the pods get, by claim.
	Devices []device.Outcome
}

// Refusal is a group of pods that fit nowhere for the same reasons.
type Refusal struct {
	Pods    []*model.Pod
	Reasons reason.Reasons
}

// Price is what the claims cost together in dollars an hour, at their cheapest candidates.
func (p Plan) Price() float64 {
	sum := 0.0
	for _, c := range p.Claims {
		sum += c.Price
	}
	return sum
}
