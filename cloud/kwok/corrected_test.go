package kwok

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

const large = "m-32x-amd64-linux"

// corrected returns, for the pool "pool", the large type without a price and with a device.
func corrected(pool string, types []*cloud.InstanceType) ([]*cloud.InstanceType, error) {
	if pool != "pool" {
		return nil, cloud.NewUnevaluatedNodePoolError(pool)
	}
	out := make([]*cloud.InstanceType, len(types))
	for i, t := range types {
		if out[i] = t; t.Name != large {
			continue
		}
		free := *t
		free.Capacity = t.Capacity.DeepCopy()
		free.Capacity["example.com/device"] = resource.MustParse("1")
		free.Offerings = append([]cloud.Offering{}, t.Offerings...)
		for k := range free.Offerings {
			free.Offerings[k].Price = 0
		}
		out[i] = &free
	}
	return out, nil
}

func TestLaunchesFollowCorrections(t *testing.T) {
	w := newWorld(t, Options{})
	launch := func(claim *v1.NodeClaim) (string, *v1.NodeClaim) {
		t.Helper()
		got, err := w.cloud.Provider.Create(t.Context(), claim)
		if err != nil {
			return err.Error(), nil
		}
		return got.Labels[corev1.LabelInstanceTypeStable], got
	}
	if name, _ := launch(w.claim()); name == large {
		t.Fatal("the large type is the cheapest before any correction")
	}
	w.cloud.UseCorrection(corrected)
	for range 2 {
		name, got := launch(w.claim())
		if name != large || got.Status.Allocatable.Name("example.com/device", resource.DecimalSI).Value() != 1 {
			t.Errorf("launched %s with %v, want the corrected type with its device", name, got)
		}
	}
	elsewhere := w.claim()
	elsewhere.Labels[v1.NodePoolLabelKey] = "elsewhere"
	if _, err := w.cloud.Provider.Create(t.Context(), elsewhere); !cloud.IsUnevaluatedNodePool(err) {
		t.Errorf("a claim of a pool that is not settled: %v, want the typed error", err)
	}
	nobodys := w.claim()
	delete(nobodys.Labels, v1.NodePoolLabelKey)
	if name, _ := launch(nobodys); name == large {
		t.Error("a claim of no pool was launched with corrections")
	}
}
