package model

import (
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

func TestTheFloorOfAPoolIsWhatItsSmallestMachineLeaves(t *testing.T) {
	in := func(key string, values ...string) requirement.Set {
		return requirement.NewSet(requirement.New(key, requirement.In, values...))
	}
	offering := func(zone string, group int32) catalog.Offering {
		return catalog.Offering{Kind: &catalog.Kind{Requirements: in("zone", zone)}, Group: group}
	}
	machine := func(arch string, offerings []catalog.Offering, leaves ...resource.Vector) *catalog.InstanceType {
		t := &catalog.InstanceType{Requirements: in("arch", arch), Offerings: offerings}
		for _, v := range leaves {
			t.Groups = append(t.Groups, catalog.Group{Allocatable: v})
		}
		return t
	}
	types := catalog.Catalog{
		machine("arm", []catalog.Offering{offering("a", 0)}, resource.Vector{1000, 1}),
		machine("amd", []catalog.Offering{offering("a", 0), offering("b", 1)}, resource.Vector{4000, 4}, resource.Vector{500, 4}),
		machine("amd", []catalog.Offering{offering("a", 0), offering("a", catalog.Unavailable)}, resource.Vector{8000, 2}),
	}
	for name, c := range map[string]struct {
		demands requirement.Set
		want    resource.Vector
	}{
		"any machine":                   {nil, resource.Vector{500, 1}},
		"what the labels allow":         {in("arch", "amd"), resource.Vector{500, 2}},
		"and where it is on offer":      {in("arch", "amd").And(in("zone", "a")), resource.Vector{4000, 2}},
		"nothing, where nothing is":     {in("zone", "c"), nil},
		"nothing, where nothing is one": {in("arch", "other"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Pool{Requirements: c.demands, Catalog: types}).MinAllocatable(); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if types[1].Groups[0].Allocatable[0] != 4000 || types[2].Groups[0].Allocatable[1] != 2 {
		t.Error("the catalog was changed")
	}
}
