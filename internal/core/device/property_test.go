package device

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// TestAllocationsAreSoundAndFoundWhenThereIsOne allocates devices to random nodes, and compares every result with
// brute force.
func TestAllocationsAreSoundAndFoundWhenThereIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, allocations, kinds := drawDevices(t)
		for step := range rapid.IntRange(1, 5).Draw(t, "steps") {
			owner := rapid.SampledFrom([]string{"m", "n"}).Draw(t, "owner")
			c := Candidate{Owner: owner, Templates: allocations.Templates(owner, kinds), Undefined: wellKnown}
			allowed := zones
			if rapid.Bool().Draw(t, "within zones") {
				allowed = rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "b"}, {"c"}, {"b", "c"}}).Draw(t, "zones")
				c.Requirements = zone(allowed...)
			}
			claims := drawClaims(t, step)
			a, failure := allocations.Allocate(c, claims, nil)
			o.compare(t, c, allowed, claims, a, failure)
			if failure == nil && rapid.Bool().Draw(t, "commit") {
				allocations.Commit(owner, a)
				o.commit(owner, a)
			}
			if rapid.IntRange(0, 3).Draw(t, "prune") == 0 {
				keep := allocations.Templates(owner, kinds)
				keep = keep[:rapid.IntRange(0, len(keep)).Draw(t, "keep")]
				allocations.Keep(owner, keep)
				o.keep(owner, keep)
			}
		}
	})
}

// compare compares one result with brute force.
func (o *bruteForce) compare(t *rapid.T, c Candidate, allowed []string, claims []*Claim, a Proposal, failure *Failure) {
	possible := slices.ContainsFunc(c.Templates, func(k *Template) bool {
		return slices.ContainsFunc(allowed, func(z string) bool { return o.exists(c.Owner, k, z, claims) })
	})
	if (failure == nil) != possible {
		t.Fatalf("found: %v, possible: %v (%+v)", failure == nil, possible, failure)
	}
	if failure != nil {
		return
	}
	somewhere := false
	for _, z := range zones {
		if !a.Requirements.Get(zoneKey).Has(z) {
			continue
		}
		somewhere = true
		if !slices.Contains(allowed, z) {
			t.Fatalf("zone %s was not allowed", z)
		}
		for _, k := range a.Templates {
			o.examine(t, c.Owner, k, z, claims, a)
		}
	}
	if !somewhere {
		t.Fatalf("no zone is left in %s", a.Requirements)
	}
}

// examine checks the allocation of a template against the claims, for a node in a zone.
func (o *bruteForce) examine(t *rapid.T, owner string, kind *Template, zone string, claims []*Claim, a Proposal) {
	var granted []Grant
	i := 0
	for _, c := range claims {
		if c.Allocation != nil {
			continue
		}
		got := a.outcomes[kind][i]
		i++
		if got.Claim != c.Name {
			t.Fatalf("%s got what was meant for %s", c.Name, got.Claim)
		}
		for _, g := range got.Grants {
			if s := o.site(kind, g.Device); s.zone != "" && s.zone != zone {
				t.Fatalf("device %s cannot be used from zone %s", g.Device, zone)
			}
		}
		if !o.answers(kind, zone, c, got.Grants) {
			t.Fatalf("%v is not what %s asks for in zone %s", got.Grants, c.Name, zone)
		}
		granted = append(granted, got.Grants...)
	}
	if !o.sound(owner, kind, granted) {
		t.Fatalf("%v as kind %s is more than there is", granted, o.kinds[kind])
	}
}

// answers reports whether the grants satisfy the requests of the claim.
func (o *bruteForce) answers(kind *Template, zone string, c *Claim, grants []Grant) bool {
	for _, r := range c.Requests {
		answered := slices.ContainsFunc(r.Alternatives, func(a Alternative) bool {
			n, all := 0, 0
			for _, g := range grants {
				if g.Request == a.Name {
					n++
					if d := o.site(kind, g.Device).device; !selected(d, a.Selection) {
						return false
					}
				}
			}
			for _, s := range o.reach(kind, zone) {
				if selected(s.device, a.Selection) {
					all++
				}
			}
			if a.All {
				return n > 0 && n == all
			}
			return n == a.Count
		})
		if !answered {
			return false
		}
	}
	return o.agree(kind, c, grants)
}

func (o *bruteForce) commit(owner string, a Proposal) {
	for i, name := range a.claims {
		p := commitment{owner, name, map[*Template][]Grant{}}
		for _, k := range a.Templates {
			p.grants[k] = a.outcomes[k][i].Grants
		}
		o.commitments = append(o.commitments, p)
	}
	o.keep(owner, a.Templates)
}

func (o *bruteForce) keep(owner string, kinds []*Template) {
	for _, p := range o.commitments {
		for k := range p.grants {
			if p.owner == owner && !slices.Contains(kinds, k) {
				delete(p.grants, k)
			}
		}
	}
	o.commitments = slices.DeleteFunc(o.commitments, func(p commitment) bool { return len(p.grants) == 0 })
}

// drawDevices draws existing devices and templates.
func drawDevices(t *rapid.T) (*bruteForce, *Allocations, []*Template) {
	o := &bruteForce{memory: map[string]int64{}, kinds: map[*Template]string{}}
	var published []*Slice
	for i := range rapid.IntRange(0, 2).Draw(t, "pools") {
		name := fmt.Sprint("pool", i)
		z := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "place")
		slices, devices := o.drawPool(t, name)
		for _, s := range slices {
			s.AllNodes = z == ""
			if z != "" {
				s.Terms = []requirement.Set{zone(z)}
			}
		}
		published = append(published, slices...)
		for _, d := range devices {
			o.sites = append(o.sites, site{name, z, d, nil})
		}
	}
	kinds := []*Template{nil}
	o.kinds[nil] = "none"
	for i := range rapid.IntRange(0, 2).Draw(t, "kinds") {
		name := fmt.Sprint("kind", i)
		slices, devices := o.drawPool(t, name)
		kind := NewTemplate(slices, nil)
		for _, d := range devices {
			o.sites = append(o.sites, site{name, "", d, kind})
		}
		kinds, o.kinds[kind] = append(kinds, kind), name
	}
	return o, NewAllocations(NewInventory(published, nil, nil), Allocated{}), kinds
}

func (o *bruteForce) drawPool(t *rapid.T, name string) ([]*Slice, []*Device) {
	o.memory[name] = rapid.Int64Range(1, 4).Draw(t, "budget")
	var devices []*Device
	for i := range rapid.IntRange(1, 3).Draw(t, "devices") {
		d := plain(fmt.Sprint("d", i), "model="+rapid.SampledFrom([]string{"x", "y"}).Draw(t, "model"))
		if k := rapid.SampledFrom([]string{"", "0", "1"}).Draw(t, "k"); k != "" {
			d.Attributes["k"] = []Value{{Text, k}}
		}
		switch rapid.IntRange(0, 2).Draw(t, "sort") {
		case 0:
			d.Shared = true
			d.Capacity = []Capacity{{Name: "memory", Total: rapid.Int64Range(1, 3).Draw(t, "memory")}}
		case 1:
			d.ConsumesCounters = []CounterConsumption{{"card", "memory", rapid.Int64Range(1, 3).Draw(t, "draw")}}
		}
		devices = append(devices, d)
	}
	counters := []CounterSet{{"card", map[string]int64{"memory": o.memory[name]}}}
	return []*Slice{
		{Name: name + "-c", Driver: driver, Pool: name, Count: 2, Counters: counters},
		{Name: name + "-d", Driver: driver, Pool: name, Count: 2, Devices: devices},
	}, devices
}

// drawClaims draws few enough requests for everything to be tried.
func drawClaims(t *rapid.T, step int) []*Claim {
	var out []*Claim
	n := rapid.IntRange(1, 2).Draw(t, "claims")
	if rapid.IntRange(0, 3).Draw(t, "allocated") == 0 {
		places := rapid.SampledFrom([][]requirement.Set{{zone("a")}, {zone("b")}, {zone("b"), zone("a")}, {zone("c"), zone("a")}}).Draw(t, "where")
		out = append(out, given(fmt.Sprint("allocated-", step), places...))
	}
	for i := range n {
		c := claim(fmt.Sprint("claim-", step, "-", i))
		for r := range rapid.IntRange(1, 3-n).Draw(t, "requests") {
			c.Requests = append(c.Requests, drawRequest(t, fmt.Sprint("r", r)))
		}
		switch rapid.IntRange(0, 3).Draw(t, "constraint") {
		case 0:
			c.agreeing(driver + "/k")
		case 1:
			c.agreeing(driver+"/k", "r0")
		}
		out = append(out, c)
	}
	return out
}

func drawRequest(t *rapid.T, name string) Request {
	one := func(name string) Request {
		var wanted []Selector
		if model := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "wanted"); model != "" {
			wanted = append(wanted, has{"model", model})
		}
		if rapid.IntRange(0, 3).Draw(t, "all") == 0 {
			return all(name, wanted...)
		}
		r := exactly(name, rapid.IntRange(1, 2).Draw(t, "count"), wanted...)
		if rapid.IntRange(0, 2).Draw(t, "asks") == 0 {
			r.Alternatives[0].Capacity = []Amount{{"memory", rapid.Int64Range(1, 2).Draw(t, "asked")}}
		}
		return r
	}
	if rapid.IntRange(0, 2).Draw(t, "choice") == 0 {
		return firstOf(name, one("p"), one("q"))
	}
	return one(name)
}
