package provider_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// TestAPoolThatRunsOutInTheMiddleIsLeftAlone lets several claims share a fleet that gets less from the best pool than it asks for: that one
// of them got the last instance there does not mean that there are more.
func TestAPoolThatRunsOutInTheMiddleIsLeftAlone(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.create(w.claim()) // the launch template is there
	best := awstest.Pool{InstanceType: "m5.large", Zone: w.account.Instances()[0].Zone, CapacityType: "on-demand"}
	const together = 6
	w.account.Leave(best, together/2)
	w.account.Forget()
	var all sync.WaitGroup
	for range together {
		claim := w.claim()
		all.Go(func() {
			if _, err := w.Create(t.Context(), claim); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var zones []string
	for _, i := range w.account.Instances()[1:] {
		zones = append(zones, i.Zone)
	}
	if in := len(slices.DeleteFunc(slices.Clone(zones), func(zone string) bool { return zone != best.Zone })); len(zones) != together || in != together/2 {
		t.Fatalf("launched in %q, want half of %d in %s", zones, together, best.Zone)
	}
	types, err := w.InstanceTypes(t.Context(), w.pool)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range types {
		for _, o := range it.Offerings {
			if it.Name == best.InstanceType && o.Zone() == best.Zone && o.CapacityType() == best.CapacityType && o.Available {
				t.Errorf("%s in %s is offered although it has run out", it.Name, o.Zone())
			}
		}
	}
	w.account.Forget()
	w.create(w.claim())
	for key, value := range w.account.Calls("CreateFleet")[0].Parameters {
		if strings.HasSuffix(key, ".AvailabilityZone") && value == best.Zone {
			t.Errorf("the next launch asks for %s again", value)
		}
	}
}
