package translate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	dracel "k8s.io/dynamic-resource-allocation/cel"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// maxNesting limits brackets in each other in an expression. The time to check the types of nested maps grows with the fourth power of their depth: 240 of
// them, which the API server admits, take half a minute.
const maxNesting = 64

// nesting is the largest number of brackets in each other, those in texts included.
func nesting(expression string) int {
	depth, most := 0, 0
	for _, c := range []byte(expression) {
		switch c {
		case '(', '[', '{':
			depth++
			most = max(most, depth)
		case ')', ']', '}':
			depth--
		}
	}
	return most
}

// maxExpressions limits the cached compiled expressions.
const maxExpressions = 256

// deviceTerms translates the requests of ResourceClaims and the devices of ResourceSlices.
type deviceTerms struct {
	labels labelTerms
	// selections are shared by claims with equal selectors; compiled caches the selectors' expressions.
	selections *interned[device.Selection]
	compiled   func() *dracel.Cache
}

func newDeviceTerms(labels labelTerms) *deviceTerms {
	return &deviceTerms{labels: labels, selections: newInterned[device.Selection](), compiled: sync.OnceValue(func() *dracel.Cache {
		return dracel.NewCache(maxExpressions, dracel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
	})}
}

// DeviceClaim translates a ResourceClaim. class finds device classes; it returns nil for those that do not exist. A claim
// that can never be allocated has the reason in its Problem. Source: scheduling specification, request validation.
func (t *Translator) DeviceClaim(c *resourcev1.ResourceClaim, class func(name string) *resourcev1.DeviceClass) *model.DeviceClaim {
	out := &model.DeviceClaim{Claim: &device.Claim{Name: c.Namespace + "/" + c.Name}}
	out.Pods, out.PodsOnly = reservedFor(c)
	if a := c.Status.Allocation; a != nil {
		out.Allocation = &device.Allocation{Places: t.labels.places(a.NodeSelector), Devices: allocatedDevices(a.Devices.Results)}
		if a.NodeSelector != nil && len(out.Allocation.Places) == 0 {
			out.Allocation.Places = []requirement.Set{device.Nowhere()}
		}
	}
	requests, err := t.devices.requests(c.Spec.Devices.Requests, class)
	if err == nil {
		out.Requests = requests
		out.Constraints, err = constraints(c.Spec.Devices.Constraints)
	}
	if err != nil {
		out.Problem = fmt.Sprintf("resourceclaim %q, %v", out.Name, err)
	}
	return out
}

// reservedFor returns the pods that a claim is reserved for, and whether it is reserved for at least one pod and only for pods.
func reservedFor(c *resourcev1.ResourceClaim) (pods []string, only bool) {
	only = len(c.Status.ReservedFor) > 0
	for _, consumer := range c.Status.ReservedFor {
		if consumer.APIGroup == "" && consumer.Resource == "pods" {
			pods = append(pods, string(consumer.UID))
		} else {
			only = false
		}
	}
	return pods, only
}

// allocatedDevices are the devices of results, with the tolerations that last.
func allocatedDevices(results []resourcev1.DeviceRequestAllocationResult) []device.AllocatedDevice {
	out := make([]device.AllocatedDevice, 0, len(results))
	for _, r := range results {
		lasting := slices.DeleteFunc(slices.Clone(r.Tolerations), func(t resourcev1.DeviceToleration) bool { return t.TolerationSeconds != nil })
		out = append(out, device.AllocatedDevice{ID: device.ID{Driver: r.Driver, Pool: r.Pool, Name: r.Device}, Tolerations: deviceTolerations(lasting)})
	}
	return out
}

// DeviceShares are the parts that an allocated claim has of devices. Admin access has no share.
func DeviceShares(c *resourcev1.ResourceClaim) map[device.ID]device.Share {
	out := map[device.ID]device.Share{}
	if c.Status.Allocation == nil {
		return out
	}
	pods, only := reservedFor(c)
	for _, r := range c.Status.Allocation.Devices.Results {
		if r.AdminAccess != nil && *r.AdminAccess {
			continue
		}
		id := device.ID{Driver: r.Driver, Pool: r.Pool, Name: r.Device}
		share, again := out[id]
		if !again {
			share = device.Share{Claim: c.Namespace + "/" + c.Name, Pods: pods, PodsOnly: only}
		}
		share.Consumed = sum(share.Consumed, r.ConsumedCapacity)
		out[id] = share
	}
	return out
}

// sum adds the consumed capacity of one allocation of a shared device to that of other allocations of the claim.
func sum(amounts []device.Amount, consumed capacities) []device.Amount {
	for _, a := range consumed.amounts() {
		i, found := slices.BinarySearchFunc(amounts, a.Name, func(have device.Amount, name string) int { return strings.Compare(have.Name, name) })
		if found {
			amounts[i].Value = resource.AddSaturated(amounts[i].Value, a.Value)
		} else {
			amounts = slices.Insert(amounts, i, a)
		}
	}
	return amounts
}

func (x *deviceTerms) requests(list []resourcev1.DeviceRequest, class func(string) *resourcev1.DeviceClass) ([]device.Request, error) {
	out := make([]device.Request, 0, len(list))
	for i := range list {
		r := device.Request{Name: list[i].Name}
		var alternatives []alternative
		switch exactly, several := list[i].Exactly, list[i].FirstAvailable; {
		case exactly != nil && len(several) == 0:
			alternatives = []alternative{ofExactly(r.Name, exactly)}
		case exactly == nil && len(several) > 0:
			for j := range several {
				alternatives = append(alternatives, ofSubRequest(r.Name, &several[j]))
			}
		default:
			return nil, fmt.Errorf("request %q, want one of exactly and firstAvailable", r.Name)
		}
		for _, a := range alternatives {
			made, err := x.alternative(a, class)
			if err != nil {
				return nil, fmt.Errorf("request %q, %w", a.name, err)
			}
			r.Alternatives = append(r.Alternatives, made)
		}
		out = append(out, r)
	}
	return out, nil
}

// alternative holds the fields that the two forms of a request have in common.
type alternative struct {
	name, class string
	selectors   []resourcev1.DeviceSelector
	mode        resourcev1.DeviceAllocationMode
	count       int64
	tolerations []resourcev1.DeviceToleration
	capacity    *resourcev1.CapacityRequirements
	derived     bool
	admin       bool
}

func ofExactly(name string, r *resourcev1.ExactDeviceRequest) alternative {
	return alternative{
		name, r.DeviceClassName, r.Selectors, r.AllocationMode, r.Count, r.Tolerations, r.Capacity,
		len(r.DerivedAttributes) > 0, r.AdminAccess != nil && *r.AdminAccess,
	}
}

func ofSubRequest(parent string, r *resourcev1.DeviceSubRequest) alternative {
	return alternative{
		parent + "/" + r.Name, r.DeviceClassName, r.Selectors, r.AllocationMode, r.Count, r.Tolerations, r.Capacity,
		len(r.DerivedAttributes) > 0, false,
	}
}

func (x *deviceTerms) alternative(a alternative, class func(string) *resourcev1.DeviceClass) (device.Alternative, error) {
	out := device.Alternative{Name: a.name, AdminAccess: a.admin}
	switch a.mode {
	case resourcev1.DeviceAllocationModeAll:
		out.All = true
	case resourcev1.DeviceAllocationModeExactCount, "":
		out.Count = int(max(a.count, 1))
	default:
		return out, fmt.Errorf("unsupported allocation mode %q", a.mode)
	}
	if a.derived {
		return out, fmt.Errorf("derived attributes are not supported")
	}
	c := class(a.class)
	if c == nil {
		return out, fmt.Errorf("device class %q not found", a.class)
	}
	if a.capacity != nil {
		out.Capacity = capacities(a.capacity.Requests).amounts()
	}
	var err error
	out.Selection, err = x.selection(slices.Concat(c.Spec.Selectors, a.selectors), a.tolerations)
	return out, err
}

// selection selects the devices that all selectors match, of which those with tolerated taints can be allocated. Equal selections are shared.
func (x *deviceTerms) selection(selectors []resourcev1.DeviceSelector, tolerations []resourcev1.DeviceToleration) (*device.Selection, error) {
	made := &device.Selection{Tolerations: deviceTolerations(tolerations)}
	for _, s := range selectors {
		if s.CEL == nil {
			return nil, fmt.Errorf("unsupported selector, only CEL is known")
		}
		if nesting(s.CEL.Expression) > maxNesting {
			return nil, fmt.Errorf("the selector %q has more than %d brackets in each other", s.CEL.Expression, maxNesting)
		}
		compiled := x.compiled().GetOrCompile(s.CEL.Expression)
		if compiled.Error != nil {
			return nil, fmt.Errorf("compiling the selector %q: %w", s.CEL.Expression, compiled.Error)
		}
		made.Selectors = append(made.Selectors, expression{compiled})
	}
	id, err := json.Marshal([]any{selectors, tolerations})
	if err != nil {
		return nil, fmt.Errorf("telling selectors apart: %w", err)
	}
	return x.selections.of(id, func() *device.Selection { return made }), nil
}

func constraints(list []resourcev1.DeviceConstraint) ([]device.Constraint, error) {
	out := make([]device.Constraint, 0, len(list))
	for _, c := range list {
		switch {
		case c.MatchAttribute != nil && c.DistinctAttribute == nil:
			out = append(out, device.Constraint{Attribute: string(*c.MatchAttribute), Requests: c.Requests})
		case c.DistinctAttribute != nil && c.MatchAttribute == nil:
			out = append(out, device.Constraint{Attribute: string(*c.DistinctAttribute), Requests: c.Requests, Distinct: true})
		default:
			return nil, fmt.Errorf("unsupported constraint, want one of matchAttribute and distinctAttribute")
		}
	}
	return out, nil
}
