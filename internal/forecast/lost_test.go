package forecast

import (
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// TestPodsWithoutAControllerAreLost: the forecast creates them again, and no controller does.
func TestPodsWithoutAControllerAreLost(t *testing.T) {
	r := &run{}
	bare := simulation.Owner{Kind: "Pod", Namespace: "shop", Name: "bare"}
	r.out.Commands = []Command{{Moves: map[simulation.Owner]int{bare: 1, {Kind: "Deployment", Namespace: "shop", Name: "web"}: 2}}}
	lostPods(r)
	want := []string{"1 pod that has to move has no controller (shop/bare): it is lost with its node, although the forecast lets it run elsewhere"}
	if !slices.Equal(r.out.Notes, want) {
		t.Errorf("%q, want %q", r.out.Notes, want)
	}
}
