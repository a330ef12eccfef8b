package device

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// MaxPerClaim is how many devices one claim may have.
const MaxPerClaim = 32

// Selector reports whether a device matches. Equal devices get equal answers.
type Selector interface {
	Matches(d *Device) (bool, error)
}

// Selection is the devices that all selectors match. Claims with equal selectors share one, so that they are evaluated once per
// device.
type Selection struct {
	Selectors []Selector
	// Tolerations are those of taints; nil tolerates none. A device with another taint is selected, but cannot be allocated: a request for
	// all devices fails with it.
	Tolerations Tolerations
}

// Claim is a resource claim. It is never changed once built.
type Claim struct {
	// Name is namespace/name.
	Name string
	// ExtendedResources are the names of the extended resources that the claim serves; nil for claims that users know.
	ExtendedResources []string
	// Allocation is the claim's allocation in the cluster; nil if it has none.
	Allocation *Allocation
	// Problem is why the claim can never be allocated; empty for claims that can.
	Problem     string
	Requests    []Request
	Constraints []Constraint
}

// text names the claim in messages: by what its user asked for, which is equal for the pods of a workload.
func (c *Claim) text() string {
	if len(c.ExtendedResources) == 0 {
		return fmt.Sprintf("resourceclaim %q", c.Name)
	}
	return fmt.Sprintf("the request for extended resource %q", strings.Join(c.ExtendedResources, `", "`))
}

// Allocation is the allocation of a claim in the cluster.
type Allocation struct {
	// Places are the alternatives of where the devices can be used; no place at all means everywhere.
	Places []requirement.Set
	// Devices are the allocated devices.
	Devices []AllocatedDevice
}

// AllocatedDevice is a device of an allocation.
type AllocatedDevice struct {
	ID ID
	// Tolerations are those of the request that hold without limit of time; nil tolerates no taint.
	Tolerations Tolerations
}

// Request requests devices of one alternative: the first available one.
type Request struct {
	Name string
	// Alternatives in order of preference, at least one.
	Alternatives []Alternative
}

// Alternative is one way to satisfy a request.
type Alternative struct {
	// Name is that of the request, or request/alternative if there are several to choose from.
	Name string
	// All requests every matching device; otherwise Count are requested.
	All   bool
	Count int
	// Selection is the kind of device.
	Selection *Selection
	// Capacity is the requested capacity of each device, sorted by name.
	Capacity []Amount
	// AdminAccess requests share devices with any other claim and consume nothing.
	AdminAccess bool
}

// Constraint requires devices to have a value of an attribute in common, or to have different ones.
type Constraint struct {
	// Attribute is the attribute's name with its domain.
	Attribute string
	// Requests limits the constraint to these requests; none means all. The name of a request with alternatives stands for
	// all of them.
	Requests []string
	// Distinct requires different values.
	Distinct bool
}

// binds reports whether the constraint holds for an alternative of a request.
func (c Constraint) binds(r *Request, a *Alternative) bool {
	return len(c.Requests) == 0 || slices.Contains(c.Requests, r.Name) || slices.Contains(c.Requests, a.Name)
}

// Grant is a device that was allocated to a claim.
type Grant struct {
	// Request is the name of the request, with that of the alternative if there was a choice.
	Request string
	Device  ID
	// Consumed is the consumed capacity of a shared device, by dimension.
	Consumed []Amount
	// Template is set for devices of planned nodes.
	Template bool
	// BindsToNode is set for devices that no other node can use while they are allocated.
	BindsToNode bool
}
