package view_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// scarce is the simulated cloud with one instance type, of which one offering can be launched and two cannot.
type scarce struct{ cloud.Provider }

func (s scarce) InstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	types, err := s.Provider.InstanceTypes(ctx, pool)
	if err != nil {
		return nil, err
	}
	box := *types[0]
	box.Name, box.Offerings = "box", nil
	for _, o := range [][2]string{{"a", v1.CapacityTypeOnDemand}, {"b", v1.CapacityTypeOnDemand}, {"c", v1.CapacityTypeSpot}} {
		box.Offerings = append(box.Offerings, cloud.Offering{
			Price: 1, Available: o[0] == "a",
			Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelTopologyZone, o[0]), cloud.In(v1.CapacityTypeLabelKey, o[1])},
		})
	}
	return append(types, &box), nil
}

// until says that spot is unavailable until a moment, for one of the NodePools.
type until struct {
	end time.Time
	err error
}

func (u until) Unavailability(context.Context, *v1.NodePool) (func(*cloud.InstanceType, *cloud.Offering) cloud.Unavailability, error) {
	return func(_ *cloud.InstanceType, o *cloud.Offering) cloud.Unavailability {
		if o.CapacityType() == v1.CapacityTypeSpot {
			return cloud.Unavailability{Until: u.end, Why: "insufficient capacity"}
		}
		return cloud.Unavailability{}
	}, u.err
}

// TestUnavailableOfferings: what is known of their end comes first, and what is not known is said.
func TestUnavailableOfferings(t *testing.T) {
	end := noon().Add(3 * time.Minute)
	for name, test := range map[string]struct {
		reader  cloud.UnavailabilityReader
		want    string
		unknown string
	}{
		"known":           {until{end: end}, "box c spot 12:03 insufficient capacity, box b on-demand", ""},
		"failed":          {until{end: end, err: errors.New("the class is gone")}, "box b on-demand, box c spot", "the class is gone"},
		"not implemented": {nil, "box b on-demand, box c spot", "cloud provider kwok does not say"},
	} {
		cluster := shop(t)
		cluster.state.Cloud.Provider = scarce{cluster.state.Cloud.Provider}
		cluster.state.Cloud.Unavailability = test.reader
		pools, err := view.New(cluster, nil, clock.RealClock{}).Pools(t.Context(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		p := pools.Pools[0]
		var got []string
		for _, o := range p.Unavailable {
			text := strings.Join([]string{o.InstanceType, o.Zone, o.CapacityType}, " ")
			if o.Until != nil {
				text += o.Until.Format(" 15:04")
			}
			got = append(got, strings.TrimSpace(text+" "+o.Why))
		}
		if strings.Join(got, ", ") != test.want || p.UnavailableCount != 2 {
			t.Errorf("%s: %q, %d in all", name, got, p.UnavailableCount)
		}
		said := slices.ContainsFunc(pools.Unknown, func(s string) bool { return strings.HasPrefix(s, "until when offerings are unavailable") })
		if said != (test.unknown != "") || !strings.Contains(strings.Join(pools.Unknown, "\n"), test.unknown) {
			t.Errorf("%s: unknown %q", name, pools.Unknown)
		}
	}
}
