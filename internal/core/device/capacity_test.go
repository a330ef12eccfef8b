package device

import "testing"

func TestPolicies(t *testing.T) {
	t.Attr("covers", "L332")
	n := func(v int64) *int64 { return &v }
	steps := &Policy{Default: n(20), Range: &Range{Min: 10, Step: 5, Max: n(40)}}
	values := &Policy{Default: n(10), Values: []int64{10, 20, 40}}
	for _, tc := range []struct {
		name   string
		policy *Policy
		asked  *int64
		want   int64 // -1 for a refusal
	}{
		{"nothing asked, no policy: everything", nil, nil, 50},
		{"nothing asked: the default", steps, nil, 20},
		{"no policy: as asked", nil, n(7), 7},
		{"more than there is", nil, n(51), -1},
		{"up to the minimum", steps, n(3), 10},
		{"up to the next step", steps, n(11), 15},
		{"a step exactly", steps, n(25), 25},
		{"beyond the maximum", steps, n(41), -1},
		{"rounded beyond the capacity", &Policy{Range: &Range{Min: 10, Step: 30}}, n(41), -1},
		{"the next larger value", values, n(11), 20},
		{"a value exactly", values, n(40), 40},
		{"no value that large", values, n(41), -1},
		{"a policy that says nothing", &Policy{}, n(7), 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := Capacity{Name: "memory", Total: 50, Policy: tc.policy}.take(tc.asked)
			if !ok {
				got = -1
			}
			if got != tc.want {
				t.Errorf("takes %d, want %d", got, tc.want)
			}
		})
	}
}

func sharable(name string, memory int64) *Device {
	return &Device{Name: name, Shared: true, Capacity: []Capacity{{Name: "cores", Total: 8, Policy: &Policy{Default: new(int64)}}, {Name: "memory", Total: memory}}}
}

func asking(name string, count int, asked ...Amount) Request {
	r := exactly(name, count)
	r.Alternatives[0].Capacity = asked
	return r
}

func TestConsumableCapacity(t *testing.T) {
	t.Attr("covers", "L332")
	half := func(name string) *Claim { return claim(name, asking("r", 1, Amount{"memory", 50})) }
	t.Run("is shared until it is used up", func(t *testing.T) {
		l, kind := cluster(), template(sharable("gpu", 100))
		must(t, l, plannedNode("m", kind), half("a"))
		must(t, l, plannedNode("m", kind), half("b"))
		refuse(t, l, plannedNode("m", kind), half("c"))
		must(t, l, plannedNode("n", kind), half("c"))
	})
	t.Run("of a device that exists is shared by all", func(t *testing.T) {
		l := cluster(everywhere("net", sharable("gpu", 100)))
		must(t, l, plannedNode("m"), half("a"))
		must(t, l, plannedNode("n"), half("b"))
		refuse(t, l, plannedNode("o"), half("c"))
	})
	t.Run("of one device serves a request once", func(t *testing.T) {
		refuse(t, cluster(), plannedNode("m", template(sharable("gpu", 100))), claim("c", asking("r", 2, Amount{"memory", 50})))
		a := must(t, cluster(), plannedNode("m", template(sharable("gpu", 100))), claim("c", asking("r", 1, Amount{"memory", 50}), asking("s", 1, Amount{"memory", 50})))
		want(t, "devices", describe(a), "r=gpu s=gpu")
	})
	t.Run("is all taken by those who do not say", func(t *testing.T) {
		l, kind := cluster(), template(sharable("gpu", 100))
		must(t, l, plannedNode("m", kind), claim("a", exactly("r", 1)))
		refuse(t, l, plannedNode("m", kind), claim("b", asking("r", 1, Amount{"memory", 1})))
	})
	t.Run("rules out devices without the dimension", func(t *testing.T) {
		refuse(t, cluster(), plannedNode("m", template(sharable("gpu", 100))), claim("c", asking("r", 1, Amount{"bandwidth", 1})))
	})
	t.Run("is a condition for devices that are not shared", func(t *testing.T) {
		small, large := sharable("small", 10), sharable("large", 100)
		small.Shared, large.Shared = false, false
		a := must(t, cluster(), plannedNode("m", template(small, large)), half("a"))
		want(t, "device", describe(a), "r=large")
		if a.outcomes[a.Templates[0]][0].Grants[0].Consumed != nil {
			t.Error("a device that is not shared is consumed in part")
		}
	})
	t.Run("already used in the cluster is gone, unless those who use it leave", func(t *testing.T) {
		share := func(claim, pod string, amount int64) Share {
			return Share{Claim: claim, Pods: []string{pod}, PodsOnly: true, Consumed: []Amount{{"memory", amount}}}
		}
		usage := &Usage{Device: ID{driver, "net", "gpu"}, Shares: []Share{share("x", "p", 50), share("y", "q", 25)}}
		inventory := NewInventory([]*Slice{everywhere("net", sharable("gpu", 100))}, nil, nil)
		refuse(t, NewAllocations(inventory, NewAllocated([]*Usage{usage}, leavingPods())), plannedNode("m"), half("a"))
		refuse(t, NewAllocations(inventory, NewAllocated([]*Usage{usage}, leavingPods("q"))), plannedNode("m"), claim("a", asking("r", 1, Amount{"memory", 51})))
		must(t, NewAllocations(inventory, NewAllocated([]*Usage{usage}, leavingPods("p"))), plannedNode("m"), claim("a", asking("r", 1, Amount{"memory", 75})))
		must(t, NewAllocations(inventory, NewAllocated([]*Usage{usage}, leavingPods("p", "q"))), plannedNode("m"), claim("a", exactly("r", 1)))
	})
}
