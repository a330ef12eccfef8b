package provisioning

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// trickle is pods of 0.9 and 3.5 cores that are created in groups over a minute, one group after each period. Their NodeClaims are
// launched at once as the cheapest instance type, and the pods wait for their nodes for longer than a minute, as they do at a cloud.
type trickle struct {
	*harness
	types []*cloud.InstanceType
	// cores are those of each launched NodeClaim.
	cores map[string]int64
}

// trickleTypes are instance types with 1 to 256 cores, 8 pods per core, and a price per core that is the same for all.
func trickleTypes() (out []*cloud.InstanceType) {
	for _, cores := range []int{1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256} {
		it := sized(fmt.Sprint(cores), cores, 4*cores)
		it.Capacity[corev1.ResourcePods] = fakecluster.Resources("pods", fmt.Sprint(8*cores))[corev1.ResourcePods]
		out = append(out, it)
	}
	return out
}

// launch launches the new NodeClaims.
func (w *trickle) launch() {
	claims := w.claims()
	for i := range claims {
		claim := &claims[i]
		if w.cores[claim.Name] > 0 {
			continue
		}
		it := w.cheapest(claim)
		w.cores[claim.Name] = it.Capacity.Cpu().Value()
		claim.Labels[corev1.LabelInstanceTypeStable] = it.Name
		claim.Labels[corev1.LabelTopologyZone] = "zone-1"
		claim.Labels[v1.CapacityTypeLabelKey] = v1.CapacityTypeOnDemand
		claim.Status.ProviderID = "test://" + claim.Name
		claim.Status.Capacity, claim.Status.Allocatable = it.Capacity, it.Allocatable()
		condition.For(claim, time.Now()).True(v1.ConditionTypeLaunched)
		w.store.UpdateNodeClaim(claim)
	}
}

// cheapest is the first of the types, which are in order of their prices, that a NodeClaim allows.
func (w *trickle) cheapest(claim *v1.NodeClaim) *cloud.InstanceType {
	for _, r := range claim.Spec.Requirements {
		if r.Key != corev1.LabelInstanceTypeStable {
			continue
		}
		for _, it := range w.types {
			if slices.Contains(r.Values, it.Name) {
				return it
			}
		}
	}
	w.Fatalf("NodeClaim %s allows no known instance type", claim.Name)
	return nil
}

// TestPodsThatTrickleInShareNodes: the pods need 2 200 cores, nine nodes of the largest type. A plan that packs every batch on its own
// launches five nodes for each of them, 100 in all for a group every three seconds.
func TestPodsThatTrickleInShareNodes(t *testing.T) {
	const pods = 1000
	for _, c := range []struct {
		period time.Duration
		nodes  int
		cores  int64
	}{
		{60 * time.Millisecond, 12, 2210},
		{time.Second, 14, 2215},
		{1500 * time.Millisecond, 16, 2215},
		{3 * time.Second, 28, 2240},
		{5 * time.Second, 21, 2240},
	} {
		t.Run(c.period.String(), func(t *testing.T) {
			types := trickleTypes()
			running(t, func(ws watches) { ws.w.Provider.Types = types }, func(h *harness, ws watches) {
				w := &trickle{harness: h, types: types, cores: map[string]int64{}}
				watch, groups, created := ws.of(&corev1.Pod{}), int(time.Minute/c.period), 0
				for i := range groups {
					for ; created < pods*(i+1)/groups; created++ {
						watch.Add(pendingPod(fmt.Sprint("pod-", created), asking([]string{"900m", "3500m"}[created%2])))
					}
					advance(c.period)
					w.launch()
				}
				advance(15 * time.Second)
				w.launch()
				sum := int64(0)
				for _, cores := range w.cores {
					sum += cores
				}
				t.Logf("%d nodes with %d cores in %d passes", len(w.cores), sum, w.passes())
				if len(w.cores) > c.nodes || sum > c.cores {
					t.Errorf("%d nodes with %d cores, want at most %d with %d", len(w.cores), sum, c.nodes, c.cores)
				}
				if sum < 2200 {
					t.Errorf("%d cores, want at least the 2200 of the pods", sum)
				}
			}, readyPool("default"))
		})
	}
}
