package device

import "testing"

// partition draws from one counter.
func partition(name string, amount int64, more ...CounterConsumption) *Device {
	return &Device{Name: name, ConsumesCounters: append([]CounterConsumption{{"card", "memory", amount}}, more...)}
}

// partitioned is a pool of partitions of one card.
func partitioned(pool string, memory int64, devices ...*Device) []*Slice {
	counters := []CounterSet{{"card", map[string]int64{"memory": memory, "engines": 2}}}
	return []*Slice{
		{Name: pool + "-counters", Driver: driver, Pool: pool, Count: 2, AllNodes: true, Counters: counters},
		{Name: pool + "-devices", Driver: driver, Pool: pool, Count: 2, AllNodes: true, Devices: devices},
	}
}

func TestPartitions(t *testing.T) {
	t.Attr("covers", "L333")
	one := func(name string) *Claim { return claim(name, exactly("r", 1)) }
	t.Run("share a budget", func(t *testing.T) {
		l := cluster(partitioned("p", 100, partition("a", 60), partition("b", 60), partition("c", 40))...)
		want(t, "first", describe(must(t, l, plannedNode("m"), one("x"))), "r=a")
		want(t, "second", describe(must(t, l, plannedNode("n"), one("y"))), "r=c")
		refuse(t, l, plannedNode("o"), one("z"))
	})
	t.Run("draw from several counters", func(t *testing.T) {
		engines := CounterConsumption{"card", "engines", 2}
		l := cluster(partitioned("p", 100, partition("a", 10, engines), partition("b", 10, engines), partition("c", 10))...)
		must(t, l, plannedNode("m"), one("x"))
		want(t, "second", describe(must(t, l, plannedNode("n"), one("y"))), "r=c")
		refuse(t, l, plannedNode("o"), one("z"))
	})
	t.Run("are not over-committed within one claim", func(t *testing.T) {
		l := cluster(partitioned("p", 100, partition("a", 60), partition("b", 40), partition("c", 60))...)
		want(t, "pair", describe(must(t, l, plannedNode("m"), claim("x", exactly("r", 2)))), "r=a r=b")
		refuse(t, cluster(partitioned("p", 100, partition("a", 60), partition("b", 60))...), plannedNode("m"), claim("x", exactly("r", 2)))
	})
	t.Run("count when allocated in the cluster, within reach or not", func(t *testing.T) {
		slices := partitioned("p", 100, partition("a", 60))
		slices[0].Count, slices[1].Count = 3, 3
		slices = append(slices, &Slice{Name: "far", Driver: driver, Pool: "p", Count: 3, Node: "far", Devices: []*Device{partition("b", 60)}})
		usage := []*Usage{{Device: ID{driver, "p", "b"}, Shares: []Share{{Claim: "x"}}}}
		refuse(t, NewAllocations(NewInventory(slices, nil, nil), NewAllocated(usage, leavingPods())), plannedNode("m"), one("x"))
		must(t, NewAllocations(NewInventory(slices, nil, nil), Allocated{}), plannedNode("m"), one("x"))
	})
	t.Run("of an allocated name draw on every node that has the name", func(t *testing.T) {
		slices := partitioned("p", 100, partition("a", 10), partition("b", 10))
		slices[0].Count, slices[1].Count = 3, 3
		slices = append(slices, &Slice{Name: "far", Driver: driver, Pool: "p", Count: 3, Node: "far", Devices: []*Device{partition("a", 90)}})
		usage := []*Usage{{Device: ID{driver, "p", "a"}, Shares: []Share{{Claim: "x"}}}}
		refuse(t, NewAllocations(NewInventory(slices, nil, nil), NewAllocated(usage, leavingPods())), node("near"), one("x"))
		must(t, NewAllocations(NewInventory(slices, nil, nil), Allocated{}), node("near"), one("x"))
	})
	t.Run("are refused while any counter of the pool is overdrawn", func(t *testing.T) {
		engines := &Device{Name: "engines", ConsumesCounters: []CounterConsumption{{"card", "engines", 1}}}
		usage := []*Usage{{Device: ID{driver, "p", "a"}, Shares: []Share{{Claim: "x"}}}}
		taken := func(amount int64) *Allocations {
			slices := partitioned("p", 100, partition("a", amount), engines)
			return NewAllocations(NewInventory(slices, nil, nil), NewAllocated(usage, leavingPods()))
		}
		refuse(t, taken(101), node("n"), one("x"))
		must(t, taken(100), node("n"), one("x"))
		slices := partitioned("p", 100, partition("a", 101), engines, plain("free"))
		want(t, "device without counters", describe(must(t, NewAllocations(NewInventory(slices, nil, nil), NewAllocated(usage, leavingPods())), node("n"), one("x"))), "r=free")
	})
	t.Run("of each planned node have separate counters", func(t *testing.T) {
		kind := NewTemplate(partitioned("p", 100, partition("a", 60)), nil)
		l := cluster(partitioned("p", 100, partition("a", 60))...)
		must(t, l, plannedNode("m", kind), one("x"))
		must(t, l, plannedNode("m", kind), one("y"))
		must(t, l, plannedNode("n", kind), one("z"))
		refuse(t, l, plannedNode("n", kind), one("w"))
	})
	t.Run("with a reference to a missing counter invalidate the pool", func(t *testing.T) {
		for _, d := range []CounterConsumption{{"card", "wheels", 1}, {"car", "memory", 1}} {
			refuse(t, cluster(partitioned("p", 100, partition("a", 1), partition("b", 1, d))...), plannedNode("m"), one("x"))
		}
	})
	t.Run("with duplicate counter sets invalidate the pool", func(t *testing.T) {
		slices := partitioned("p", 100, partition("a", 1))
		slices[0].Counters = append(slices[0].Counters, slices[0].Counters[0])
		refuse(t, cluster(slices...), plannedNode("m"), one("x"))
	})
	t.Run("in a slice with counters are ignored", func(t *testing.T) {
		slices := partitioned("p", 100)
		slices[0].Devices = []*Device{partition("a", 1)}
		refuse(t, cluster(slices...), plannedNode("m"), one("x"))
	})
}

func TestKindsGiveBackTheDifference(t *testing.T) {
	t.Attr("covers", "L336")
	// With the large template the node has no device and consumes 60 of the card; with the small one it uses its own.
	large, small := template(), template(plain("own", "size=l"))
	l := cluster(partitioned("p", 100, partition("a", 60), partition("b", 60))...)
	shares := func() *Claim { return claim("y", exactly("r", 1)) }

	first := claim("x", firstOf("r", exactly("own", 1, has{"size", "l"}), exactly("part", 1)))
	a, failure := try(t, l, plannedNode("m", large, small), first)
	if failure != nil || len(a.Templates) != 2 {
		t.Fatalf("got %+v, %v", a.Templates, failure)
	}
	must(t, l, plannedNode("probe"), shares()) // what was only tried left no trace
	l.Keep("probe", nil)

	l.Commit("m", a)
	refuse(t, l, plannedNode("n"), shares())
	l.Keep("m", []*Template{small})
	must(t, l, plannedNode("n"), shares())
}

func TestTheMostOfAllKindsIsCharged(t *testing.T) {
	t.Attr("covers", "L336")
	gpu := func(pool string) *Device { return sharable(pool, 100) }
	// One kind takes 50 in one piece, the other would take 30: together they block 50, not 80.
	big, little := template(plain("x", "big=1")), template(plain("y", "little=1"))
	l := cluster(everywhere("net", gpu("gpu")))
	take := func(amount int64) Request { return asking("part", 1, Amount{"memory", amount}) }
	withBig := firstOf("mark", exactly("big", 1, has{"big", "1"}), exactly("little", 1, has{"little", "1"}))
	c := claim("x", withBig, firstOf("r", take(50)))
	must(t, l, plannedNode("m", big, little), c)
	must(t, l, plannedNode("n"), claim("y", asking("r", 1, Amount{"memory", 50})))
	refuse(t, l, plannedNode("o"), claim("z", asking("r", 1, Amount{"memory", 1})))
	l.Keep("n", nil)
	must(t, l, plannedNode("o"), claim("z", asking("r", 1, Amount{"memory", 50})))
}
