package disruption

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// TestWhateverHappens: two pools with different policies and budgets, pods that are created and deleted, drift, and nodes that
// become ready late or never. No deletion may violate a budget or evict a protected pod. In the end nothing changes, no marks are
// left, and every node has an obstacle.
func TestWhateverHappens(t *testing.T) {
	for seed := range uint64(4) {
		inBubble(t, fmt.Sprintf("seed %d", seed), func(w *harness) {
			random := rand.New(rand.NewPCG(seed, 17)) //nolint:gosec // a test
			var types []*cloud.InstanceType
			for _, cores := range []int64{1, 2, 4, 8} {
				types = append(types, sized(fmt.Sprintf("x%d", cores), cores, map[string]float64{
					v1.CapacityTypeOnDemand: float64(cores), v1.CapacityTypeSpot: float64(cores) * (0.3 + 0.3*random.Float64()),
				}))
			}
			l := w.live(types)
			some := []v1.DisruptionReason{v1.DisruptionReasonDrifted}
			w.pool("eager", []v1.Budget{{Nodes: "2"}, {Nodes: "1", Reasons: some}}, underutilized)
			w.pool("choosy", []v1.Budget{{Nodes: "1"}, {Nodes: "0", Reasons: some}}, usable, func(p *v1.NodePool) {
				p.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationPolicyBalanced
				p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(30 * time.Second)
			})
			w.create(&policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "guards"},
				Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"guarded": "yes"}}},
			})
			for i, pool := range []string{"eager", "choosy", "eager", "choosy"} {
				l.of(pool, fmt.Sprintf("old-%d", i), "x4")
			}
			w.fail(func(op string, obj runtime.Object) error {
				if claim, ok := obj.(*v1.NodeClaim); ok && op == "delete" {
					w.wantRightful(claim)
				}
				return nil
			})
			stop := w.run()
			serial := 0
			for range 40 {
				l.launch.Store(int64([]time.Duration{time.Second, 20 * time.Second, 3 * time.Minute, -1}[random.IntN(4)]))
				for range random.IntN(5) {
					serial++
					w.pod("", fmt.Sprintf("pod-%03d", serial), asks(100+100*random.Int64N(20)), func(p *corev1.Pod) {
						p.Status.Phase = corev1.PodPending
						switch random.IntN(12) {
						case 0:
							protected(p)
						case 1:
							p.Labels["guarded"] = "yes"
						}
					})
				}
				for _, pod := range l.pods(w.Context()) {
					if random.IntN(8) == 0 {
						w.remove(pod)
					}
				}
				for _, name := range w.names() {
					if random.IntN(10) == 0 && w.claim(name).DeletionTimestamp.IsZero() {
						w.drift(name)
					}
				}
				w.pass(time.Duration(1+random.IntN(60)) * time.Second)
			}
			l.launch.Store(int64(5 * time.Second))
			w.pass(time.Hour)
			w.heal()
			done := len(l.history)
			if done < 10 {
				w.Errorf("hardly anything has happened: %v", l.history)
			}
			w.pass(time.Hour)
			if len(l.history) > done {
				w.Errorf("no rest: %v", l.history[done:])
			}
			if marked := w.marked(); len(marked) > 0 {
				w.Errorf("still marked: %v", marked)
			}
			for _, pod := range l.pods(w.Context()) {
				if pod.Spec.NodeName == "" {
					w.Errorf("pod %s has no node", pod.Name)
				}
			}
			stop()
		})
	}
}

// names are those of the existing nodes, sorted.
func (w *harness) names() []string {
	var nodes corev1.NodeList
	if err := w.client.List(w.Context(), &nodes); err != nil {
		w.Fatal(err)
	}
	out := make([]string, len(nodes.Items))
	for i := range nodes.Items {
		out[i] = nodes.Items[i].Name
	}
	slices.Sort(out)
	return out
}

// wantRightful checks a NodeClaim that is about to be deleted: its pods may be evicted, and the budget of its pool allows one more
// node.
func (w *harness) wantRightful(claim *v1.NodeClaim) {
	var pods corev1.PodList
	var claims v1.NodeClaimList
	pool := &v1.NodePool{}
	if err := w.client.List(w.Context(), &pods); err != nil {
		w.Error(err)
	}
	if err := w.client.List(w.Context(), &claims); err != nil {
		w.Error(err)
	}
	if err := w.client.Get(w.Context(), client.ObjectKey{Name: claim.Labels[v1.NodePoolLabelKey]}, pool); err != nil {
		w.Error(err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.NodeName == claim.Name && (p.Annotations[v1.DoNotDisruptAnnotationKey] != "" || p.Labels["guarded"] != "") {
			w.Errorf("after %s: node %s is deleted under pod %s", w.age(), claim.Name, p.Name)
		}
	}
	reason := reasonOf(claim)
	if reason == "" {
		return // a replacement that is withdrawn
	}
	nodes, going, drifted := 0, 1, 0
	var all []string
	for i := range claims.Items {
		other := &claims.Items[i]
		if other.Labels[v1.NodePoolLabelKey] != pool.Name || other.Status.NodeName == "" {
			continue
		}
		nodes++
		all = append(all, fmt.Sprintf("%s (%s, deleted: %t)", other.Name, reasonOf(other), !other.DeletionTimestamp.IsZero()))
		if leaves := !other.DeletionTimestamp.IsZero(); leaves && other.Name != claim.Name {
			going++
		}
		if reasonOf(other) == string(v1.DisruptionReasonDrifted) {
			drifted++
		}
	}
	// More nodes may have been marked for another reason since this node was marked.
	if allowed, err := pool.Spec.Disruption.Budgets[0].Allowed(time.Now(), nodes); err != nil || going > allowed {
		w.Errorf("after %s: %d nodes of pool %s go at a time with %s, %d may; %v: %v", w.age(), going, pool.Name, claim.Name, allowed, err, all)
	}
	if allowed, err := pool.Spec.Disruption.Budgets[1].Allowed(time.Now(), nodes); err != nil || drifted > allowed {
		w.Errorf("after %s: %d nodes of pool %s go because they drifted with %s, %d may; %v: %v", w.age(), drifted, pool.Name, claim.Name, allowed, err, all)
	}
}

// reasonOf is why a NodeClaim is disrupted; empty if it is not.
func reasonOf(claim *v1.NodeClaim) string {
	c := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeDisruptionReason)
	if c == nil || c.Status != metav1.ConditionTrue {
		return ""
	}
	return c.Reason
}
