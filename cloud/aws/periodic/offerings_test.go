package periodic_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/periodic"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// typeOf is a type with offerings.
func typeOf(name string, offerings ...cloud.Offering) *cloud.InstanceType {
	return &cloud.InstanceType{Name: name, Offerings: offerings}
}

// offering is an offering with a price.
func offering(capacityType, zone string, price float64, available bool) cloud.Offering {
	return cloud.Offering{
		Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(v1.CapacityTypeLabelKey, capacityType), cloud.In(corev1.LabelTopologyZone, zone)},
		Price:        price, Available: available,
	}
}

// show lists the types of pools once and compares the metrics after that.
type show struct {
	*periodic.Offerings
	t       *testing.T
	metrics *telemetry.Metrics
	types   map[string][]*cloud.InstanceType
}

func newShow(t *testing.T, reserves bool, pools ...string) *show {
	t.Helper()
	c := apiserver.New().Build()
	for _, name := range append(pools, "foreign") {
		p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Name: name}
		if err := c.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	s := &show{t: t, metrics: telemetry.NewMetrics(prometheus.NewRegistry()), types: map[string][]*cloud.InstanceType{"foreign": {typeOf("foreign", offering("spot", "a", 1, true))}}}
	s.Offerings = periodic.NewOfferings(periodic.OfferingsOptions{
		Types: func(_ context.Context, p *v1.NodePool) ([]*cloud.InstanceType, error) {
			types, ok := s.types[p.Name]
			if !ok {
				return nil, errors.New("no types")
			}
			return types, nil
		},
		Client: c, Reserves: reserves, Metrics: s.metrics, Manages: func(ref *v1.NodeClassReference) bool { return ref.Name != "foreign" },
	})
	return s
}

// expect compares the series; a line has type, capacity type, zone, whether it is available, and the price, which
// may be unknown.
func (s *show) expect(lines string) {
	s.t.Helper()
	var available, price strings.Builder
	available.WriteString("# HELP karpenter_cloudprovider_instance_type_offering_available 1 when the offering is available to a NodePool, else 0.\n# TYPE karpenter_cloudprovider_instance_type_offering_available gauge\n")
	price.WriteString("# HELP karpenter_cloudprovider_instance_type_offering_price_estimate Hourly price of the offering, in the currency of the region.\n# TYPE karpenter_cloudprovider_instance_type_offering_price_estimate gauge\n")
	for line := range strings.Lines(lines) {
		f := strings.Fields(line)
		if len(f) != 5 {
			continue
		}
		labels := `{capacity_type="` + f[1] + `",instance_type="` + f[0] + `",zone="` + f[2] + `"} `
		available.WriteString("karpenter_cloudprovider_instance_type_offering_available" + labels + f[3] + "\n")
		if f[4] != "unknown" {
			price.WriteString("karpenter_cloudprovider_instance_type_offering_price_estimate" + labels + f[4] + "\n")
		}
	}
	if err := testutil.CollectAndCompare(s.metrics.OfferingAvailable, strings.NewReader(available.String())); err != nil {
		s.t.Error(err)
	}
	if err := testutil.CollectAndCompare(s.metrics.OfferingPrice, strings.NewReader(price.String())); err != nil {
		s.t.Error(err)
	}
}

func TestOfferingsOfAllPools(t *testing.T) {
	t.Attr("covers", "A351 N340")
	s := newShow(t, false, "one", "two", "broken")
	s.types["one"] = []*cloud.InstanceType{
		typeOf("m5.large", offering("on-demand", "a", 0.1, true), offering("spot", "a", 0.03, false), offering("spot", "b", 0.04, false), offering("reserved", "a", 0.00001, true)),
	}
	s.types["two"] = []*cloud.InstanceType{
		typeOf("m5.large", offering("on-demand", "a", 0.1, false), offering("spot", "a", 0.03, true), offering("spot", "b", 0.04, false)),
		typeOf("c5.large", offering("on-demand", "a", 0.08, true), offering("on-demand", "a", 0.08, false)),
	}
	if err := s.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), `nodepool "broken"`) {
		t.Errorf("a pool that fails is not told: %v", err)
	}
	s.expect(`
		c5.large on-demand a 1 0.08
		m5.large on-demand a 1 0.1
		m5.large spot a 1 0.03
		m5.large spot b 0 0.04`)
	s.types["two"] = nil
	_ = s.Refresh(t.Context())
	s.expect(`
		m5.large on-demand a 1 0.1
		m5.large spot a 0 0.03
		m5.large spot b 0 0.04`)
}

// TestUnknownPricesAreNotShown checks that an offering without a price, which is unavailable, does not look free.
func TestUnknownPricesAreNotShown(t *testing.T) {
	t.Attr("covers", "A351")
	s := newShow(t, false, "one", "two")
	s.types["one"] = []*cloud.InstanceType{typeOf("m5.large", offering("spot", "a", 0, false), offering("spot", "b", 0.04, true), offering("on-demand", "a", 0, false))}
	s.types["two"] = []*cloud.InstanceType{typeOf("m5.large", offering("spot", "a", 0, false), offering("spot", "b", 0, false))}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.expect(`
		m5.large on-demand a 0 unknown
		m5.large spot a 0 unknown
		m5.large spot b 1 0.04`)
}

func TestReservedOfferingsShowOnlyWithTheFeature(t *testing.T) {
	t.Attr("covers", "A351")
	s := newShow(t, true, "one", "two")
	s.types["one"] = []*cloud.InstanceType{
		typeOf("m5.large", offering("reserved", "a", 0.00001, true), offering("on-demand", "a", 0.1, true), offering("on-demand", "b", 0.1, true)),
		typeOf("c5.large", offering("on-demand", "a", 0.08, true)),
	}
	s.types["two"] = []*cloud.InstanceType{typeOf("m5.large", offering("on-demand", "a", 0.1, true))}
	if err := s.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
	s.expect(`
		c5.large on-demand a 1 0.08
		c5.large reserved a 0 0
		m5.large on-demand a 1 0.1
		m5.large on-demand b 1 0.1
		m5.large reserved a 1 1e-05
		m5.large reserved b 0 0`)
}
