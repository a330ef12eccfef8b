package provisioning

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// zonesOf are the zones that the NodeClaims are bound to, sorted.
func zonesOf(claims []v1.NodeClaim) []string {
	var out []string
	for i := range claims {
		for _, r := range claims[i].Spec.Requirements {
			if r.Key == corev1.LabelTopologyZone {
				out = append(out, r.Values...)
			}
		}
	}
	slices.Sort(out)
	return out
}

var web = map[string]string{"app": "web"}

func spreadOver(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels = maps.Clone(web)
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: web},
		}}
	}
}

func asking(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", cpu) }
}

// TestSpreadCountsLaunchingNodes: nothing is launched or bound between the passes.
func TestSpreadCountsLaunchingNodes(t *testing.T) {
	t.Attr("covers", "L183")
	w := newHarness(t, readyPool("default"))
	for i, name := range []string{"first", "second", "third", "fourth"} {
		w.see(pendingPod(name, spreadOver(corev1.LabelTopologyZone)))
		w.decide()
		want := [][]string{{"zone-1"}, {"zone-1", "zone-2"}, {"zone-1", "zone-1", "zone-2"}, {"zone-1", "zone-1", "zone-2", "zone-2"}}[i]
		if got := zonesOf(w.claims()); !slices.Equal(got, want) {
			t.Fatalf("after the %s pod there are nodes in %v, want %v", name, got, want)
		}
	}
	w = newHarness(t, readyPool("default"))
	for i, name := range []string{"first", "second", "third"} {
		w.see(pendingPod(name, spreadOver(corev1.LabelHostname)))
		w.decide()
		if got := len(w.claims()); got != i+1 {
			t.Fatalf("%d NodeClaims after the %s pod, want one each", got, name)
		}
	}
}

// TestAffinityToOneselfHoldsForLaunchingNodes: the second pod does not fit on the node of the first and gets one in the same zone,
// although no pod is bound there.
func TestAffinityToOneselfHoldsForLaunchingNodes(t *testing.T) {
	t.Attr("covers", "L184")
	near := func(p *corev1.Pod) {
		p.Labels = maps.Clone(web)
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: web}},
		}}}
	}
	w := newHarness(t, readyPool("default"))
	// The first zone in order must not be the expected one.
	w.see(pendingPod("first", near, asking("3"), selecting(corev1.LabelTopologyZone, "zone-2")))
	w.decide()
	for _, name := range []string{"second", "third"} {
		w.see(pendingPod(name, near, asking("3")))
		w.decide()
	}
	if got, want := zonesOf(w.claims()), []string{"zone-2", "zone-2", "zone-2"}; !slices.Equal(got, want) {
		t.Errorf("nodes in %v, want %v", got, want)
	}
	if got := w.eventsOf("FailedScheduling"); len(got) != 0 {
		t.Errorf("refused: %q", got)
	}
}

// TestAnUnlaunchedNodeClaimHasCapacityForItsPodsOnly: its instance type is not known yet, so pods that are created before it is
// launched get another NodeClaim, although one pass would have placed all of them on one node.
func TestAnUnlaunchedNodeClaimHasCapacityForItsPodsOnly(t *testing.T) {
	for between, want := range map[bool]int{false: 1, true: 2} {
		w := newHarness(t, readyPool("default"))
		w.see(pendingPod("first", asking("100m")))
		if between {
			w.decide()
		}
		w.see(pendingPod("second", asking("100m")))
		w.decide()
		if got := len(w.claims()); got != want {
			t.Errorf("with a pass between the pods (%t): %d NodeClaims, want %d", between, got, want)
		}
	}
}
