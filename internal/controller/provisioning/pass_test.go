package provisioning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/writegate"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
)

func TestOnlyNodeClaimsAreWritten(t *testing.T) {
	t.Attr("covers", "L018")
	w := newHarness(t, readyPool("default"))
	pod := pendingPod("p")
	w.Add(pod)
	w.see(pod)
	var writes []string
	w.Fail = func(op string, obj runtime.Object) error {
		if op != "get" && op != "list" {
			writes = append(writes, fmt.Sprintf("%s %T", op, obj))
		}
		return nil
	}
	w.decide()
	if want := []string{"create *v1.NodeClaim"}; !slices.Equal(writes, want) {
		t.Errorf("wrote %q, want %q", writes, want)
	}
	if got := fakecluster.Must(w.Cluster, pod).Spec.NodeName; got != "" {
		t.Errorf("the pod was bound to %q", got)
	}
}

func TestLaunchesWaitUntilThePlanIsWritten(t *testing.T) {
	w := newHarness(t, readyPool("default"))
	w.p.WriteGate = writegate.New(w.Time)
	pod := pendingPod("p")
	w.Add(pod)
	w.see(pod)
	written := 0
	w.Fail = func(op string, _ runtime.Object) error {
		if op == "create" {
			written++
			if w.p.WriteGate.Delay("uid", w.Time.Now()) == 0 {
				t.Error("launches do not wait while NodeClaims are written")
			}
		}
		return nil
	}
	w.decide()
	if wait := w.p.WriteGate.Delay("uid", w.Time.Now()); written != 1 || wait != 0 {
		t.Errorf("%d written, launches wait for %s after that", written, wait)
	}
}

func TestAPodThatWantsNoNodeOfOursIsRefusedSilently(t *testing.T) {
	t.Attr("covers", "L021")
	w := newHarness(t, readyPool("default"))
	w.see(pendingPod("p", func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: v1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpDoesNotExist},
			}}},
		}}}
	}))
	w.decide()
	if times, _ := w.p.PodLatency.Get("p"); times.Decided.IsZero() || !times.Placed.IsZero() {
		t.Errorf("times %+v, want a refusal", times)
	}
	if got := w.Events(); len(got) != 0 {
		t.Errorf("events %q", got)
	}
	if !strings.Contains(w.log.String(), "configured to not run on a Karpenter provisioned node (requirement=karpenter.sh/nodepool DoesNotExist)") {
		t.Errorf("the reason is not logged:\n%s", w.log)
	}
}

// invalid makes a pod that no validation admits.
func invalid(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "n"} }

func TestSetAsidePodsAreCounted(t *testing.T) {
	t.Attr("covers", "L030")
	w := newHarness(t, readyPool("default"))
	ignored := func() float64 { return testutil.ToFloat64(w.Metrics.Scheduler.IgnoredPods) }
	w.see(pendingPod("valid"), pendingPod("a", invalid), pendingPod("b", invalid))
	w.decide()
	if got := ignored(); got != 2 {
		t.Errorf("%v pods are ignored, want 2", got)
	}
	w.store.DeletePod("a")
	w.store.DeletePod("b")
	w.decide()
	if got := ignored(); got != 0 {
		t.Errorf("%v pods are ignored, want none", got)
	}
}

func TestARefusedPodGetsOneEventInFiveMinutes(t *testing.T) {
	t.Attr("covers", "L031")
	w := newHarness(t, readyPool("default"))
	w.see(pendingPod("p", invalid))
	w.decide()
	for range 29 {
		w.Time.Step(10 * time.Second)
		w.decide()
	}
	if got := w.eventsOf("FailedScheduling"); len(got) != 1 {
		t.Fatalf("%d events within five minutes: %q", len(got), got)
	}
	w.Time.Step(10 * time.Second)
	w.decide()
	if got := w.eventsOf("FailedScheduling"); len(got) != 2 {
		t.Errorf("%d events after five minutes, want 2", len(got))
	}
}

func TestNodesOfPodsAreNominated(t *testing.T) {
	t.Attr("covers", "L185")
	w := newHarness(t, readyPool("default"))
	for _, name := range []string{"a", "b"} {
		n := w.Node(name)
		n.Spec.ProviderID, n.Spec.Taints = "", nil
		n.Status.Allocatable = fakecluster.Resources("cpu", "2", "pods", "10")
		w.store.UpdateNode(n)
	}
	w.see(pendingPod("p"))
	w.decide()
	window := w.p.Scheduling.NominationWindow()
	for id, want := range map[string]int64{"node/a": w.Time.Now().Add(window).UnixNano(), "node/b": 0} {
		if n, _ := w.store.Snapshot().Nodes.Get(id); n.NominatedUntil != want {
			t.Errorf("%s is nominated until %d, want %d", id, n.NominatedUntil, want)
		}
	}
	if got, want := w.Events(), []string{"Normal Nominated p: Pod should schedule on: node/a"}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if got := len(w.claims()); got != 0 {
		t.Errorf("%d NodeClaims beside", got)
	}
}

func TestPodsOfNodesThatGoHaveNoTimes(t *testing.T) {
	t.Attr("covers", "L193")
	w := newHarness(t, readyPool("default"))
	claim, node, pod := leaving(w)
	w.Add(pod)
	waited := pendingPod("p")
	waited.UID = pod.UID
	w.see(waited)
	w.Time.Step(5 * time.Second)
	w.decide() // it is nominated, and later bound to that node
	before, _ := w.p.PodLatency.Get(string(pod.UID))
	if before.Placed.IsZero() {
		t.Fatal("the pod got no place to begin with")
	}
	w.Provider.Types = nil // from now on nothing can be launched, and nothing is launching
	w.store.DeleteNodeClaim(w.claims()[0].Name)
	w.store.UpdateNodeClaim(claim)
	w.store.UpdateNode(node)
	w.see(pod, w.Pod("never-waited", "a"))
	w.Time.Step(5 * time.Second)
	w.decide()
	if after, _ := w.p.PodLatency.Get(string(pod.UID)); after != before {
		t.Errorf("times went from %+v to %+v", before, after)
	}
	if got := w.Count("karpenter_pods_scheduling_decision_duration_seconds"); got != 1 {
		t.Errorf("%v decisions were timed, want the one about the pod that waited", got)
	}
}

// failing is a cloud that returns an error for one pool.
type failing struct {
	cloud.Provider
	pool string
}

func (f failing) InstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	if pool.Name == f.pool {
		return nil, errors.New("the API of the cloud is down")
	}
	return f.Provider.InstanceTypes(ctx, pool)
}

func TestAPoolWhoseTypesCannotBeHadHoldsUpNoOther(t *testing.T) {
	t.Attr("covers", "L200")
	w := newHarness(t, readyPool("zz-first-in-line"), readyPool("default"))
	w.p.Cloud.Provider = failing{w.Provider, "zz-first-in-line"}
	w.see(pendingPod("p"))
	w.decide()
	if claims := w.claims(); len(claims) != 1 || claims[0].Labels[v1.NodePoolLabelKey] != "default" {
		t.Errorf("claims %v, want one of the pool that answers", claims)
	}
}

func TestLimitsAreLookedAtAgainWhenAClaimIsWritten(t *testing.T) {
	t.Attr("covers", "L208")
	pool := readyPool("default")
	w := newHarness(t, pool)
	w.see(pendingPod("p"))
	in, err := w.p.gather(t.Context(), w.Time.Now())
	if err != nil {
		t.Fatal(err)
	}
	plan := w.p.solve(in.problem)
	fakecluster.Change(w.Cluster, pool, func(p *v1.NodePool) { p.Spec.Limits = v1.Limits(fakecluster.Resources("cpu", "7")) })
	_, err = w.p.create(t.Context(), in, plan.NodeClaims[0], fakecluster.Resources("cpu", "7500m"))
	if want := "resource usage exceeds limit (limit=7, resource-name=cpu, usage=7.500)"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if got := len(w.claims()); got != 0 {
		t.Errorf("%d claims were written", got)
	}
	if _, err = w.p.create(t.Context(), in, plan.NodeClaims[0], fakecluster.Resources("cpu", "7")); err != nil || len(w.claims()) != 1 {
		t.Errorf("error %v and %d claims; a pool exactly at its limit is not over it", err, len(w.claims()))
	}
}

func TestTheHashOnAClaimIsThatOfWhatWasPlannedWith(t *testing.T) {
	t.Attr("covers", "L209")
	pool := readyPool("default")
	w := newHarness(t, pool)
	w.see(pendingPod("p"))
	in, err := w.p.gather(t.Context(), w.Time.Now())
	if err != nil {
		t.Fatal(err)
	}
	changed := fakecluster.Change(w.Cluster, pool, func(p *v1.NodePool) { p.Spec.Template.Labels = map[string]string{"new": "label"} })
	if err := w.p.apply(t.Context(), in, w.p.solve(in.problem)); err != nil {
		t.Fatal(err)
	}
	got := w.claims()[0].Annotations[v1.NodePoolHashAnnotationKey]
	if got != in.pools["default"].Hash() || got == changed.Hash() {
		t.Errorf("hash %s, planned with %s, the pool has %s now", got, in.pools["default"].Hash(), changed.Hash())
	}
}

// spy is a clock that calls a function whenever it is read.
type spy struct {
	clock.Clock
	look func()
}

func (s spy) Now() time.Time {
	s.look()
	return s.Clock.Now()
}

func TestDepthAndAgeAreShownWhileTheEngineRuns(t *testing.T) {
	t.Attr("covers", "L399")
	w := newHarness(t, readyPool("default"))
	for i := range 7 {
		w.see(pendingPod(fmt.Sprint("p", i), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", fmt.Sprint(i+1, "00m"))
		}))
	}
	in, err := w.p.gather(t.Context(), w.Time.Now())
	if err != nil {
		t.Fatal(err)
	}
	depth, age := 0.0, 0.0
	w.p.Clock = spy{w.Time, func() {
		w.Time.Step(time.Second)
		depth = max(depth, sum(t, w.Metrics.Scheduler.QueueDepth))
		age = max(age, sum(t, w.Metrics.Scheduler.UnfinishedWork))
	}}
	w.p.solve(in.problem)
	if depth != 7 || age == 0 {
		t.Errorf("while it ran the depth was %v and the age %v s, want 7 and more than none", depth, age)
	}
	for _, gauge := range []*prometheus.GaugeVec{w.Metrics.Scheduler.QueueDepth, w.Metrics.Scheduler.UnfinishedWork} {
		if got := testutil.CollectAndCount(gauge); got != 0 {
			t.Errorf("%d series are left", got)
		}
	}
}

// sum adds up the series of a gauge.
func sum(t *testing.T, gauge *prometheus.GaugeVec) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(gauge)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			out += m.GetGauge().GetValue()
		}
	}
	return out
}

func TestPodsThatArePutOffAreNoFailures(t *testing.T) {
	t.Attr("covers", "L400")
	w := newHarness(t, readyPool("default"))
	of := func(name string) *model.Pod {
		return &model.Pod{Namespace: "default", Name: name, UID: name, Shape: &model.Shape{}}
	}
	plan := solve.Plan{
		Unschedulable: []solve.UnschedulablePods{{Pods: []*model.Pod{of("a"), of("b")}, Reasons: unschedulable.Reasons{{Code: unschedulable.NoPools}}}},
		Deferred:      []*model.Pod{of("later")},
	}
	gauge := func() float64 {
		return testutil.ToFloat64(w.Metrics.Scheduler.UnschedulablePods.WithLabelValues("provisioner"))
	}
	if err := w.p.apply(t.Context(), input{}, plan); err != nil || gauge() != 2 {
		t.Errorf("error %v, %v pods are unschedulable, want 2", err, gauge())
	}
	if got := w.Events(); len(got) != 2 || slices.ContainsFunc(got, func(e string) bool { return strings.Contains(e, "later") }) {
		t.Errorf("events %q, want those of the two", got)
	}
	w.decide() // no pod waits any more
	if got := gauge(); got != 0 {
		t.Errorf("%v pods are unschedulable, want none", got)
	}
}

func TestASolveIsTimedAndSoIsThePass(t *testing.T) {
	t.Attr("covers", "L401")
	w := newHarness(t, readyPool("default"))
	w.see(pendingPod("p"))
	w.decide()
	if got := w.Count("karpenter_scheduler_scheduling_duration_seconds", "controller=provisioner"); got != 2 {
		t.Errorf("%v times were taken, want that of the engine and that of the pass", got)
	}
	w.decide() // the pod has its node
	if got := w.Count("karpenter_scheduler_scheduling_duration_seconds"); got != 2 {
		t.Errorf("%v times were taken after a pass without pods, want 2", got)
	}
}

func TestTheFirstDecisionAboutAPodIsTimed(t *testing.T) {
	t.Attr("covers", "L402")
	w := newHarness(t, readyPool("default"))
	w.see(pendingPod("placed"), pendingPod("refused", selecting(corev1.LabelTopologyZone, "nowhere")), pendingPod("invalid", invalid))
	for range 3 {
		w.Time.Step(4 * time.Second)
		w.decide()
	}
	if got := w.Count("karpenter_pods_scheduling_decision_duration_seconds"); got != 3 {
		t.Errorf("%v decisions were timed, want one for each pod", got)
	}
}

func TestTimesFollowTheHealthOfThePool(t *testing.T) {
	t.Attr("covers", "L393")
	for _, healthy := range []bool{true, false} {
		pool := readyPool("default")
		if healthy {
			condition.For(pool, time.Now()).True(v1.ConditionTypeNodeRegistrationHealthy)
		}
		w := newHarness(t, pool)
		w.see(pendingPod("p"))
		w.Time.Step(3 * time.Second)
		w.decide()
		times, _ := w.p.PodLatency.Get("p")
		if !times.Placed.Equal(w.Time.Now()) || times.PlacedHealthy.IsZero() == healthy {
			t.Errorf("pool healthy: %v, times %+v", healthy, times)
		}
	}
}

func TestARefusalNamesEveryPool(t *testing.T) {
	t.Attr("covers", "L405")
	tainted := func(p *v1.NodePool) {
		p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	}
	small := func(p *v1.NodePool) { p.Spec.Limits = v1.Limits(fakecluster.Resources("cpu", "1")) }
	w := newHarness(t, readyPool("tainted", tainted), readyPool("limited", small))
	w.see(pendingPod("p"))
	w.decide()
	events := w.eventsOf("FailedScheduling")
	if len(events) != 1 || !strings.Contains(events[0], "did not tolerate taint (taint=dedicated=gpu:NoSchedule)") ||
		!strings.Contains(events[0], "all available instance types exceed limits for nodepool (NodePool=limited)") {
		t.Errorf("events %q, want one with both reasons", events)
	}
}

// TestARefusalIsBounded: a pod may have thousands of resource names, and a cluster dozens of pools.
func TestARefusalIsBounded(t *testing.T) {
	var pools []client.Object
	for i := range 8 {
		pools = append(pools, readyPool(fmt.Sprintf("pool-%d", i)))
	}
	w := newHarness(t, pools...)
	w.see(pendingPod("p", func(p *corev1.Pod) {
		requests := p.Spec.Containers[0].Resources.Requests
		for i := range 5_000 {
			requests[corev1.ResourceName(fmt.Sprintf("example.com/a-long-name-of-a-resource-%d", i))] = requests[corev1.ResourceCPU]
		}
	}))
	w.decide()
	events := w.eventsOf("FailedScheduling")
	if len(events) != 1 || len(events[0]) > 1200 || !strings.HasSuffix(events[0], "; and 3 more") || strings.Count(events[0], "no instance type") != observe.MaxReasons {
		t.Errorf("%d events, the first %.2000q", len(events), events)
	}
	for line := range strings.Lines(w.log.String()) {
		if len(line) > 10_000 {
			t.Errorf("a log line of %d bytes: %.200s", len(line), line)
		}
	}
}

// TestARefusalNamesPoolsThatAreNotReady: events of pods name the pools that might fit them and are not ready; static pools never fit.
func TestARefusalNamesPoolsThatAreNotReady(t *testing.T) {
	tainted := readyPool("tainted", func(p *v1.NodePool) {
		p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
	})
	for want, pools := range map[string][]client.Object{
		`no dynamic nodepools found; nodepool "unready" is not used: it is not ready`:                                      nil,
		`nodepool "unready" is not used: it is not ready; NodePool "tainted": did not tolerate taint (taint=a:NoSchedule)`: {tainted},
	} {
		t.Run(want, func(t *testing.T) {
			unready := readyPool("unready")
			unready.Status.Conditions = nil
			static := readyPool("static", func(p *v1.NodePool) { p.Spec.Replicas = new(int64) })
			w := newHarness(t, append(pools, unready, static)...)
			w.see(pendingPod("p"))
			w.decide()
			events := w.eventsOf("FailedScheduling")
			if len(events) != 1 || !strings.Contains(events[0], want) {
				t.Errorf("events %q, want one that names the pool that is not ready", events)
			}
			if strings.Contains(fmt.Sprint(events), `"static"`) {
				t.Errorf("events %q name the static pool", events)
			}
		})
	}
}

func TestPreferencesThatPreventConsolidationAreLoggedOnceADay(t *testing.T) {
	spread := func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{},
		}}
	}
	apart := func(p *corev1.Pod) {
		term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}},
		}}
	}
	nowhere := selecting(corev1.LabelTopologyZone, "nowhere") // so that they stay pending
	const ofSpread, ofDistance = "preferred TopologySpreadConstraint which can prevent consolidation", "preferred Anti-Affinity which can prevent consolidation"
	count := func(w *harness) [2]int {
		return [2]int{strings.Count(w.log.String(), ofSpread), strings.Count(w.log.String(), ofDistance)}
	}
	w := newHarness(t, readyPool("default"))
	for i := range 12 {
		w.see(pendingPod(fmt.Sprintf("spread-%02d", i), spread, nowhere))
	}
	w.see(pendingPod("apart", apart, nowhere), pendingPod("plain", nowhere))
	w.decide()
	if got := count(w); got != [2]int{1, 1} || !strings.Contains(w.log.String(), "default/spread-09 and 2 other(s)") {
		t.Errorf("%v lines, want one of each kind with ten names:\n%s", got, w.log)
	}
	w.Time.Step(23 * time.Hour)
	w.see(pendingPod("late", spread, nowhere))
	w.decide()
	if got := count(w); got != [2]int{2, 1} {
		t.Errorf("%v lines, want one more for the new pod", got)
	}
	w.Time.Step(2 * time.Hour)
	w.decide()
	if got := count(w); got != [2]int{3, 2} {
		t.Errorf("%v lines, want one more of each kind after a day", got)
	}

	w = newHarness(t, readyPool("default"))
	w.p.Scheduling.PreferencePolicy = options.PreferenceIgnore
	w.see(pendingPod("spread", spread), pendingPod("apart", apart))
	w.decide()
	if got := count(w); got != [2]int{} {
		t.Errorf("%v lines although preferences are ignored", got)
	}
}
