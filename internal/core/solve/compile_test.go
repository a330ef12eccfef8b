package solve

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// ladder is n types of increasing size.
func ladder(n int) catalog.Catalog {
	out := make(catalog.Catalog, n)
	for i := range out {
		out[i] = instanceType(fmt.Sprintf("rung-%d", i+1), int64(i+1), int64(2*i+2), float64(i+1)/20)
	}
	return out
}

// TestColumnsMatchTypes reads everything back from the columns of types that differ in keys, values and offerings.
func TestColumnsMatchTypes(t *testing.T) {
	types := ladder(70)
	types[3].Requirements = types[3].Requirements.Without(archKey)
	types[4].Requirements = types[4].Requirements.Add(requirement.New("example.com/gpu", requirement.In, "1")).
		Replace(requirement.New(archKey, requirement.In, "arm64"))
	types[5].Groups = append(types[5].Groups, catalog.Group{Allocatable: resource.Vector{1}})
	types[5].Offerings[1].Group = 1
	types[6].Offerings[0].Group = catalog.Unavailable
	u := index.NewUniverse(wellKnown)
	c := index.NewColumns(types, u)
	if c.Len() != 71 {
		t.Fatalf("there are %d columns, want 71", c.Len())
	}
	for key, k := range u.Keys {
		for column, owner := range c.Owner {
			var want []string
			if types[owner].Requirements.Has(k.Name) {
				want = append(want, types[owner].Requirements.Get(k.Name).String())
			}
			var got []string
			for _, value := range c.Label(key).Values {
				if value.Columns.Has(column) {
					got = append(got, k.Sets[value.Set].String())
				}
			}
			if silent := c.Label(key).Absent.Has(column); !slices.Equal(got, want) || silent != (want == nil) {
				t.Errorf("column %d of type %s says %q about %s, and silence is %v; want %q", column, types[owner].Name, got, k.Name, silent, want)
			}
		}
	}
	if len(c.Kinds) != 3 {
		t.Fatalf("there are %d kinds of offerings, want 3", len(c.Kinds))
	}
	// Zones are kinds 0, 1 and 2; type 5 has two columns, and offers the second in zone 1 only.
	for _, offered := range []struct {
		kind, column int
		want         bool
	}{{0, 5, true}, {1, 5, false}, {1, 6, true}, {0, 6, false}, {0, 7, false}, {1, 7, true}, {2, 70, true}} {
		if got := c.Kinds[offered.kind].Columns.Has(offered.column); got != offered.want {
			t.Errorf("column %d is on offer in zone %d: %v, want %v", offered.column, offered.kind, got, offered.want)
		}
	}
}

// TestEveryColumnReservesTheDaemonsThatRunOnIt checks columns with none, one and both of two daemons.
func TestEveryColumnReservesTheDaemonsThatRunOnIt(t *testing.T) {
	types := ladder(6)
	types[1].Requirements = types[1].Requirements.Replace(requirement.New(archKey, requirement.In, "arm64"))
	daemon := func(cpu int64, port int32, demand ...requirement.Requirement) *model.DaemonSet {
		return &model.DaemonSet{Name: fmt.Sprint("daemon-", cpu), Shape: &model.Shape{
			Requests: resource.Vector{cpu}, Selector: requirement.NewSet(demand...), HostPorts: []model.HostPort{{Port: port}},
		}}
	}
	s := compile.NewRun(Problem{
		Pools:   []*model.Pool{pool("default", types...)},
		Options: Options{WellKnown: wellKnown},
		DaemonSets: []*model.DaemonSet{
			daemon(300, 1, requirement.New(archKey, requirement.In, "amd64")),
			daemon(2500, 2, requirement.New(instanceTypeKey, requirement.NotIn, "rung-6")),
		},
	})
	tmpl := s.Templates[0]
	for column, want := range []struct{ cpu, left, ports int64 }{
		{2800, 0, 2}, {2500, 0, 1}, {2800, 100, 2}, {2800, 1100, 2}, {2800, 2100, 2}, {300, 5600, 1},
	} {
		cpu, left, ports := tmpl.Daemons[column].At(resource.CPU), tmpl.Available[column].At(resource.CPU), int64(len(tmpl.DaemonPorts[column]))
		if cpu != want.cpu || left != want.left || ports != want.ports {
			t.Errorf("column %d: daemons take %dm of CPU and %d ports and leave %dm; want %+v", column, cpu, ports, left, want)
		}
	}
}

func BenchmarkColumns(b *testing.B) {
	types := ladder(400)
	b.ReportAllocs()
	for b.Loop() {
		index.NewColumns(types, index.NewUniverse(wellKnown))
	}
}

func BenchmarkTemplate(b *testing.B) {
	daemon := &model.DaemonSet{Name: "agent", Shape: &model.Shape{Requests: resource.Vector{100, 1 << 20}}}
	p := Problem{Pools: []*model.Pool{pool("default", ladder(400)...)}, DaemonSets: []*model.DaemonSet{daemon}}
	b.ReportAllocs()
	for b.Loop() {
		compile.NewRun(p)
	}
}
