package disruption

import (
	"errors"
	"log/slog"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

func candidate(instanceType, zone, capacityType string) disrupt.Candidate {
	return disrupt.Candidate{Node: &model.Node{Pool: "pool", Labels: map[string]string{
		corev1.LabelInstanceTypeStable: instanceType, corev1.LabelTopologyZone: zone, v1.CapacityTypeLabelKey: capacityType,
	}}}
}

func TestPrices(t *testing.T) {
	t.Attr("covers", "C441")
	types := []*cloud.InstanceType{instanceType("small", 2), instanceType("odd", math.NaN())}
	for _, tt := range []struct {
		name      string
		candidate disrupt.Candidate
		want      float64
	}{
		{"the offering the node was bought as counts, even if it is not available", candidate("small", "zone-1", "on-demand"), 2},
		{"an unknown type has no price", candidate("huge", "zone-1", "on-demand"), 0},
		{"another zone has no price", candidate("small", "zone-2", "on-demand"), 0},
		{"another capacity type has no price", candidate("small", "zone-1", "spot"), 0},
		{"a price that is no number is none", candidate("odd", "zone-1", "on-demand"), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPrices(&provider{types: types}, slog.New(slog.DiscardHandler))
			list := []disrupt.Candidate{tt.candidate}
			p.set(t.Context(), map[string]*v1.NodePool{"pool": {}}, list)
			if list[0].Price != tt.want {
				t.Errorf("got %v, want %v", list[0].Price, tt.want)
			}
		})
	}
}

func TestLastKnownPricesAreUsedWhileTheProviderFails(t *testing.T) {
	source := &provider{types: []*cloud.InstanceType{instanceType("small", 2)}}
	p := newPrices(source, slog.New(slog.DiscardHandler))
	pools := map[string]*v1.NodePool{"pool": {}}
	pools["pool"].Name = "pool"
	now := func() float64 {
		list := []disrupt.Candidate{candidate("small", "zone-1", "on-demand")}
		p.set(t.Context(), pools, list)
		return list[0].Price
	}
	if got := now(); got != 2 {
		t.Fatalf("got %v, want 2", got)
	}
	source.types, source.err = nil, errors.New("throttled")
	if got := now(); got != 2 {
		t.Errorf("after an error: got %v, want 2", got)
	}
	source.err = nil
	if got := now(); got != 2 {
		t.Errorf("after an empty list: got %v, want 2", got)
	}
	p.set(t.Context(), nil, nil)
	if got := now(); got != 0 {
		t.Errorf("after the pool was gone: got %v, want 0", got)
	}
}
