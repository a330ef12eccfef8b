package device

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// bruteForce tries every allocation and shares no code with the allocator. A node has one template and is in one
// zone; what can be used from there is then plain.

// zones are the zones of nodes; no device is in zone c.
var zones = []string{"a", "b", "c"}

// site is a device with its place; zone "" is everywhere.
type site struct {
	pool   string
	zone   string
	device *Device
	kind   *Template // nil for devices that exist
}

// commitment is a claim that was allocated in the run.
type commitment struct {
	owner, claim string
	grants       map[*Template][]Grant
}

// bruteForce knows the devices and what was allocated.
type bruteForce struct {
	sites       []site
	memory      map[string]int64 // budget of the counter of a pool; template pools begin with the name of their kind
	kinds       map[*Template]string
	commitments []commitment
}

func (o *bruteForce) site(kind *Template, id ID) site {
	for _, s := range o.sites {
		if s.pool == id.Pool && s.device.Name == id.Name && (s.kind == nil || s.kind == kind) {
			return s
		}
	}
	panic("no such device: " + id.String())
}

// sound reports whether all commitments, with fresh grants to owner as a kind, hold for every combination of owners' kinds.
func (o *bruteForce) sound(owner string, kind *Template, fresh []Grant) bool {
	kindsOf := map[string][]*Template{}
	for _, p := range o.commitments {
		for k := range p.grants {
			if (p.owner != owner || k == kind) && !slices.Contains(kindsOf[p.owner], k) {
				kindsOf[p.owner] = append(kindsOf[p.owner], k)
			}
		}
	}
	kindsOf[owner] = []*Template{kind}
	owners := []string{}
	for name := range kindsOf {
		owners = append(owners, name)
	}
	var try func(i int, chosen map[string]*Template) bool
	try = func(i int, chosen map[string]*Template) bool {
		if i == len(owners) {
			return o.keeps(chosen, owner, fresh)
		}
		for _, k := range kindsOf[owners[i]] {
			chosen[owners[i]] = k
			if !try(i+1, chosen) {
				return false
			}
		}
		return true
	}
	return try(0, map[string]*Template{})
}

// keeps reports whether all commitments hold for the chosen kinds of the owners.
func (o *bruteForce) keeps(chosen map[string]*Template, owner string, fresh []Grant) bool {
	whole, memory, drawn := map[string]bool{}, map[string]int64{}, map[string]int64{}
	take := func(owner string, g Grant) bool {
		s := o.site(chosen[owner], g.Device)
		pool := s.pool
		if s.kind != nil {
			pool = owner + "/" + pool
		}
		name := pool + "/" + g.Device.Name
		if s.device.Shared {
			for _, a := range g.Consumed {
				memory[name] += a.Value
			}
			return memory[name] <= s.device.Capacity[0].Total
		}
		for _, d := range s.device.ConsumesCounters {
			drawn[pool] += d.Amount
		}
		if whole[name] || drawn[pool] > o.memory[s.pool] && len(s.device.ConsumesCounters) > 0 {
			return false
		}
		whole[name] = true
		return true
	}
	for _, p := range o.commitments {
		for _, g := range p.grants[chosen[p.owner]] {
			if !take(p.owner, g) {
				return false
			}
		}
	}
	for _, g := range fresh {
		if !take(owner, g) {
			return false
		}
	}
	return true
}

// reach returns the devices that a node with a template can use in a zone.
func (o *bruteForce) reach(kind *Template, zone string) []site {
	var out []site
	for _, s := range o.sites {
		if (s.zone == "" || s.zone == zone) && (s.kind == nil || s.kind == kind) {
			out = append(out, s)
		}
	}
	return out
}

// exists reports whether a node with a template in a zone can satisfy claims in addition to the committed ones.
func (o *bruteForce) exists(owner string, kind *Template, zone string, claims []*Claim) bool {
	for _, c := range claims {
		if c.Allocation != nil && !slices.ContainsFunc(c.Allocation.Places, func(p requirement.Set) bool { return p.Get(zoneKey).Has(zone) }) {
			return false
		}
	}
	var open []*Claim
	for _, c := range claims {
		if c.Allocation == nil {
			open = append(open, c)
		}
	}
	return o.fill(owner, kind, zone, open, nil, nil)
}

// fill tries every device for every place in every request.
func (o *bruteForce) fill(owner string, kind *Template, zone string, claims []*Claim, current []Grant, done []Grant) bool {
	if len(claims) == 0 {
		return o.sound(owner, kind, done)
	}
	claim := claims[0]
	var request func(r int, current []Grant) bool
	request = func(r int, current []Grant) bool {
		if r == len(claim.Requests) {
			return o.agree(kind, claim, current) && o.fill(owner, kind, zone, claims[1:], nil, slices.Concat(done, current))
		}
		for _, a := range claim.Requests[r].Alternatives {
			var candidates []Grant
			for _, s := range o.reach(kind, zone) {
				g := Grant{Request: a.Name, Device: ID{driver, s.pool, s.device.Name}}
				if consumed, ok := enough(s.device, a.Capacity); ok && selected(s.device, a.Selection) {
					g.Consumed = consumed
					candidates = append(candidates, g)
				}
			}
			if a.All {
				if len(candidates) > 0 && request(r+1, slices.Concat(current, candidates)) {
					return true
				}
				continue
			}
			var choose func(n int, left, current []Grant) bool
			choose = func(n int, left, current []Grant) bool {
				if n == 0 {
					return request(r+1, current)
				}
				for i, g := range left {
					if choose(n-1, left[i+1:], slices.Concat(current, []Grant{g})) {
						return true
					}
				}
				return false
			}
			if choose(a.Count, candidates, current) {
				return true
			}
		}
		return false
	}
	return request(0, current)
}

func selected(d *Device, wanted *Selection) bool {
	for _, s := range wanted.Selectors {
		if ok, _ := s.Matches(d); !ok {
			return false
		}
	}
	return true
}

// enough is what the one dimension of a shared device gives up; others are had whole.
func enough(d *Device, asked []Amount) ([]Amount, bool) {
	if len(asked) > 0 && len(d.Capacity) == 0 {
		return nil, false
	}
	if len(d.Capacity) == 0 {
		return nil, true
	}
	amount := d.Capacity[0].Total
	if len(asked) > 0 {
		amount = asked[0].Value
	}
	if !d.Shared {
		return nil, amount <= d.Capacity[0].Total
	}
	return []Amount{{d.Capacity[0].Name, amount}}, true
}

// agree reports whether the devices of a claim satisfy its constraints, which are all about attribute k.
func (o *bruteForce) agree(kind *Template, claim *Claim, grants []Grant) bool {
	for _, c := range claim.Constraints {
		value := ""
		for _, g := range grants {
			if len(c.Requests) > 0 && !slices.Contains(c.Requests, base(g.Request)) {
				continue
			}
			values := o.site(kind, g.Device).device.Attributes["k"]
			if len(values) == 0 || value != "" && values[0].Text != value {
				return false
			}
			value = values[0].Text
		}
	}
	return true
}

func base(request string) string {
	for i := range request {
		if request[i] == '/' {
			return request[:i]
		}
	}
	return request
}
