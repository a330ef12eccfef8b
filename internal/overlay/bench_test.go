package overlay_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

// BenchmarkEvaluate evaluates fifty overlays against twenty pools of a real region.
func BenchmarkEvaluate(b *testing.B) {
	c, err := kwok.New(nil, kwok.Options{Catalog: "aws/us-east-1"})
	if err != nil {
		b.Fatal(err)
	}
	types, err := c.Provider.InstanceTypes(b.Context(), &v1.NodePool{})
	if err != nil {
		b.Fatal(err)
	}
	var pools []overlay.Pool
	for i := range 20 {
		pools = append(pools, pool(fmt.Sprintf("pool-%d", i), map[string]string{"example.com/team": fmt.Sprint(i % 3)}, types...))
	}
	var list []*v1alpha1.NodeOverlay
	for i := range 50 {
		list = append(list, named(fmt.Sprintf("overlay-%d", i), weight(int32(i+1)), adjust("-1%"), capacityType("spot"),
			where(kwok.LabelInstanceCPU, corev1.NodeSelectorOpIn, fmt.Sprint(1<<(i%8))), in("example.com/team", fmt.Sprint(i%3))))
	}
	b.Run("judge", func(b *testing.B) {
		for b.Loop() {
			overlay.Evaluate(list, pools, c.Labels)
		}
	})
	b.Run("apply", func(b *testing.B) {
		corrections, _ := overlay.Evaluate(list, pools, c.Labels)
		for b.Loop() {
			corrections.Apply("pool-1", types)
		}
	})
}
