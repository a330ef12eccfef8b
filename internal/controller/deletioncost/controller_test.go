package deletioncost

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// harness is a cluster with a store, whose nodes have one pod of a ReplicaSet each.
type harness struct {
	*fakecluster.Cluster
	store *cluster.Store
	c     *Controller
	pods  map[string]*corev1.Pod
}

func newHarness(t *testing.T, pools ...*v1.NodePool) *harness {
	w := &harness{Cluster: fakecluster.New(t), pods: map[string]*corev1.Pod{}}
	w.Provider.Types = []*cloud.InstanceType{offered("small", 1), offered("large", 4)}
	translator := translate.NewWith(w.Cloud.Labels, translate.Settings{RankedDeletionCosts: true})
	w.store = cluster.NewStore(w.Cloud, translator)
	w.c = New(Deps{
		Shared: w.Shared, Store: w.store, Ready: func() bool { return true },
		Log: slog.New(slog.DiscardHandler), Queue: NewQueue(w.Shared),
	})
	if len(pools) == 0 {
		pools = []*v1.NodePool{unlimited(fakecluster.Pool())}
	}
	for _, pool := range pools {
		w.Add(pool)
	}
	return w
}

// unlimited is a pool without budgets.
func unlimited(pool *v1.NodePool) *v1.NodePool {
	pool.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "100%"}}
	return pool
}

func offered(name string, price float64) *cloud.InstanceType {
	return &cloud.InstanceType{Name: name, Offerings: []cloud.Offering{{
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(corev1.LabelTopologyZone, "zone-1"), cloud.In(v1.CapacityTypeLabelKey, "spot"),
		},
		Price: price, Available: true,
	}}}
}

// parts are the objects of a node, to change before they are created.
type parts struct {
	claim *v1.NodeClaim
	node  *corev1.Node
	pod   *corev1.Pod
}

// with adds a node with an instance type and a pod.
func (w *harness) with(name, instanceType string, changes ...func(*parts)) {
	w.Helper()
	p := &parts{claim: w.LaunchedClaim(name, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), node: w.RegisteredNode(name), pod: w.Pod("pod-"+name, name)}
	p.claim.Labels[corev1.LabelInstanceTypeStable] = instanceType
	p.node.Labels[corev1.LabelInstanceTypeStable] = instanceType
	p.node.Labels[v1.CapacityTypeLabelKey] = "spot"
	p.node.Labels[v1.NodeInitializedLabelKey] = "true"
	p.pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}}
	for _, change := range changes {
		change(p)
	}
	w.Add(p.claim, p.node, p.pod)
	w.store.UpdateNodeClaim(p.claim)
	w.store.UpdateNode(p.node)
	w.store.UpdatePod(p.pod)
	w.pods[name] = p.pod
}

// pass ranks the nodes and writes what is queued; it returns how many pods were queued.
func (w *harness) pass() int {
	w.Helper()
	if err := w.c.pass(w.Context()); err != nil {
		w.Fatal(err)
	}
	queued := len(w.c.Queue.wanted)
	for key := range w.c.Queue.wanted {
		if _, err := w.c.Queue.Reconcile(w.Context(), key); err != nil {
			w.Fatal(err)
		}
	}
	return queued
}

// pending is the gauge of nodes with pods to write.
func (w *harness) pending() float64 {
	return testutil.ToFloat64(w.Metrics.Pods.DeletionCostPendingNodes.WithLabelValues("pool"))
}

func (w *harness) want(costs map[string]string) {
	w.Helper()
	for name, want := range costs {
		if got := costOf(w.Cluster, w.pods[name]); got != want {
			w.Errorf("deletion cost of the pod on %s: %s, want %s", name, got, want)
		}
	}
}

// costs sets the deletion cost that the pod has.
func costs(value string) func(*parts) {
	return func(p *parts) { p.pod.Annotations = map[string]string{corev1.PodDeletionCost: value} }
}

func TestNodesAreGrouped(t *testing.T) {
	t.Attr("covers", "N155 N157 N159")
	const stays, goes, leaves = "none", "-1", "-2147483648"
	for name, tt := range map[string]struct {
		change func(*harness, *parts)
		want   string
	}{
		"an ordinary node goes":             {func(*harness, *parts) {}, goes},
		"a drifted one too":                 {func(w *harness, p *parts) { drift(w, p) }, goes},
		"one with the taint leaves":         {func(_ *harness, p *parts) { p.node.Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()} }, leaves},
		"one that is not initialized stays": {func(_ *harness, p *parts) { delete(p.node.Labels, v1.NodeInitializedLabelKey) }, stays},
		"one that must not be disrupted stays": {func(_ *harness, p *parts) {
			p.node.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
		}, stays},
		"one whose pod must not be disrupted stays": {func(_ *harness, p *parts) { p.pod.Annotations[v1.DoNotDisruptAnnotationKey] = "true" }, stays},
		"one whose budget allows nothing stays": {func(w *harness, p *parts) {
			p.pod.Labels = map[string]string{"app": "web"}
			w.Add(&policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
				Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: p.pod.Labels}},
			})
		}, stays},
		"one with a pod without an owner stays": {func(w *harness, p *parts) { w.Add(w.Pod("bare", p.node.Name)) }, stays},
		"one of an unknown instance type stays": {func(_ *harness, p *parts) { p.node.Labels[corev1.LabelInstanceTypeStable] = "gone" }, stays},
		"unless no instance types are known": {func(w *harness, p *parts) {
			w.Provider.Types = nil
			p.node.Labels[corev1.LabelInstanceTypeStable] = "gone"
		}, goes},
		"one without an instance type goes": {func(_ *harness, p *parts) { delete(p.node.Labels, corev1.LabelInstanceTypeStable) }, goes},
		"one of an unknown pool stays": {func(_ *harness, p *parts) {
			p.node.Labels[v1.NodePoolLabelKey] = "gone"
			p.claim.Labels[v1.NodePoolLabelKey] = "gone"
		}, stays},
		"one that is never consolidated stays":     {func(w *harness, _ *parts) { neverConsolidate(w) }, stays},
		"unless it has drifted":                    {func(w *harness, p *parts) { neverConsolidate(w); drift(w, p) }, goes},
		"a drifted one of a static pool may go":    {func(w *harness, p *parts) { static(w, 1); drift(w, p) }, goes},
		"but not if it is never consolidated":      {func(w *harness, p *parts) { static(w, 1); neverConsolidate(w); drift(w, p) }, stays},
		"a budget of its pool keeps a drifted one": {func(w *harness, p *parts) { allow(w, "0", v1.DisruptionReasonDrifted); drift(w, p) }, stays},
		"and one that is consolidated":             {func(w *harness, _ *parts) { allow(w, "0", v1.DisruptionReasonUnderutilized) }, stays},
		"the budget for another reason does not":   {func(w *harness, _ *parts) { allow(w, "0", v1.DisruptionReasonDrifted) }, goes},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t)
			w.with("a", "small", costs("100"), func(p *parts) { tt.change(w, p) })
			w.pass()
			w.want(map[string]string{"a": tt.want})
		})
	}
	t.Run("a node that is marked leaves", func(t *testing.T) {
		w := newHarness(t)
		w.with("a", "small")
		w.store.Mark("test://a")
		w.pass()
		w.want(map[string]string{"a": leaves})
	})
	t.Run("a node of no NodeClaim is left alone", func(t *testing.T) {
		w := newHarness(t)
		w.with("a", "small")
		node, pod := w.RegisteredNode("b"), w.Pod("pod-b", "b")
		costs("100")(&parts{pod: pod})
		pod.OwnerReferences = w.pods["a"].OwnerReferences
		w.Add(node, pod)
		w.store.UpdateNode(node)
		w.store.UpdatePod(pod)
		w.pods["b"] = pod
		w.pass()
		w.want(map[string]string{"a": goes, "b": "100"})
	})
}

func drift(w *harness, p *parts) {
	p.claim.Status.Conditions = append(p.claim.Status.Conditions, metav1.Condition{
		Type: v1.ConditionTypeDrifted, Status: metav1.ConditionTrue, Reason: "Drifted", LastTransitionTime: metav1.NewTime(w.Time.Now()),
	})
}

func change(w *harness, f func(*v1.NodePool)) { fakecluster.Change(w.Cluster, fakecluster.Pool(), f) }

func neverConsolidate(w *harness) {
	change(w, func(p *v1.NodePool) { p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{} })
}

func static(w *harness, replicas int64) {
	change(w, func(p *v1.NodePool) { p.Spec.Replicas = &replicas })
}

func allow(w *harness, nodes string, reason v1.DisruptionReason) {
	change(w, func(p *v1.NodePool) {
		p.Spec.Disruption.Budgets = append(p.Spec.Disruption.Budgets, v1.Budget{Nodes: nodes, Reasons: []v1.DisruptionReason{reason}})
	})
}

func TestNodesAreRankedBySavings(t *testing.T) {
	t.Attr("covers", "N155 N157 N163")
	w := newHarness(t)
	w.with("a", "small")
	w.with("b", "large", costs("2147483647")) // does not count: it is not read
	w.with("c", "small", func(p *parts) { drift(w, p) })
	w.with("d", "large", func(p *parts) { p.pod.Annotations = map[string]string{v1.DisruptionCostAnnotationKey: "1073741824"} })
	w.pass()
	w.want(map[string]string{"c": "-4", "b": "-3", "a": "-2", "d": "-1"})
}

func TestPassesAreLimited(t *testing.T) {
	t.Attr("covers", "N157 N158 N162")
	w := newHarness(t)
	for i := range 52 {
		w.with(fmt.Sprintf("a%02d", i), "small")
	}
	for i := range 3 {
		w.with(fmt.Sprintf("b%d", i), "small", func(p *parts) { p.node.Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()} })
	}
	w.with("stays", "large", costs("5"), func(p *parts) { p.pod.Annotations[v1.DoNotDisruptAnnotationKey] = "true" })
	if got := w.pass(); got != 53 {
		t.Errorf("%d pods were queued, want those of 50 nodes and of 3 that are leaving", got)
	}
	w.want(map[string]string{"a00": "-52", "a49": "-3", "a50": "none", "b0": "-2147483648", "b2": "-2147483648", "stays": "5"})
	if got := w.pending(); got != 56 {
		t.Errorf("%v nodes had pods to write, want 56", got)
	}
	w.store.MarkUnconsolidated()
	if got := w.pass(); got != 3 {
		t.Errorf("%d pods were queued by the next pass, want the 3 that were left", got)
	}
	w.want(map[string]string{"a50": "-2", "a51": "-1", "stays": "none"})
	w.store.MarkUnconsolidated()
	if got := w.pass(); got != 0 || w.pending() != 0 {
		t.Errorf("%d pods were queued though all have their cost; %v nodes", got, w.pending())
	}
}

func TestPassesAreSkippedWhileNothingHappens(t *testing.T) {
	t.Attr("covers", "N153 N154")
	w := newHarness(t)
	ranked := func() bool {
		before := w.Provider.Calls("InstanceTypes")
		w.pass()
		return w.Provider.Calls("InstanceTypes") > before
	}
	steps := []struct {
		name string
		do   func()
		want bool
	}{
		{"an empty cluster", func() {}, true},
		{"it does not count", func() {}, true},
		{"a node", func() { w.with("a", "small") }, true},
		{"no change", func() {}, false},
		{"a minute", func() { w.Time.Step(time.Minute) }, false},
		{"another node", func() { w.with("b", "small") }, true},
		{"less than five minutes", func() { w.Time.Step(4 * time.Minute) }, false},
		{"five minutes", func() { w.Time.Step(time.Minute) }, true},
	}
	for _, step := range steps {
		step.do()
		if got := ranked(); got != step.want {
			t.Errorf("%s: ranked: %v, want %v", step.name, got, step.want)
		}
	}
}

func TestAFailedPassIsRepeated(t *testing.T) {
	t.Attr("covers", "N154")
	for name, broken := range map[string]func(*harness){
		"by the cloud": func(w *harness) { w.Provider.TypesErr = errors.New("no prices") },
		"by the budgets": func(w *harness) {
			w.Fail = func(_ string, obj runtime.Object) error {
				if _, budgets := obj.(*policyv1.PodDisruptionBudgetList); budgets {
					return errors.New("no budgets")
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t)
			w.with("a", "small")
			broken(w)
			if err := w.c.pass(t.Context()); err == nil || len(w.c.Queue.wanted) != 0 {
				t.Fatalf("got error %v, and %d pods", err, len(w.c.Queue.wanted))
			}
			w.Provider.TypesErr, w.Fail = nil, nil
			w.pass()
			w.want(map[string]string{"a": "-1"})
		})
	}
}
