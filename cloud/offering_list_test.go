package cloud_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// stall is an instance type with offerings written as "zone capacity-type".
func stall(name, arch, cpu string, prices map[string]float64) *cloud.InstanceType {
	t := &cloud.InstanceType{
		Name:     name,
		Capacity: list("cpu", cpu, "memory", "8Gi"),
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(corev1.LabelInstanceTypeStable, name), cloud.In(corev1.LabelArchStable, arch),
			cloud.In(corev1.LabelOSStable, "linux"), cloud.DoesNotExist(corev1.LabelTopologyRegion),
		},
	}
	for spec, price := range prices {
		zone, capacityType, _ := strings.Cut(spec, " ")
		t.Offerings = append(t.Offerings, cloud.Offering{
			Price: price, Available: true,
			Requirements: []v1.NodeSelectorRequirementWithMinValues{
				cloud.In(corev1.LabelTopologyZone, zone), cloud.In(v1.CapacityTypeLabelKey, capacityType),
			},
		})
	}
	return t
}

func market() []*cloud.InstanceType {
	types := []*cloud.InstanceType{
		stall("small", "amd64", "2", map[string]float64{"a spot": 0.3, "b spot": 0.3, "a on-demand": 1}),
		stall("arm", "arm64", "2", map[string]float64{"a spot": 0.3, "b on-demand": 0.9}),
		stall("large", "amd64", "8", map[string]float64{"a on-demand": 4, "b on-demand": 4}),
		stall("bare", "amd64", "8", nil),
		stall("gone", "amd64", "2", map[string]float64{"a spot": 0.1}),
		stall("reserved", "amd64", "2", map[string]float64{"a reserved": 0}),
	}
	types[4].Offerings[0].Available = false
	return types
}

func candidates(m *cloud.OfferingList, claim *v1.NodeClaim) []string {
	var out []string
	for c := range m.Candidates(claim) {
		out = append(out, c.Type.Name+" "+c.Offering.Zone()+" "+c.Offering.CapacityType())
	}
	return out
}

func TestCandidatesAreCompatibleAvailableAndOrdered(t *testing.T) {
	tests := []struct {
		name     string
		reqs     []v1.NodeSelectorRequirementWithMinValues
		requests corev1.ResourceList
		want     []string
	}{
		{
			name: "everything, by price and then by name",
			want: []string{
				"arm a spot", "small a spot", "small b spot", "arm b on-demand", "small a on-demand",
				"large a on-demand", "large b on-demand",
			},
		},
		{
			name: "the offering's labels count",
			reqs: []v1.NodeSelectorRequirementWithMinValues{
				cloud.In(corev1.LabelTopologyZone, "b"), cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand),
			},
			want: []string{"arm b on-demand", "large b on-demand"},
		},
		{
			name: "the type's labels count, under their old keys too",
			reqs: []v1.NodeSelectorRequirementWithMinValues{cloud.In("beta.kubernetes.io/arch", "arm64")},
			want: []string{"arm a spot", "arm b on-demand"},
		},
		{
			name:     "requests have to fit",
			requests: list("cpu", "3"),
			want:     []string{"large a on-demand", "large b on-demand"},
		},
		{
			name:     "a request of nothing fits anywhere",
			reqs:     []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelInstanceTypeStable, "large")},
			requests: list("nvidia.com/gpu", "0"),
			want:     []string{"large a on-demand", "large b on-demand"},
		},
		{
			name:     "a resource that no type has",
			requests: list("nvidia.com/gpu", "1"),
		},
		{
			name: "labels of the user's own are no obstacle",
			reqs: []v1.NodeSelectorRequirementWithMinValues{
				cloud.In("example.com/team", "a"), cloud.In(corev1.LabelInstanceTypeStable, "arm"),
			},
			want: []string{"arm a spot", "arm b on-demand"},
		},
		{
			name: "a label that no type has",
			reqs: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelTopologyRegion, "north")},
		},
	}
	rules := v1.CoreLabelRules()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}
			claim.Spec.Requirements = tt.reqs
			claim.Spec.Resources.Requests = tt.requests
			types := market()
			if d := cmp.Diff(tt.want, candidates(cloud.NewOfferingList(types, rules), claim)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			slices.Reverse(types)
			if d := cmp.Diff(tt.want, candidates(cloud.NewOfferingList(types, rules), claim)); d != "" {
				t.Errorf("with the catalogue reversed (-want +got):\n%s", d)
			}
		})
	}
}

// TestInternalLabels: a NodeClaim can have types with labels that it cannot name, if they are registered.
func TestInternalLabels(t *testing.T) {
	const key = v1.Group + "/internal"
	types := []*cloud.InstanceType{stall("small", "amd64", "2", map[string]float64{"a spot": 1})}
	types[0].Requirements = append(types[0].Requirements, cloud.In(key, "a"))
	rules := v1.CoreLabelRules()
	if got := candidates(cloud.NewOfferingList(types, rules), &v1.NodeClaim{}); got != nil {
		t.Errorf("a label that is not registered: %q", got)
	}
	rules.Internal = map[string]bool{key: true}
	if got := candidates(cloud.NewOfferingList(types, rules), &v1.NodeClaim{}); !slices.Equal(got, []string{"small a spot"}) {
		t.Errorf("a label that is registered: %q", got)
	}
}

func TestReservedOfferingsRunOut(t *testing.T) {
	t.Attr("covers", "N235")
	types := market()
	claim := &v1.NodeClaim{}
	claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelInstanceTypeStable, "reserved")}
	if got := candidates(cloud.NewOfferingList(types, v1.CoreLabelRules()), claim); got != nil || !types[5].Offerings[0].Available {
		t.Errorf("a used-up reservation is offered, %q, or called unhealthy", got)
	}
	types[5].Offerings[0].ReservationCapacity = 1
	if got := candidates(cloud.NewOfferingList(types, v1.CoreLabelRules()), claim); !slices.Equal(got, []string{"reserved a reserved"}) {
		t.Errorf("got %q", got)
	}
}

func TestOverridesDecideWhatFits(t *testing.T) {
	types := []*cloud.InstanceType{stall("small", "amd64", "2", map[string]float64{"a spot": 1})}
	claim := &v1.NodeClaim{}
	claim.Spec.Resources.Requests = list("nvidia.com/gpu", "1")
	if got := candidates(cloud.NewOfferingList(types, v1.CoreLabelRules()), claim); got != nil {
		t.Fatalf("fits without the override: %q", got)
	}
	types[0].Offerings[0].CapacityOverride = list("nvidia.com/gpu", "1")
	if got := candidates(cloud.NewOfferingList(types, v1.CoreLabelRules()), claim); len(got) != 1 {
		t.Errorf("does not fit with the override: %q", got)
	}
}

func TestRefusalCountsWhatStoodInTheWay(t *testing.T) {
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim-1"}}
	claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelArchStable, "amd64")}
	claim.Spec.Resources.Requests = list("cpu", "100")
	got := cloud.NewOfferingList(market(), v1.CoreLabelRules()).Refusal(claim).Error()
	want := `no offering can be launched for nodeclaim "claim-1": of 9 offerings of 6 instance types, ` +
		`2 do not meet its requirements, 2 are unavailable, 5 are smaller than its requests`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
