// Package choice decides which offering a NodeClaim is launched as. Azure launches exactly what a request names, so one offering is chosen
// here, before the request: the cheapest one, and among those of one price a spot one before an on-demand one and a zone before regional
// placement. Zones of one instance type that are equal in all of that are chosen at random, so that launches spread over them.
//
// Source: Azure provider specification, offering choice.
package choice

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
	"github.com/karpenter-anew/karpenter/cloud/azure/zone"
)

// Input is what a choice depends on.
type Input struct {
	// Claim is the NodeClaim to launch. Its requirements and resource requests count.
	Claim *v1.NodeClaim
	// Offerings are those of the instance types that nodes of the class can have, with the rules of labels of this provider.
	Offerings *cloud.OfferingList
	// SKU returns the SKU of an instance type, and false if it is not known; marks of its family are then not seen.
	SKU func(instanceType string) (sku.Description, bool)
	// Unavailable are the marks of failed launches. Offerings already says which were marked when the instance types were listed; a launch
	// that has failed since then counts too. Nil means that there are none.
	Unavailable *unavailableofferings.Cache
	// Random returns a number in [0, n), each with the same probability, such as rand.IntN.
	Random func(n int) int
}

// Choice is what to launch.
type Choice struct {
	// InstanceType and Offering are parts of the list of offerings.
	InstanceType *cloud.InstanceType
	Offering     *cloud.Offering
	// Attempt is the offering as its errors are classified. It has the capacity type, and the zone as a value of the label.
	Attempt azureerrors.Attempt
	// PlacementScope is label.PlacementScopeZonal or label.PlacementScopeRegional.
	PlacementScope string
	// UltraSSD says that ultra disks are to be enabled for the virtual machine.
	UltraSSD bool
}

// Instance is what an earlier launch has made. The fields are values of labels.
type Instance struct{ Size, Zone, CapacityType string }

// Made returns the choice that an earlier launch of a NodeClaim was made with. It is false if instances of the class have no
// such offering any more; the choice then has no offering, and no instance type if the class has none of that size.
func Made(claim *v1.NodeClaim, types []*cloud.InstanceType, lookup func(string) (sku.Description, bool), i Instance) (Choice, bool) {
	in := Input{Claim: claim, SKU: lookup}
	out := Choice{
		Attempt:        azureerrors.Attempt{InstanceType: in.identity(i.Size), CapacityType: i.CapacityType, Zone: i.Zone},
		PlacementScope: zone.PlacementScope(i.Zone), UltraSSD: in.ultraSSD(),
	}
	for _, t := range types {
		if t.Name != i.Size {
			continue
		}
		out.InstanceType, out.Attempt.Zones = t, zones(t)
		for k := range t.Offerings {
			if o := &t.Offerings[k]; o.Zone() == i.Zone && o.CapacityType() == i.CapacityType {
				out.Offering = o
				return out, true
			}
		}
	}
	return out, false
}

// errNothingLeft is why a launch has no capacity.
var errNothingLeft = errors.New("no instance types available")

// Choose returns the offering to launch. If there is none, the error is an insufficient capacity error.
func Choose(in Input) (Choice, error) {
	best, marked := in.best()
	if len(best) == 0 {
		if marked > 0 {
			return Choice{}, cloud.NewInsufficientCapacityError(fmt.Errorf("%w: launches of the %d remaining offerings have just failed", errNothingLeft, marked))
		}
		return Choice{}, cloud.NewInsufficientCapacityError(fmt.Errorf("%w: %w", errNothingLeft, in.Offerings.Refusal(in.Claim)))
	}
	chosen := best[in.Random(len(best))]
	return Choice{
		InstanceType: chosen.Type, Offering: chosen.Offering,
		Attempt: azureerrors.Attempt{
			InstanceType: in.identity(chosen.Type.Name), Zones: zones(chosen.Type), CapacityType: chosen.Offering.CapacityType(), Zone: chosen.Offering.Zone(),
		},
		PlacementScope: zone.PlacementScope(chosen.Offering.Zone()),
		UltraSSD:       in.ultraSSD(),
	}, nil
}

// best returns the offerings of one instance type that come before all others and are equal but for their zone, and how many offerings were
// passed over because they are marked.
func (in *Input) best() (best []cloud.Candidate, marked int) {
	for c := range in.Offerings.Candidates(in.Claim) {
		// Candidates are in order of price.
		if len(best) > 0 && c.Offering.Price > best[0].Offering.Price {
			break
		}
		if in.marked(c) {
			marked++
			continue
		}
		order := -1
		if len(best) > 0 {
			order = compare(c, best[0])
		}
		switch {
		case order < 0:
			best = []cloud.Candidate{c}
		case order == 0:
			best = append(best, c)
		}
	}
	return best, marked
}

// compare orders offerings of one price.
func compare(a, b cloud.Candidate) int {
	return cmp.Or(
		first(a.Offering.CapacityType() == v1.CapacityTypeSpot, b.Offering.CapacityType() == v1.CapacityTypeSpot),
		first(a.Offering.Zone() != label.ZoneRegional, b.Offering.Zone() != label.ZoneRegional),
		cmp.Compare(a.Type.Name, b.Type.Name),
	)
}

// first orders what is true before what is false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// marked reports whether an offering is marked.
func (in *Input) marked(c cloud.Candidate) bool {
	return in.Unavailable != nil && in.Unavailable.IsUnavailable(in.identity(c.Type.Name), c.Offering.CapacityType(), c.Offering.Zone())
}

// identity is an instance type as marks name it.
func (in *Input) identity(instanceType string) unavailableofferings.InstanceType {
	d, ok := in.SKU(instanceType)
	if !ok {
		return unavailableofferings.InstanceType{Name: instanceType}
	}
	return Identity(&d)
}

// Identity returns a SKU as the cache of unavailable offerings knows it. All marks and look-ups have to use it, so that they agree.
func Identity(d *sku.Description) unavailableofferings.InstanceType {
	return unavailableofferings.InstanceType{Name: d.Name, Family: d.Family, VCPUs: int(d.VCPUs)}
}

// zones are the zones of all offerings of a type, in order, the one for regional placement included.
func zones(t *cloud.InstanceType) []string {
	var out []string
	for i := range t.Offerings {
		out = append(out, t.Offerings[i].Zone())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ultraSSD reports whether the claim demands ultra disks. That nodes may have them is not enough, because they cost extra.
func (in *Input) ultraSSD() bool {
	want := cloud.Requirements(in.Claim.Spec.Requirements, label.Rules()).Get(label.SKUUltraSSD)
	return want.Has(label.True) && !want.Has(label.False)
}
