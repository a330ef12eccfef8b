package solve

import (
	"math"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// offeredIn leaves an instance type only the offering of one zone.
func offeredIn(zone int, it *catalog.InstanceType) *catalog.InstanceType {
	it.Offerings = it.Offerings[zone : zone+1]
	return it
}

// TestTheDomainOfASpreadIsTheCheapestForItsPods: a core costs less in zone a, where there are large nodes only.
func TestTheDomainOfASpreadIsTheCheapestForItsPods(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pods  int
		price float64
	}{
		{"one pod takes the small node", 1, 0.25},
		{"two pods take a small and a medium node", 2, 0.85},
		{"many pods fill nodes of all zones", 48, 2.00 + 16*0.25 + 8*0.60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := shape(1900, gi)
			s.Spreads = []topology.Spread{spreadOver(zoneKey, 100, "web")}
			all := pods(tt.pods, s)
			for _, p := range all {
				p.Labels = &model.Labels{Namespace: "default", Values: map[string]string{"app": "web"}}
			}
			in := problem(all, pool("default",
				offeredIn(0, instanceType("large", 32, 128, 2.00)),
				offeredIn(1, instanceType("small", 2, 8, 0.25)),
				offeredIn(2, instanceType("medium", 4, 16, 0.60))))
			if got := solveWith(in, place.Strategy{}).Price(); math.Abs(got-tt.price) > 1e-9 {
				t.Errorf("$%.2f/h, want $%.2f/h", got, tt.price)
			}
		})
	}
}
