package device

import (
	"slices"
	"testing"
)

// tolerated tolerates taints with these keys.
type tolerated []string

func (l tolerated) Tolerates(t Taint) bool { return slices.Contains(l, t.Key) }

func TestTaintRulesSelectDevices(t *testing.T) {
	t.Attr("covers", "N445")
	name := func(s string) *string { return &s }
	taint := Taint{Key: "broken", Effect: "NoSchedule"}
	for title, c := range map[string]struct {
		rule    TaintRule
		cluster bool // whether devices of the cluster are tainted
		planned bool // whether devices of planned nodes are
	}{
		"everything":     {TaintRule{}, true, true},
		"the driver":     {TaintRule{Driver: name(driver)}, true, true},
		"another driver": {TaintRule{Driver: name("other.example.com")}, false, false},
		"the pool":       {TaintRule{Pool: name("net")}, true, false},
		"another pool":   {TaintRule{Pool: name("other")}, false, false},
		"the device":     {TaintRule{Device: name("gpu")}, true, true},
		"another device": {TaintRule{Device: name("gpu-1")}, false, false},
		"all of them":    {TaintRule{Driver: name(driver), Pool: name("net"), Device: name("gpu")}, true, false},
	} {
		t.Run(title, func(t *testing.T) {
			c.rule.Taint = taint
			allocations := func() *Allocations {
				return NewAllocations(NewInventory([]*Slice{everywhere("net", plain("gpu"))}, []*TaintRule{&c.rule}, nil), Allocated{})
			}
			_, failure := allocations().Allocate(plannedNode("m"), []*Claim{claim("a", exactly("r", 1))}, nil)
			if (failure != nil) != c.cluster {
				t.Errorf("on a device of the cluster: %+v", failure)
			}
			empty := NewAllocations(NewInventory(nil, []*TaintRule{&c.rule}, nil), Allocated{})
			_, failure = empty.Allocate(plannedNode("m", NewTemplate([]*Slice{everywhere("net", plain("gpu"))}, nil)), []*Claim{claim("a", exactly("r", 1))}, nil)
			if (failure != nil) != c.planned {
				t.Errorf("on a device of a planned node: %+v", failure)
			}
			tolerant := claim("a", exactly("r", 1))
			tolerant.Requests[0].Alternatives[0].Selection = &Selection{Tolerations: tolerated{"broken"}}
			must(t, allocations(), plannedNode("m"), tolerant)
		})
	}
}

func TestEvictions(t *testing.T) {
	t.Attr("covers", "N445")
	evicting := &Device{Name: "worn", Taints: []Taint{{Key: "worn", Effect: NoExecute}, {Key: "old", Effect: NoExecute}}}
	old, current := everywhere("net", &Device{Name: "fine", Taints: []Taint{{Key: "was", Effect: NoExecute}}}), everywhere("net", evicting, plain("fine"),
		&Device{Name: "avoided", Taints: []Taint{{Key: "x", Effect: "NoSchedule"}}})
	current.Generation = 1
	published := []*Slice{current, old}
	id := func(name string) ID { return ID{driver, "net", name} }
	for title, c := range map[string]struct {
		devices []AllocatedDevice
		want    bool
	}{
		"no device":                  {nil, false},
		"a device without taints":    {[]AllocatedDevice{{ID: id("fine")}}, false},
		"an effect that keeps pods":  {[]AllocatedDevice{{ID: id("avoided")}}, false},
		"one of several devices":     {[]AllocatedDevice{{ID: id("fine")}, {ID: id("worn")}}, true},
		"one taint tolerated":        {[]AllocatedDevice{{id("worn"), tolerated{"worn"}}}, true},
		"both taints tolerated":      {[]AllocatedDevice{{id("worn"), tolerated{"worn", "old"}}}, false},
		"a device of another driver": {[]AllocatedDevice{{ID: ID{"x", "net", "worn"}}}, false},
		"a rule":                     {[]AllocatedDevice{{ID: id("ruled")}}, true},
		"a rule, tolerated":          {[]AllocatedDevice{{id("ruled"), tolerated{"rule"}}}, false},
	} {
		name := "ruled"
		rules := []*TaintRule{{Device: &name, Taint: Taint{Key: "rule", Effect: NoExecute}}, {Taint: Taint{Key: "all", Effect: "NoSchedule"}}}
		v := NewEvictions(published, rules)
		if got := v.Evict(&Allocation{Devices: c.devices}); got != c.want {
			t.Errorf("%s: %v", title, got)
		}
	}
	if !NewEvictions([]*Slice{everywhere("net", plain("gpu"))}, []*TaintRule{{Taint: Taint{Effect: "NoSchedule"}}}).None() {
		t.Error("taints that keep claims away evict pods")
	}
}
