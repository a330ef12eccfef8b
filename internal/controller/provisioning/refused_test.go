package provisioning

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// without requires that nodes lack a value of a label.
func without(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: []string{value}}},
			}}},
		}}
	}
}

// preferringWithout prefers nodes that lack a value of a label.
func preferringWithout(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: []string{value}}},
			}}},
		}}
	}
}

func small(p *corev1.Pod) {
	p.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", "10m")
}

// refuseKey makes the API server refuse NodeClaims that constrain a label, and counts them.
func (w *harness) refuseKey(key string) (refused *atomic.Int64) {
	refused = new(atomic.Int64) // several claims are created at a time
	w.Fail = func(op string, obj runtime.Object) error {
		claim, isClaim := obj.(*v1.NodeClaim)
		if !isClaim || op != "create" || !slices.ContainsFunc(claim.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
			return r.Key == key
		}) {
			return nil
		}
		refused.Add(1)
		return apierrors.NewInvalid(schema.GroupKind{Kind: "NodeClaim"}, claim.Name, field.ErrorList{field.Invalid(field.NewPath("spec"), key, "no")})
	}
	return refused
}

// placed are the pods with a nomination, sorted.
func (w *harness) placed() []string {
	var out []string
	for uid := range w.p.nominations {
		out = append(out, uid)
	}
	slices.Sort(out)
	return out
}

func TestARefusedNodeClaimDelaysNoOtherPods(t *testing.T) {
	w := newHarness(t, readyPool("default"))
	refused := w.refuseKey("bad")
	pods := []*corev1.Pod{
		pendingPod("a", small), pendingPod("b", small, without("bad", "x")), pendingPod("c", small, preferringWithout("bad", "y")),
		pendingPod("d", small, without("good", "x")), pendingPod("e", small, without("bad", "x")), pendingPod("f", small, without("other", "x")),
	}
	for _, pod := range pods {
		w.Add(pod)
	}
	w.see(pods...)
	w.decide()
	if got := w.placed(); !slices.Equal(got, []string{"a", "c", "d", "f"}) {
		t.Fatalf("placed after one pass: %q, want all pods but those that require the impossible", got)
	}
	for _, event := range w.eventsOf("FailedScheduling") {
		if !strings.Contains(event, "the API server refuses a NodeClaim with the constraints of the pod") {
			t.Errorf("event %q", event)
		}
	}
	if got := len(w.eventsOf("FailedScheduling")); got != 2 {
		t.Errorf("%d events, want one for each of the two pods that are set aside", got)
	}
	if testutil.ToFloat64(w.Metrics.Scheduler.SetAsidePods) != 2 || w.Count("karpenter_scheduler_refused_nodeclaims_total") == 0 {
		t.Error("metrics do not count the refusals")
	}
	before := refused.Load()
	w.decide()
	if refused.Load() != before {
		t.Errorf("%d more attempts before the pause is over", refused.Load()-before)
	}
	for i, pause := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
		w.Time.Step(pause - time.Second)
		w.decide()
		if refused.Load() != before {
			t.Fatalf("pause %d is shorter than %s", i, pause)
		}
		w.Time.Step(time.Second)
		w.decide()
		if refused.Load() != before+1 {
			t.Fatalf("%d attempts after pause %d, want one for the two pods of one shape", refused.Load()-before, i)
		}
		before = refused.Load()
	}
	for _, pod := range pods {
		w.store.DeletePod(string(pod.UID))
	}
	w.decide()
	if n := len(w.p.refused.aside) + len(w.p.refused.groups); n != 0 {
		t.Errorf("%d pods remembered that do not exist any more", n)
	}
}

func TestAPodThatIsMendedIsPlacedAfterThePause(t *testing.T) {
	w := newHarness(t, readyPool("default"))
	w.refuseKey("bad")
	pod := pendingPod("p", without("bad", "x"))
	w.Add(pod)
	w.see(pod)
	w.decide()
	w.Fail = nil
	w.Time.Step(minSetAside)
	w.decide()
	if got := w.placed(); len(got) != 1 {
		t.Errorf("placed %q, want the pod", got)
	}
}

func TestManyRefusedPodsAreBoundedPerPass(t *testing.T) {
	w := newHarness(t, readyPool("default"))
	refused := w.refuseKey("bad")
	for i := range 300 {
		pod := pendingPod("p"+strings.Repeat("x", i), small, without("bad", strings.Repeat("v", i%60+1)))
		w.Add(pod)
		w.see(pod)
	}
	honest := pendingPod("honest", small)
	w.Add(honest)
	w.see(honest)
	for pass := 0; len(w.placed()) == 0; pass++ {
		before := refused.Load()
		w.decide()
		if refused.Load()-before > 200 {
			t.Errorf("%d attempts in a pass", refused.Load()-before)
		}
		if pass == 10 {
			t.Fatal("the honest pod is not placed after ten passes")
		}
	}
}

func TestAnInvalidPreferenceIsReportedAndNoRequirement(t *testing.T) {
	w := newHarness(t, readyPool("default"))
	pod := pendingPod("p", preferringWithout("karpenter.sh/other", "x"))
	w.Add(pod)
	w.see(pod)
	w.decide()
	if got := w.eventsOf("PreferenceIgnored"); len(got) != 1 || !strings.Contains(got[0], "is restricted") {
		t.Errorf("events %q, want one that says why", got)
	}
	claims := w.claims()
	if len(claims) != 1 {
		t.Fatalf("%d nodeclaims, want one", len(claims))
	}
	if slices.ContainsFunc(claims[0].Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool { return r.Key == "karpenter.sh/other" }) {
		t.Error("the nodeclaim has a requirement that its schema refuses")
	}
	if testutil.ToFloat64(w.Metrics.Scheduler.IgnoredPreferencesPods) != 1 {
		t.Error("the pod is not counted")
	}
}
