package e2e

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestPodsWithAntiAffinityByZoneAllRun: the zone of the first one is not decided while its node is being
// launched, so the others have to wait. Each pass learns the zone of one more.
func TestPodsWithAntiAffinityByZoneAllRun(t *testing.T) {
	t.Attr("covers", "L271 L272")
	t.Parallel()
	w := begin(t)
	w.controller()
	// A node may get the taint not-ready for a moment after it was ready, and a pod that could go there gets another one.
	w.create(class(), pool(emptiedAtOnce), deployment("web", 3, "700m", func(p *corev1.PodTemplateSpec) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: inZoneOf("web")}}
	}))
	w.awaitRunning(3)
	w.await("there are three nodes in the end", 2*patience, func() string { return w.notPaired(3) })
	if zones := w.zones("web"); len(zones) != 3 {
		t.Errorf("the pods run in %v, want three zones with one each", zones)
	}
}

// emptiedAtOnce deletes empty nodes without a delay.
func emptiedAtOnce(p *v1.NodePool) {
	p.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationPolicyWhenEmpty
	p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(0)
}

// TestAPodFollowsAnotherIntoAZoneThatWasUndecided: the zone of the other pod is known once its node exists.
func TestAPodFollowsAnotherIntoAZoneThatWasUndecided(t *testing.T) {
	t.Attr("covers", "L274")
	t.Parallel()
	w := begin(t)
	w.controller()
	follow := func(p *corev1.PodTemplateSpec) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: inZoneOf("db")}}
	}
	w.create(class(), pool(cores("1")), deployment("web", 2, "700m", follow), deployment("db", 1, "800m"))
	w.awaitRunning(3)
	w.awaitNodes(3)
	if db, web := w.zones("db"), w.zones("web"); !slices.Equal(slices.Sorted(maps.Keys(db)), slices.Sorted(maps.Keys(web))) {
		t.Errorf("db runs in %v, web in %v", db, web)
	}
}

// TestSpreadPodsStayEvenWhileTheyGrow applies the constraint in several steps, each with its own pass.
func TestSpreadPodsStayEvenWhileTheyGrow(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	web := deployment("web", 1, "700m", func(p *corev1.PodTemplateSpec) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}}
	})
	w.create(class(), pool(cores("1")), web)
	for _, replicas := range []int32{1, 3, 4, 6, 8} {
		w.scale(web, replicas)
		w.awaitRunning(int(replicas))
	}
	zones := w.zones("web")
	for zone, pods := range zones {
		if pods != 2 {
			t.Errorf("zone %s has %d pods of 8, want 2: %v", zone, pods, zones)
		}
	}
	if len(zones) != 4 {
		t.Errorf("the pods are in %v, want four zones", zones)
	}
}

// inZoneOf means the zones of pods of a workload.
func inZoneOf(workload string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{
		TopologyKey:   corev1.LabelTopologyZone,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": workload}},
	}}
}

// zones counts the pods of a workload by zone.
func (w *harness) zones(workload string) map[string]int {
	w.t.Helper()
	where := map[string]string{}
	for _, node := range w.nodes() {
		where[node.Name] = node.Labels[corev1.LabelTopologyZone]
	}
	out := map[string]int{}
	for _, pod := range w.pods() {
		if pod.Labels["app"] == workload {
			out[where[pod.Spec.NodeName]]++
		}
	}
	return out
}
