package model

import (
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

func TestMinAllocatableIsTheMinimumOverOfferings(t *testing.T) {
	in := func(key string, values ...string) requirement.Set {
		return requirement.NewSet(requirement.New(key, requirement.In, values...))
	}
	offering := func(zone string, group int32) catalog.Offering {
		return catalog.Offering{Kind: &catalog.Kind{Requirements: in("zone", zone)}, Group: group}
	}
	instanceType := func(arch string, offerings []catalog.Offering, allocatable ...resource.Vector) *catalog.InstanceType {
		t := &catalog.InstanceType{Requirements: in("arch", arch), Offerings: offerings}
		for _, v := range allocatable {
			t.Groups = append(t.Groups, catalog.Group{Allocatable: v})
		}
		return t
	}
	types := catalog.Catalog{
		instanceType("arm", []catalog.Offering{offering("a", 0)}, resource.Vector{1000, 1}),
		instanceType("amd", []catalog.Offering{offering("a", 0), offering("b", 1)}, resource.Vector{4000, 4}, resource.Vector{500, 4}),
		instanceType("amd", []catalog.Offering{offering("a", 0), offering("a", catalog.Unavailable)}, resource.Vector{8000, 2}),
	}
	for name, c := range map[string]struct {
		requirements requirement.Set
		want         resource.Vector
	}{
		"any instance type":           {nil, resource.Vector{500, 1}},
		"one architecture":            {in("arch", "amd"), resource.Vector{500, 2}},
		"one architecture and zone":   {in("arch", "amd").And(in("zone", "a")), resource.Vector{4000, 2}},
		"a zone without offerings":    {in("zone", "c"), nil},
		"an architecture without any": {in("arch", "other"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Pool{Requirements: c.requirements, Catalog: types}).MinAllocatable(); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if types[1].Groups[0].Allocatable[0] != 4000 || types[2].Groups[0].Allocatable[1] != 2 {
		t.Error("the catalog was changed")
	}
}
