package shadow_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cost"
	"github.com/karpenter-anew/karpenter/internal/shadow"
)

// priced is a table with one price per instance type.
func priced(prices map[string]float64) shadow.Prices {
	var list []*cloud.InstanceType
	for name, price := range prices {
		list = append(list, &cloud.InstanceType{Name: name, Offerings: []cloud.Offering{{
			Price: price, Available: true, Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelTopologyZone, "a"), cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand)},
		}}})
	}
	return func(string) cost.Prices { return cost.PricesOf(list) }
}

func fleetOf(instanceTypes ...string) []client.Object {
	var out []client.Object
	for i, instanceType := range instanceTypes {
		_, claim := claimed(fmt.Sprintf("%s-%d", instanceType, i), "default", "")
		claim.UID = types.UID(claim.Name)
		claim.Labels[corev1.LabelInstanceTypeStable], claim.Labels[corev1.LabelTopologyZone] = instanceType, "a"
		claim.Labels[v1.CapacityTypeLabelKey] = v1.CapacityTypeOnDemand
		out = append(out, claim)
	}
	return out
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestFleetsAreMeasuredOverTime(t *testing.T) {
	c := shadow.NewComparison(priced(map[string]float64{"small": 1, "large": 2}))
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	c.Measure(shadow.ClusterOf(fleetOf("small", "large")), shadow.ClusterOf(fleetOf("small", "large")), now)
	c.Measure(shadow.ClusterOf(fleetOf("small", "large")), shadow.ClusterOf(fleetOf("small")), now.Add(time.Hour))
	c.Measure(shadow.ClusterOf(fleetOf("small", "large", "unheard-of")), shadow.ClusterOf(fleetOf("small")), now.Add(2*time.Hour))
	r := c.Report(map[string]int{"pods of pod groups": 2}, []string{"drift by node classes"})
	near(t, "dollars of the incumbent", r.Incumbent.Dollars, 6)
	near(t, "dollars of the shadow", r.Shadow.Dollars, 4)
	near(t, "node hours", r.Incumbent.NodeHours, 4)
	near(t, "agreement now", r.Agreement, 2.0/4)
	near(t, "agreement", r.AverageAgreement, (1+2.0/3)/2)
	if r.Incumbent.Launched != 1 || r.Shadow.Removed != 1 || r.Incumbent.UnknownPrices != 1 || r.Shadow.Launched != 0 {
		t.Errorf("counted %+v and %+v", r.Incumbent, r.Shadow)
	}
	text := r.Text()
	for _, want := range []string{"The shadow fleet cost -33.3 %.", "drift by node classes", "left out: 2 pods of pod groups", "50 % of nodes are the same now"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}

func TestAPriceThatIsNotKnownForbidsTheComparison(t *testing.T) {
	c := shadow.NewComparison(priced(map[string]float64{"small": 1}))
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for i := range 2 {
		c.Measure(shadow.ClusterOf(fleetOf("small", "unheard-of")), shadow.ClusterOf(fleetOf("small")), now.Add(time.Duration(i)*time.Hour))
	}
	text := c.Report(nil, nil).Text()
	if strings.Contains(text, "cost") || !strings.Contains(text, "without a price") {
		t.Errorf("the text is\n%s", text)
	}
}

func TestWaitsAreMeasured(t *testing.T) {
	c := shadow.NewComparison(priced(nil))
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	waiting, running := pod("a", ""), pod("a", "n")
	gone := pod("gone", "")
	for i, real := range [][]client.Object{{waiting, gone}, {waiting}, {running}} {
		c.Measure(shadow.ClusterOf(real), shadow.ClusterOf([]client.Object{running}), now.Add(time.Duration(i)*10*time.Second))
	}
	r := c.Report(nil, nil)
	if w := r.Incumbent.Waits; w.Pods != 1 || w.Longest != 20 || w.P95 != 20 || w.Mean != 20 {
		t.Errorf("waits of the incumbent: %+v", w)
	}
	if r.Shadow.Waits.Pods != 0 {
		t.Errorf("a pod that was bound when it was first seen has waited: %+v", r.Shadow.Waits)
	}
}

func TestASeriesStaysBounded(t *testing.T) {
	c := shadow.NewComparison(priced(nil))
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for i := range 10_000 {
		c.Measure(shadow.ClusterOf(nil), shadow.ClusterOf(nil), now.Add(time.Duration(i)*time.Second))
	}
	points := c.Report(nil, nil).Series
	if len(points) > 1000 || len(points) < 400 {
		t.Fatalf("%d points", len(points))
	}
	for i := 1; i < len(points); i++ {
		if d := points[i].At.Sub(points[i-1].At); d != points[1].At.Sub(points[0].At) {
			t.Fatalf("point %d is %s after the one before, others %s", i, d, points[1].At.Sub(points[0].At))
		}
	}
}
