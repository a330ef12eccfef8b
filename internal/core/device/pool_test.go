package device

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

func TestPools(t *testing.T) {
	t.Attr("covers", "L334")
	one := claim("c", exactly("r", 1))
	numbered := func(name string, generation, count int64, devices ...*Device) *Slice {
		return &Slice{Name: name, Driver: driver, Pool: "p", Generation: generation, Count: count, AllNodes: true, Devices: devices}
	}
	for _, tc := range []struct {
		name   string
		slices []*Slice
		at     Candidate
		want   string // empty for a refusal
	}{
		{"only the newest generation counts", []*Slice{numbered("a", 1, 1, plain("old")), numbered("b", 2, 1, plain("new"))}, plannedNode("m"), "r=new"},
		{"an old generation does not complete a new one", []*Slice{numbered("a", 1, 2, plain("old")), numbered("b", 2, 2, plain("new"))}, plannedNode("m"), ""},
		{"an incomplete pool serves no node", []*Slice{numbered("a", 1, 2, plain("d"))}, plannedNode("m"), ""},
		{"a pool with too many slices is incomplete too", []*Slice{numbered("a", 1, 1, plain("d")), numbered("b", 1, 1, plain("e"))}, plannedNode("m"), ""},
		{"slices out of reach complete a pool", []*Slice{
			numbered("a", 1, 2, plain("d")), {Name: "b", Driver: driver, Pool: "p", Generation: 1, Count: 2, Node: "far"},
		}, plannedNode("m"), "r=d"},
		{"duplicate devices invalidate a pool", []*Slice{numbered("a", 1, 2, plain("d")), numbered("b", 1, 2, plain("d"))}, plannedNode("m"), ""},
		{"duplicate devices in different places do not", []*Slice{
			{Name: "a", Driver: driver, Pool: "p", Count: 2, Node: "x", Devices: []*Device{plain("d")}},
			{Name: "b", Driver: driver, Pool: "p", Count: 2, Node: "y", Devices: []*Device{plain("d")}},
		}, node("x"), "r=d"},
		{"a slice on a node serves that node", []*Slice{local("p", "n", plain("d"))}, node("n"), "r=d"},
		{"a slice on a node does not serve another node", []*Slice{local("p", "n", plain("d"))}, node("o"), ""},
		{"a slice on a node does not serve a planned node", []*Slice{local("p", "n", plain("d"))}, plannedNode("m"), ""},
		{"any of the terms is sufficient", []*Slice{placed("p", []requirement.Set{zone("a").And(in("example.com/x", "1")), zone("b")}, plain("d"))}, node("n", zone("b")), "r=d"},
		{"well-known labels may be undefined", []*Slice{placed("p", []requirement.Set{zone("b")}, plain("d"))}, plannedNode("m"), "r=d"},
		{"other labels must be defined", []*Slice{placed("p", []requirement.Set{in("example.com/x", "1")}, plain("d"))}, plannedNode("m"), ""},
		{"a slice without a place serves no node", []*Slice{placed("p", nil, plain("d"))}, plannedNode("m"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := cluster(tc.slices...)
			if tc.want == "" {
				refuse(t, l, tc.at, one)
				return
			}
			want(t, "device", describe(must(t, l, tc.at, one)), tc.want)
		})
	}
}

func TestPlacesAreIndependent(t *testing.T) {
	t.Attr("covers", "L334")
	l := cluster(placed("pa", []requirement.Set{zone("a")}, plain("a0")), placed("pb", []requirement.Set{zone("b")}, plain("b0")))
	for _, z := range []string{"a", "b", "a", "b"} {
		a, failure := try(t, l, node("n", zone(z)), claim("c", exactly("r", 1)))
		if failure != nil {
			t.Fatal(failure.Text)
		}
		want(t, "device in "+z, describe(a), "r="+z+"0")
	}
}

func TestSlicesOfNodesThatAreNotReadyDoNotCount(t *testing.T) {
	t.Attr("covers", "L331")
	kind := template(plain("gpu"))
	slices := []*Slice{local("p", "n", plain("gpu"))}
	starting := node("n")
	starting.Templates = []*Template{kind}
	c := func(name string) *Claim { return claim(name, exactly("r", 1)) }

	before := NewAllocations(NewInventory(slices, nil, func(string) bool { return false }), Allocated{})
	a := must(t, before, starting, c("x"))
	if !a.outcomes[kind][0].Grants[0].Template {
		t.Error("while the node starts, what its kind will have stands in for what it has published")
	}
	refuse(t, before, starting, c("y"))

	after := cluster(slices...)
	must(t, after, node("n"), c("x"))
	refuse(t, after, node("n"), c("y"))
}

func TestDevicesThatExistComeFirst(t *testing.T) {
	t.Attr("covers", "L327")
	l := cluster(everywhere("net", plain("there", "model=a")))
	a := must(t, l, plannedNode("m", template(plain("new", "model=a"))), claim("c", exactly("r", 1)))
	want(t, "device", describe(a), "r=there")
}

func TestTakenDevices(t *testing.T) {
	usage := func(pods ...string) []*Usage {
		return []*Usage{{Device: ID{driver, "net", "gpu"}, Shares: []Share{{Claim: "x", Pods: pods, PodsOnly: len(pods) > 0}}}}
	}
	c := claim("c", exactly("r", 1))
	v := NewInventory([]*Slice{everywhere("net", plain("gpu"))}, nil, nil)
	t.Run("a device allocated in the cluster is not allocated again", func(t *testing.T) {
		t.Attr("covers", "L324")
		refuse(t, NewAllocations(v, NewAllocated(usage(), leavingPods())), plannedNode("m"), c)
	})
	t.Run("a device that a running pod uses is not allocated again", func(t *testing.T) {
		t.Attr("covers", "L330")
		refuse(t, NewAllocations(v, NewAllocated(usage("p", "q"), leavingPods("p"))), plannedNode("m"), c)
	})
	t.Run("a device that only leaving pods use is free", func(t *testing.T) {
		t.Attr("covers", "L330")
		must(t, NewAllocations(v, NewAllocated(usage("p", "q"), leavingPods("p", "q"))), plannedNode("m"), c)
	})
	t.Run("a device reserved for something other than a pod is not free", func(t *testing.T) {
		t.Attr("covers", "L330")
		held := usage("p")
		held[0].Shares[0].PodsOnly = false
		refuse(t, NewAllocations(v, NewAllocated(held, leavingPods("p"))), plannedNode("m"), c)
	})
	t.Run("a device allocated in this run is not allocated again", func(t *testing.T) {
		t.Attr("covers", "L324")
		l := NewAllocations(v, Allocated{})
		must(t, l, plannedNode("m"), c)
		refuse(t, l, plannedNode("n"), claim("d", exactly("r", 1)))
	})
}
