package device

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

const (
	zoneKey = "topology.kubernetes.io/zone"
	driver  = "gpu.example.com"
)

func wellKnown(key string) bool { return key == zoneKey }

func in(key string, values ...string) requirement.Set {
	return requirement.NewSet(requirement.New(key, requirement.In, values...))
}

func zone(values ...string) requirement.Set { return in(zoneKey, values...) }

// has selects devices by the value of an attribute; the value "broken" cannot be judged.
type has struct{ attribute, value string }

func (h has) Matches(d *Device) (bool, error) {
	for _, v := range d.Attributes[h.attribute] {
		if v.Text == "broken" {
			return false, errors.New("no such key")
		}
		if v.Text == h.value {
			return true, nil
		}
	}
	return false, nil
}

// plain is a device whose attributes are given as key=value.
func plain(name string, attributes ...string) *Device {
	d := &Device{Name: name, Attributes: map[string][]Value{}}
	for _, a := range attributes {
		key, value, _ := strings.Cut(a, "=")
		d.Attributes[key] = append(d.Attributes[key], Value{Text, value})
	}
	return d
}

func several(n int, prefix string, attributes ...string) []*Device {
	out := make([]*Device, n)
	for i := range out {
		out[i] = plain(fmt.Sprint(prefix, i), attributes...)
	}
	return out
}

// everywhere is a complete pool that all nodes can use; local and placed are those that one node, or some places, can.
func everywhere(pool string, devices ...*Device) *Slice {
	return &Slice{Name: pool, Driver: driver, Pool: pool, Count: 1, AllNodes: true, Devices: devices}
}

func local(pool, node string, devices ...*Device) *Slice {
	return &Slice{Name: pool, Driver: driver, Pool: pool, Count: 1, Node: node, NodeOwner: node, Devices: devices}
}

func placed(pool string, places []requirement.Set, devices ...*Device) *Slice {
	return &Slice{Name: pool, Driver: driver, Pool: pool, Count: 1, Terms: places, Devices: devices}
}

func template(devices ...*Device) *Template {
	return NewTemplate([]*Slice{everywhere("new", devices...)}, nil)
}

// exactly requests n devices that all selectors match.
func exactly(name string, n int, wanted ...Selector) Request {
	return Request{Name: name, Alternatives: []Alternative{{Name: name, Count: n, Selection: &Selection{Selectors: wanted}}}}
}

func all(name string, wanted ...Selector) Request {
	return Request{Name: name, Alternatives: []Alternative{{Name: name, All: true, Selection: &Selection{Selectors: wanted}}}}
}

// firstOf requests the first available of alternatives, which are named after the request.
func firstOf(name string, alternatives ...Request) Request {
	out := Request{Name: name}
	for _, a := range alternatives {
		alternative := a.Alternatives[0]
		alternative.Name = name + "/" + a.Name
		out.Alternatives = append(out.Alternatives, alternative)
	}
	return out
}

func claim(name string, requests ...Request) *Claim {
	return &Claim{Name: "default/" + name, Requests: requests}
}

func (c *Claim) agreeing(attribute string, requests ...string) *Claim {
	c.Constraints = append(c.Constraints, Constraint{Attribute: attribute, Requests: requests})
	return c
}

func given(name string, places ...requirement.Set) *Claim {
	return &Claim{Name: "default/" + name, Allocation: &Allocation{Places: places}}
}

// cluster is allocations over slices that are all usable, from which nothing is taken.
func cluster(published ...*Slice) *Allocations {
	return NewAllocations(NewInventory(published, nil, func(string) bool { return true }), Allocated{})
}

// plannedNode is a planned node with some templates; node is an existing one.
func plannedNode(owner string, kinds ...*Template) Candidate {
	if len(kinds) == 0 {
		kinds = []*Template{nil}
	}
	return Candidate{Owner: owner, Templates: kinds, Undefined: wellKnown}
}

func (c Candidate) within(s requirement.Set) Candidate {
	c.Requirements = c.Requirements.And(s)
	return c
}

func node(name string, labels ...requirement.Set) Candidate {
	c := Candidate{Owner: name, Node: name, Fixed: true, Templates: []*Template{nil}, Undefined: wellKnown}
	for _, l := range labels {
		c.Requirements = c.Requirements.And(l)
	}
	return c
}

// try allocates without committing, must commits as well, and refuse wants the allocation to fail.
func try(t *testing.T, l *Allocations, c Candidate, claims ...*Claim) (Proposal, *Failure) {
	t.Helper()
	return l.Allocate(c, claims, nil)
}

func must(t *testing.T, l *Allocations, c Candidate, claims ...*Claim) Proposal {
	t.Helper()
	a, failure := l.Allocate(c, claims, nil)
	if failure != nil {
		t.Fatalf("%s gets nothing: %s", c.Owner, failure.Text)
	}
	l.Commit(c.Owner, a)
	return a
}

func refuse(t *testing.T, l *Allocations, c Candidate, claims ...*Claim) *Failure {
	t.Helper()
	a, failure := l.Allocate(c, claims, nil)
	if failure == nil {
		t.Fatalf("%s gets %v", c.Owner, describe(a))
	}
	return failure
}

// describe lists what the first kind of an allotment got, as request=device.
func describe(a Proposal) string {
	if len(a.Templates) == 0 || len(a.claims) == 0 {
		return ""
	}
	return describeKind(a, a.Templates[0])
}

func describeKind(a Proposal, kind *Template) string {
	var out []string
	for _, o := range a.outcomes[kind] {
		for _, g := range o.Grants {
			out = append(out, g.Request+"="+g.Device.Name)
		}
	}
	return strings.Join(out, " ")
}

func want(t *testing.T, what, got, wanted string) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %q, want %q", what, got, wanted)
	}
}

func leavingPods(uids ...string) func(string) bool {
	return func(uid string) bool { return slices.Contains(uids, uid) }
}
