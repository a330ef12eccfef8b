package device

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// MaxPerClaim is how many devices one claim may have.
const MaxPerClaim = 32

// Selector tells whether a device is of the wanted kind. Equal devices get equal answers.
type Selector interface {
	Matches(d *Device) (bool, error)
}

// Selection is a kind of device: what all selectors match. Claims that want the same share one, so that a device is judged
// once for all of them.
type Selection struct{ Selectors []Selector }

// Claim is what some pods want of devices together. It is never changed once built.
type Claim struct {
	// Name is namespace/name.
	Name string
	// Allocation is what the cluster has given to the claim already, if anything.
	Allocation *Allocation
	// Problem says why the claim can never be allocated; empty for claims that can.
	Problem     string
	Requests    []Request
	Constraints []Constraint
}

// Allocation is what a claim has got.
type Allocation struct {
	// Places are the alternatives of where the devices can be used; no place at all means everywhere.
	Places []requirement.Set
}

// Request asks for devices of one kind, or of the first available of several kinds.
type Request struct {
	Name string
	// Alternatives in order of preference, at least one.
	Alternatives []Alternative
}

// Alternative is one way to satisfy a request.
type Alternative struct {
	// Name is that of the request, or request/alternative if there are several to choose from.
	Name string
	// All asks for every device there is of the kind; otherwise Count are wanted.
	All   bool
	Count int
	// Selection is the kind of device.
	Selection *Selection
	// Capacity is what is wanted of the capacity of each device, sorted by name.
	Capacity []Amount
	// AdminAccess requests look over the shoulder of others: they share devices with anybody and take nothing from them.
	AdminAccess bool
}

// Constraint wants devices to agree in an attribute.
type Constraint struct {
	// Attribute is the attribute's name with its domain.
	Attribute string
	// Requests limits the constraint to these requests; none means all. The name of a request with alternatives stands for
	// all of them.
	Requests []string
}

// binds reports whether the constraint holds for an alternative of a request.
func (c Constraint) binds(r *Request, a *Alternative) bool {
	return len(c.Requests) == 0 || slices.Contains(c.Requests, r.Name) || slices.Contains(c.Requests, a.Name)
}

// Grant is a device that a claim got.
type Grant struct {
	// Request is the name of the request, with that of the alternative if there was a choice.
	Request string
	Device  ID
	// Consumed is what was taken of a shared device, by dimension.
	Consumed []Amount
	// Template is set for devices that do not exist before the machine does.
	Template bool
}
