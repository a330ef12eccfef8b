package provisioning

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/costcap"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// cappedHarness is a provisioner that keeps to the caps of OperationsPolicies.
func cappedHarness(t *testing.T, objects ...client.Object) *harness {
	t.Helper()
	w := newHarness(t, objects...)
	w.Creations.Admission = costcap.New(w.API, w.Cloud, w.Time)
	return w
}

func caps(name string, c opsv1alpha1.Caps) *opsv1alpha1.OperationsPolicy {
	return &opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: opsv1alpha1.OperationsPolicySpec{Caps: &c}}
}

// big needs a node for itself.
func big(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", "3") }

// ask makes pods wait for nodes, and one pass.
func (w *harness) ask(prefix string, n int, change ...func(*corev1.Pod)) {
	var pods []*corev1.Pod
	for i := range n {
		pod := pendingPod(fmt.Sprintf("%s-%d", prefix, i), change...)
		w.Add(pod)
		pods = append(pods, pod)
	}
	w.see(pods...)
	w.decide()
}

func TestACapOfAPoolStopsLaunches(t *testing.T) {
	w := cappedHarness(t, readyPool("default"), caps("caps", opsv1alpha1.Caps{NodePool: new("0.50")}))
	w.ask("p", 4, big)
	if n := len(w.claims()); n != 2 {
		t.Errorf("%d NodeClaims for $0.20/h each, want two within $0.50/h", n)
	}
	events := strings.Join(w.eventsOf("FailedScheduling"), "\n")
	if want := "all available instance types exceed a cost cap for nodepool (NodePool=default) (ops.karpenter.sh/nodepool-cost: limit $0.50/h, used or planned $0.40/h, a limit of $0.60/h would be sufficient)"; strings.Count(events, want) != 2 {
		t.Errorf("events %q, want %q for two pods", events, want)
	}
	w.decide()
	if n := len(w.claims()); n != 2 {
		t.Errorf("%d NodeClaims after another pass: those in flight do not count", n)
	}
}

// TestPodsUseAnotherPool: a cap of one pool is no reason not to launch from the next.
func TestPodsUseAnotherPool(t *testing.T) {
	limited := caps("caps", opsv1alpha1.Caps{NodePool: new("0.20")})
	limited.Spec.NodePoolSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "first"}}
	w := cappedHarness(t, limited, readyPool("other"), readyPool("first", func(p *v1.NodePool) {
		p.Labels = map[string]string{"tier": "first"}
		p.Spec.Weight = new(int32(100))
	}))
	w.ask("p", 3, big)
	of := map[string]int{}
	for _, claim := range w.claims() {
		of[claim.Labels[v1.NodePoolLabelKey]]++
	}
	if of["first"] != 1 || of["other"] != 2 {
		t.Errorf("NodeClaims by pool: %v", of)
	}
}

// TestACapOfTheClusterIsSharedByPools: each pool could use all of it.
func TestACapOfTheClusterIsSharedByPools(t *testing.T) {
	w := cappedHarness(t, readyPool("a"), readyPool("b"), caps("caps", opsv1alpha1.Caps{Cluster: new("0.60")}))
	var pods []*corev1.Pod
	for i := range 6 {
		pod := pendingPod(fmt.Sprintf("p-%d", i), big, selecting(v1.NodePoolLabelKey, []string{"a", "b"}[i%2]))
		w.Add(pod)
		pods = append(pods, pod)
	}
	w.see(pods...)
	w.decide()
	if n := len(w.claims()); n != 3 {
		t.Errorf("%d NodeClaims for $0.20/h each, want three within $0.60/h", n)
	}
	events := strings.Join(w.eventsOf("FailedScheduling"), "\n")
	if !strings.Contains(events, "launch exceeds the cost cap of the cluster (policy=caps, cap=$0.60/h, used or in flight=$0.60/h, launch up to=$0.20/h)") {
		t.Errorf("events %q", events)
	}
}

// TestPlansKeepToCaps lets the solver, the provisioner and a cloud that launches whatever a NodeClaim permits run against random caps.
func TestPlansKeepToCaps(t *testing.T) {
	const runs = 25
	launched, waiting := 0, 0
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 2))
		w := cappedHarness(t, readyPool("a"), readyPool("b"))
		var types []*cloud.InstanceType
		prices := map[string]float64{}
		for i := range 3 {
			it := instanceType(fmt.Sprintf("t%d", i), "zone-1", "zone-2")
			it.Capacity = fakecluster.Resources("cpu", fmt.Sprint(2<<i), "memory", "64Gi", "pods", "110")
			for j := range it.Offerings {
				it.Offerings[j].Price = float64(1+random.IntN(100)) / 100
				prices[it.Name+it.Offerings[j].Zone()] = it.Offerings[j].Price
			}
			types = append(types, it)
		}
		w.Provider.Types = types
		limit := float64(random.IntN(500)) / 100
		w.Add(caps("caps", opsv1alpha1.Caps{Cluster: new(fmt.Sprintf("%.2f", limit))}))
		for wave := range 3 {
			w.ask(fmt.Sprintf("w%d", wave), 1+random.IntN(8), big)
			total := 0.0
			for _, claim := range w.claims() {
				total += w.launchAs(&claim, random, prices)
			}
			if total > limit+1e-9 {
				t.Fatalf("seed %d, wave %d: nodes cost $%.2f/h, the cap is $%.2f/h", seed, wave, total, limit)
			}
			w.Time.Step(2 * time.Second)
		}
		launched, waiting = launched+len(w.claims()), waiting+len(w.eventsOf("FailedScheduling"))
	}
	if launched < runs || waiting < runs {
		t.Errorf("%d nodes were launched and %d pods told to wait: the caps were hardly tested", launched, waiting)
	}
}

// launchAs launches a NodeClaim as any of the offerings that it permits, if it is not launched, and returns the price.
func (w *harness) launchAs(claim *v1.NodeClaim, random *rand.Rand, prices map[string]float64) float64 {
	w.Helper()
	permitted := map[string][]string{corev1.LabelTopologyZone: {"zone-1", "zone-2"}, corev1.LabelInstanceTypeStable: {"t0", "t1", "t2"}}
	for _, r := range claim.Spec.Requirements {
		if permitted[r.Key] != nil {
			permitted[r.Key] = r.Values
		}
	}
	if claim.Labels[corev1.LabelInstanceTypeStable] == "" {
		claim = fakecluster.Change(w.Cluster, claim, func(c *v1.NodeClaim) {
			for key, values := range permitted {
				c.Labels[key] = values[random.IntN(len(values))]
			}
			c.Labels[v1.CapacityTypeLabelKey] = v1.CapacityTypeOnDemand
		})
		w.store.UpdateNodeClaim(claim)
	}
	return prices[claim.Labels[corev1.LabelInstanceTypeStable]+claim.Labels[corev1.LabelTopologyZone]]
}
