package instancetype_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
)

func TestOfferings(t *testing.T) {
	t.Attr("covers", "A240")
	it := instancetype.Resolve(input(t, "m5.large"))
	var all []string
	for _, o := range it.Offerings {
		all = append(all, fmt.Sprintf("%s %s %s %g", o.CapacityType(), o.Zone(), o.Label(awsv1.LabelZoneID), o.Price))
	}
	want := []string{
		"on-demand us-east-1a use1-az1 0.096", "spot us-east-1a use1-az1 0.03", "on-demand us-east-1b use1-az2 0.096", "spot us-east-1b use1-az2 0",
		"on-demand us-east-1c  0.096", "spot us-east-1c  0.04", "on-demand us-east-1-bos-1a  0.096", "spot us-east-1-bos-1a  0",
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"on-demand us-east-1a", "spot us-east-1a", "on-demand us-east-1b"}, available(it)); diff != "" {
		t.Errorf("available (-want +got)\n%s", diff)
	}
}

func TestAvailability(t *testing.T) {
	t.Attr("covers", "A241 A242 A249 A250 A251 A253")
	usual := []string{"on-demand us-east-1a", "spot us-east-1a", "on-demand us-east-1b"}
	for _, test := range []struct {
		name   string
		change func(*instancetype.Input)
		want   []string
	}{
		{"spot with a price", func(in *instancetype.Input) { in.Market.Spot["us-east-1b"] = 0.05 }, []string{"on-demand us-east-1a", "spot us-east-1a", "on-demand us-east-1b", "spot us-east-1b"}},
		{"no price", func(in *instancetype.Input) { in.Market.OnDemand, in.Market.Spot = 0, nil }, nil},
		{"a price of the user's", func(in *instancetype.Input) { in.Market.OnDemand, in.Market.Spot, in.Market.Overlay = 0, nil, 1 }, []string{"on-demand us-east-1a", "spot us-east-1a", "on-demand us-east-1b", "spot us-east-1b"}},
		{"one pool is exhausted", func(in *instancetype.Input) {
			in.Market.Exhausted = func(p instancetype.Pool) bool {
				return p == instancetype.Pool{CapacityType: "spot", Zone: "us-east-1a"}
			}
		}, []string{"on-demand us-east-1a", "on-demand us-east-1b"}},
		{"a zone is shifted", func(in *instancetype.Input) { in.Market.ShiftedZoneIDs = []string{"use1-az1"} }, usual[2:]},
		{"a pool in a group that the class does not have", func(in *instancetype.Input) {
			in.Market.Exhausted = func(p instancetype.Pool) bool { return p.PlacementGroup == "pg-1" }
		}, usual},
		{"a pool in the group of the class", func(in *instancetype.Input) {
			in.Class.PlacementGroup = &instancetype.PlacementGroup{ID: "pg-1", Strategy: "cluster"}
			in.Market.Exhausted = func(p instancetype.Pool) bool { return p.PlacementGroup == "pg-1" && p.Zone == "us-east-1b" }
		}, usual[:2]},
		{"only on-demand is offered", func(in *instancetype.Input) { in.Description.UsageClasses = []string{"on-demand", "capacity-block"} }, []string{usual[0], usual[2]}},
		{"no subnet", func(in *instancetype.Input) { in.Class.Subnets = nil }, nil},
		{"a subnet in a local zone", func(in *instancetype.Input) {
			in.Class.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "us-east-1-bos-1a"}}
			in.Market.TypeZones = append(in.Market.TypeZones, "us-east-1-bos-1a")
		}, []string{"on-demand us-east-1-bos-1a"}},
		{"a1 on AL2023", func(in *instancetype.Input) { in.Description = describe(t, "a1.large") }, nil},
		{"a1 on Bottlerocket", func(in *instancetype.Input) {
			in.Description, in.Class.Family = describe(t, "a1.large"), awsv1.FamilyBottlerocket
		}, usual},
		{"a1 on Custom", func(in *instancetype.Input) {
			in.Description, in.Class.Family = describe(t, "a1.large"), awsv1.FamilyCustom
		}, usual},
		{"interfaces that exist", interfaces(at(0, 0, "interface"), at(0, 1, "efa-only"), at(1, 7, "interface"), at(1, 0, "efa-only")), usual},
		{"more cards than there are", interfaces(at(0, 0, "interface"), at(2, 0, "interface")), nil},
		{"more places than there are", interfaces(at(0, 0, "interface"), at(1, 8, "interface")), nil},
		{"more adapters than there can be", func(in *instancetype.Input) {
			interfaces(at(0, 0, "interface"), at(0, 1, "efa-only"), at(1, 0, "efa-only"))(in)
			in.Description.Network.MaximumEFAs = 1
		}, nil},
		{"no adapters", func(in *instancetype.Input) {
			interfaces(at(0, 0, "interface"), at(0, 1, "efa-only"))(in)
			in.Description.Network.EFASupported = false
		}, nil},
		{"no ENA", func(in *instancetype.Input) {
			interfaces(at(0, 0, "interface"))(in)
			in.Description.Network.ENASupported = false
		}, nil},
		{"no network is told", func(in *instancetype.Input) {
			interfaces(at(0, 0, "interface"))(in)
			in.Description.Network = nil
		}, nil},
		{"no card is told", func(in *instancetype.Input) {
			interfaces(at(0, 0, "interface"))(in)
			in.Description.Network.Cards = nil
		}, nil},
		{"no nested virtualization", func(in *instancetype.Input) { in.Class.NestedVirtualization = true }, nil},
		{"nested virtualization", func(in *instancetype.Input) {
			in.Class.NestedVirtualization, in.Description.CPUFeatures = true, []string{"x", "nested-virtualization"}
		}, usual},
		{"no enclaves", func(in *instancetype.Input) { in.Class.Enclaves, in.Description.NitroEnclaves = true, false }, nil},
		{"enclaves", func(in *instancetype.Input) { in.Class.Enclaves, in.Description.NitroEnclaves = true, true }, usual},
		{"another strategy", func(in *instancetype.Input) {
			in.Class.PlacementGroup, in.Description.PlacementStrategies = &instancetype.PlacementGroup{ID: "pg-1", Strategy: "cluster"}, []string{"spread"}
		}, nil},
		{"connection tracking", func(in *instancetype.Input) { in.Class.TracksConnections = true }, usual},
		{"connection tracking on Xen", func(in *instancetype.Input) { in.Class.TracksConnections, in.Description.Hypervisor = true, "xen" }, nil},
		{"connection tracking on metal", func(in *instancetype.Input) { in.Class.TracksConnections, in.Description.Hypervisor = true, "" }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input(t, "m5.large")
			test.change(&in)
			it := instancetype.Resolve(in)
			if diff := cmp.Diff(test.want, available(it)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(it.Offerings) < 4 {
				t.Errorf("offerings that cannot be had are gone: %v", it.Offerings)
			}
		})
	}
}

func at(card, place int32, kind awsv1.InterfaceType) *awsv1.NetworkInterface {
	return &awsv1.NetworkInterface{NetworkCardIndex: card, DeviceIndex: place, InterfaceType: kind}
}

// interfaces configures interfaces on a type with two cards.
func interfaces(list ...*awsv1.NetworkInterface) func(*instancetype.Input) {
	return func(in *instancetype.Input) {
		in.Description.Network = twoCards()
		in.Class.NetworkInterfaces = list
	}
}

func TestListedButNotAvailable(t *testing.T) {
	t.Attr("covers", "A255")
	in := input(t, "a1.large")
	in.Market.OnDemand, in.Market.Spot = 0, nil
	it := instancetype.Resolve(in)
	if len(it.Offerings) != 8 || available(it) != nil || label(it, "topology.kubernetes.io/zone") != "-" {
		t.Errorf("got %v", it.Offerings)
	}
}

func TestReservations(t *testing.T) {
	t.Attr("covers", "A252 N230 N328")
	in := input(t, "m5.large")
	reserve := func(id, zone string, kind awsv1.CapacityReservationType, state awsv1.CapacityReservationState, interruptible bool) awsv1.CapacityReservation {
		return awsv1.CapacityReservation{ID: id, InstanceType: "m5.large", AvailabilityZone: zone, ReservationType: kind, State: state, Interruptible: interruptible}
	}
	in.Class.Reservations = []awsv1.CapacityReservation{
		reserve("cr-1", "us-east-1a", "default", "active", false), reserve("cr-2", "us-east-1a", "capacity-block", "active", false),
		reserve("cr-3", "us-east-1a", "capacity-block", "expiring", false), reserve("cr-4", "us-east-1b", "", "", true),
		reserve("cr-5", "us-east-1a", "default", "active", false), reserve("cr-6", "us-east-1c", "default", "active", false),
		{ID: "cr-7", InstanceType: "m5.xlarge", AvailabilityZone: "us-east-1a"},
	}
	in.Market.ReservationCapacity = map[string]int{"cr-1": 3, "cr-2": 1, "cr-3": 9, "cr-4": 2, "cr-6": 1, "cr-7": 1}
	it := instancetype.Resolve(in)
	var got []string
	for _, o := range it.Offerings {
		if id := o.Label(awsv1.LabelCapacityReservationID); id != "" {
			got = append(got, fmt.Sprintf("%s %s %s %s %d %g %t", id, o.Zone(), o.Label(awsv1.LabelCapacityReservationType), o.Label(awsv1.LabelCapacityReservationInterruptible), o.ReservationCapacity, o.Price, o.Available))
		}
	}
	want := []string{
		"cr-1 us-east-1a default false 3 9.6e-09 true", "cr-2 us-east-1a capacity-block false 1 9.6e-09 true", "cr-3 us-east-1a capacity-block false 9 9.6e-09 false",
		"cr-4 us-east-1b default true 2 9.6e-09 true", "cr-5 us-east-1a default false 0 9.6e-09 true", "cr-6 us-east-1c default false 1 9.6e-09 false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := label(it, awsv1.LabelCapacityReservationID); got != cloud.Requirement(awsv1.LabelCapacityReservationID, "In", []string{"cr-1", "cr-2", "cr-4", "cr-5"}, awsv1.LabelRules()).String() {
		t.Errorf("the type has the reservations %s", got)
	}
}

// TestReservationsFailOneByOne: a failed launch is about one reservation, in the placement group that it was launched into, unless the
// group takes no more instances of any.
func TestReservationsFailOneByOne(t *testing.T) {
	t.Attr("covers", "N328 N329")
	group := &instancetype.PlacementGroup{ID: "pg-1", Strategy: "spread"}
	for _, test := range []struct {
		name   string
		group  *instancetype.PlacementGroup
		failed instancetype.Pool
		want   string
	}{
		{"none", nil, instancetype.Pool{}, "cr-1 cr-2"},
		{"one", nil, instancetype.Pool{CapacityType: "reserved", Zone: "us-east-1a", Reservation: "cr-1"}, "cr-2"},
		{"on-demand", nil, instancetype.Pool{CapacityType: "on-demand", Zone: "us-east-1a"}, "cr-1 cr-2"},
		{"in another zone", nil, instancetype.Pool{CapacityType: "reserved", Zone: "us-east-1b", Reservation: "cr-1"}, "cr-1 cr-2"},
		{"in a group, which the class does not have", nil, instancetype.Pool{CapacityType: "reserved", Zone: "us-east-1a", PlacementGroup: "pg-1", Reservation: "cr-1"}, "cr-1 cr-2"},
		{"in the group of the class", group, instancetype.Pool{CapacityType: "reserved", Zone: "us-east-1a", PlacementGroup: "pg-1", Reservation: "cr-2"}, "cr-1"},
		{"a full group", group, instancetype.Pool{CapacityType: "reserved", Zone: "us-east-1a", PlacementGroup: "pg-1"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input(t, "m5.large")
			in.Class.PlacementGroup = test.group
			for _, id := range []string{"cr-1", "cr-2"} {
				in.Class.Reservations = append(in.Class.Reservations, awsv1.CapacityReservation{ID: id, InstanceType: "m5.large", AvailabilityZone: "us-east-1a", State: "active"})
			}
			in.Market.ReservationCapacity = map[string]int{"cr-1": 1, "cr-2": 1}
			in.Market.Exhausted = func(p instancetype.Pool) bool { return p == test.failed }
			var got []string
			for _, o := range instancetype.Resolve(in).Offerings {
				if o.Available && o.CapacityType() == "reserved" {
					got = append(got, o.Label(awsv1.LabelCapacityReservationID))
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPartitions(t *testing.T) {
	in := input(t, "m5.large")
	in.Class.PlacementGroup = &instancetype.PlacementGroup{ID: "pg-1", Strategy: "partition", Partitions: 11}
	in.Market.Exhausted = func(p instancetype.Pool) bool {
		return p == instancetype.Pool{CapacityType: "spot", Zone: "us-east-1a", PlacementGroup: "pg-1", Partition: "10"}
	}
	it := instancetype.Resolve(in)
	if len(it.Offerings) != 8*11 || len(available(it)) != 3*11-1 {
		t.Errorf("%d offerings, of which %d can be had", len(it.Offerings), len(available(it)))
	}
	var partitions []string
	for _, o := range it.Offerings[:11] {
		partitions = append(partitions, o.Label(awsv1.LabelPlacementGroupPartition))
	}
	if !slices.Equal(partitions, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}) {
		t.Errorf("partitions %v", partitions)
	}
	if got := label(it, awsv1.LabelPlacementGroupID); got != "pg-1" {
		t.Errorf("the group is %s", got)
	}
	if first, second := it.Offerings[0].Requirements, it.Offerings[1].Requirements; cmp.Equal(first, second) {
		t.Error("two partitions share their labels")
	}
}
