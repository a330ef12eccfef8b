package disruption

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// annotated puts the annotation do-not-disrupt on the node.
func annotated(value string) func(*nodeAndClaim) {
	return func(m *nodeAndClaim) { m.node.Annotations[v1.DoNotDisruptAnnotationKey] = value }
}

func protectedFor(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: value}
		p.Status.StartTime = new(metav1.Now())
	}
}

// ending makes a pod terminating.
func (w *harness) ending(pod string) {
	w.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod}}
	if err := w.client.Get(w.Context(), client.ObjectKeyFromObject(p), p); err != nil {
		w.Fatal(err)
	}
	p.Finalizers = []string{"example.com/slow"}
	if err := w.client.Update(w.Context(), p); err != nil {
		w.Fatal(err)
	}
	w.remove(p)
}

func ownedBy(kind string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "owner", Controller: new(true)}}
	}
}

func TestNodeAnnotations(t *testing.T) {
	t.Attr("covers", "C278 C288 C293 C333 C334 C337")
	for _, tt := range []struct {
		name string
		set  func(w *harness)
		goes bool
	}{
		{"do-not-disrupt is true", func(w *harness) { w.addNode("pool", "a", annotated("true")) }, false},
		{"do-not-disrupt is false", func(w *harness) { w.addNode("pool", "a", annotated("false")) }, true},
		{"do-not-disrupt is a duration, which means nothing on nodes", func(w *harness) { w.addNode("pool", "a", annotated("1h")) }, true},
		{"marked in memory", func(w *harness) {
			w.addNode("pool", "a")
			w.store.Mark("test://a")
		}, false},
		{"of an unknown type", func(w *harness) {
			w.provider.types = ondemand(1)
			w.addNode("pool", "a", func(m *nodeAndClaim) { m.node.Labels[corev1.LabelInstanceTypeStable] = "antique" })
		}, true},
		{"with a pod of a ReplicaSet that is ending", func(w *harness) {
			w.addNode("pool", "a")
			w.pod("a", "web", ownedBy("ReplicaSet"))
			w.ending("web")
		}, true},
		{"with a pod of a StatefulSet that is ending", func(w *harness) {
			w.addNode("pool", "a")
			w.pod("a", "db", ownedBy("StatefulSet"))
			w.ending("db")
		}, false},
		{"with a pod of a ReplicaSet", func(w *harness) {
			w.addNode("pool", "a")
			w.pod("a", "web", ownedBy("ReplicaSet"))
		}, false},
	} {
		inBubble(t, tt.name, func(w *harness) {
			w.pool("pool", budget("100%"))
			tt.set(w)
			defer w.run()()
			w.pass(time.Minute)
			if w.wantDeleted(map[bool][]string{true: {"a"}}[tt.goes]...); tt.name == "marked in memory" {
				w.wantEvent("DisruptionBlocked node/a: Node is deleting or marked for deletion")
			}
		})
	}
}

func TestObstacleMessages(t *testing.T) {
	t.Attr("covers", "C295")
	inBubble(t, "a node that is being deleted", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("0"))
		w.addNode("pool", "a")
		w.remove(w.claim("a"))
		w.pass(time.Minute)
		w.wantEvent("DisruptionBlocked node/a: Node is deleting or marked for deletion")
		w.wantEvent("DisruptionBlocked nodeclaim/a: Node is deleting or marked for deletion")
	})
	inBubble(t, "a node without the NodePool label", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a", func(m *nodeAndClaim) {
			delete(m.node.Labels, v1.NodePoolLabelKey)
			delete(m.claim.Labels, v1.NodePoolLabelKey)
		})
		w.pass(time.Minute)
		w.wantDeleted()
		w.wantEvent("DisruptionBlocked node/a: Node doesn't have required label (label=karpenter.sh/nodepool)")
		w.wantEvent("DisruptionBlocked nodeclaim/a: Node doesn't have required label (label=karpenter.sh/nodepool)")
	})
}

func TestInvalidDeletionCost(t *testing.T) {
	t.Attr("covers", "C303 N151")
	for annotation, message := range map[string]string{
		"controller.kubernetes.io/pod-deletion-cost": "failed parsing pod deletion cost",
		"karpenter.sh/disruption-cost":               "failed parsing disruption cost",
	} {
		inBubble(t, annotation+" is logged once and skipped", func(w *harness) {
			l := w.live(ondemand(1, 8))
			w.pool("pool", budget("0"), underutilized)
			l.of("pool", "a", "x8")
			w.pod("a", "web", asks(900), func(p *corev1.Pod) { p.Annotations = map[string]string{annotation: "a lot"} })
			defer w.run()()
			w.pass(5 * time.Minute)
			if got := strings.Count(w.logs.String(), message); got != 1 {
				w.Errorf("logged %q %d times, want once", message, got)
			}
			for _, field := range []string{"annotation=" + annotation, `value="a lot"`} {
				if !strings.Contains(w.logs.String(), field) {
					w.Errorf("not logged: %s", field)
				}
			}
			w.replaceBudgets("pool", budget("1"))
			w.pass(time.Minute)
			l.wantInstanceTypes("x1")
		})
	}
}

// TestAWindowWithoutAnyEvent: the budget blocked all nodes, and no event announces that its window opens.
func TestAWindowWithoutAnyEvent(t *testing.T) {
	t.Attr("covers", "C345")
	for name, tt := range map[string]struct{ before, after string }{"empty": {"x8", ""}, "used": {"x8", "x1"}, "empty and used": {"x8 x8", "x1"}} {
		inBubble(t, "is noticed for nodes that are "+name, func(w *harness) {
			l := w.live(ondemand(1, 8))
			w.pool("pool", []v1.Budget{{Nodes: "0", Schedule: new("@daily"), Duration: &metav1.Duration{Duration: 61 * time.Second}}}, underutilized)
			if strings.Contains(name, "empty") {
				l.of("pool", "empty", "x8")
			}
			if strings.Contains(name, "used") {
				l.of("pool", "used", "x8")
				w.pod("used", "web", asks(900))
			}
			defer w.run()()
			w.pass(time.Minute)
			l.wantInstanceTypes(tt.before)
			w.pass(time.Minute)
			l.wantInstanceTypes(tt.after)
			w.wantNoEvent("ConsolidationRejected") // not even where both are checked at the same time
		})
	}
}

func TestDriftedNodesThatStay(t *testing.T) {
	t.Attr("covers", "C349 C353")
	for _, tt := range []struct {
		name  string
		node  string
		pod   func(*corev1.Pod)
		after time.Duration
		stays bool
	}{
		{"do-not-disrupt is true", "true", nil, time.Hour, true},
		{"do-not-disrupt is false", "false", nil, 30 * time.Second, false},
		{"a duration that runs", "", protectedFor("10m"), 9*time.Minute + 50*time.Second, true},
		{"a duration that is over", "", protectedFor("10m"), 10*time.Minute + 30*time.Second, false},
		{"an invalid duration", "", protectedFor("soon"), 30 * time.Second, false},
		{"false is no duration", "", protectedFor("false"), 30 * time.Second, false},
	} {
		inBubble(t, tt.name, func(w *harness) {
			l := w.live(ondemand(1))
			w.pool("pool", budget("100%"), usable)
			l.of("pool", "a", "x1")
			w.annotate("a", tt.node)
			if tt.pod == nil {
				tt.pod = func(*corev1.Pod) {}
			}
			w.pod("a", "web", asks(900), tt.pod)
			w.drift("a")
			defer w.run()()
			w.pass(tt.after)
			if got := w.metric("karpenter_nodeclaims_disrupted_total", "reason=drifted") == 0; got != tt.stays {
				w.Errorf("after %s: stays %t, want %t", w.age(), got, tt.stays)
			}
		})
	}
}

func TestStaticPoolsAtTheEdge(t *testing.T) {
	t.Attr("covers", "C371")
	for name, tt := range map[string]struct {
		replicas int64
		want     float64
	}{
		"without limits nodes are replaced":      {1, 1},
		"without replicas nothing replaces them": {0, 0},
	} {
		inBubble(t, name, func(w *harness) {
			l := w.live(ondemand(1))
			w.pool("pool", budget("100%"), usable, func(p *v1.NodePool) { p.Spec.Replicas, p.Spec.Limits = &tt.replicas, nil })
			l.of("pool", "a", "x1")
			w.drift("a")
			defer w.run()()
			w.pass(time.Minute)
			w.wantMetric("karpenter_nodeclaims_created_total", tt.want, "reason=drifted")
			w.wantMetric("karpenter_nodeclaims_disrupted_total", tt.want, "reason=drifted")
		})
	}
}

func TestBudgetsAreShown(t *testing.T) {
	t.Attr("covers", "C329")
	t.Attr("covers", "N191")
	inBubble(t, "for every pool and reason", func(w *harness) {
		w.pool("pool", []v1.Budget{
			{Nodes: "3", Reasons: []v1.DisruptionReason{v1.DisruptionReasonEmpty}},
			{Nodes: "50%", Reasons: []v1.DisruptionReason{v1.DisruptionReasonDrifted}},
			{Nodes: "7"},
		})
		w.pool("other", budget("1"))
		for _, name := range []string{"a", "b", "c", "d"} {
			w.addNode("pool", name, notConsolidatable)
		}
		w.addNode("other", "sick", notConsolidatable, func(m *nodeAndClaim) { m.node.Status.Conditions[0].Status = corev1.ConditionFalse })
		w.remove(w.claim("d"))
		defer w.run()()
		w.pass(time.Second)
		for reason, allowed := range map[string]float64{"empty": 3, "drifted": 2, "underutilized": 7} {
			w.wantMetric("karpenter_nodepools_allowed_disruptions", allowed, "nodepool=pool", "reason="+reason)
			w.wantMetric("karpenter_nodepools_nodes_consuming_budgets", 1, "nodepool=pool", "reason="+reason)
			w.wantMetric("karpenter_nodepools_allowed_disruptions", 1, "nodepool=other", "reason="+reason)
			w.wantMetric("karpenter_nodepools_nodes_consuming_budgets", 1, "nodepool=other", "reason="+reason)
		}
	})
}

// guard is a PodDisruptionBudget that selects the pods of an app and allows no disruption.
func (w *harness) guard(namespace, app string, changes ...func(*policyv1.PodDisruptionBudget)) {
	w.Helper()
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "guard-" + app},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
	for _, change := range changes {
		change(b)
	}
	w.create(b)
}

func sparesUnready(b *policyv1.PodDisruptionBudget) {
	policy := policyv1.AlwaysAllow
	b.Spec.UnhealthyPodEvictionPolicy = &policy
}

func notReadyPod(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
}

// TestWhatPodsAndNodesForbid: the same rules hold for nodes that are replaced and nodes that are removed.
func TestWhatPodsAndNodesForbid(t *testing.T) {
	t.Attr("covers", "C392 C393 C405 C406 C407")
	for _, tt := range []struct {
		name  string
		set   func(w *harness)
		pod   func(*corev1.Pod)
		moves bool
	}{
		{name: "nothing, a pod without an owner", moves: true},
		{name: "a budget", set: func(w *harness) { w.guard("default", "web") }},
		{name: "a budget, and a grace period changes nothing", set: func(w *harness) {
			w.guard("default", "web")
			w.grant("a")
		}},
		{name: "a budget of another namespace", set: func(w *harness) { w.guard("other", "web") }, moves: true},
		{name: "a budget that spares the unready", set: func(w *harness) { w.guard("default", "web", sparesUnready) }, pod: notReadyPod, moves: true},
		{name: "a budget that does not", set: func(w *harness) { w.guard("default", "web") }, pod: notReadyPod},
		{name: "do-not-disrupt on the pod", pod: protected},
		{name: "do-not-disrupt on the pod, and a grace period changes nothing", pod: protected, set: func(w *harness) { w.grant("a") }},
		{name: "do-not-disrupt on the node", set: func(w *harness) { w.annotate("a", "true") }},
		{name: "false on the node", set: func(w *harness) { w.annotate("a", "false") }, moves: true},
		{name: "a duration that runs", pod: protectedFor("10m")},
		{name: "a duration that is over", pod: protectedFor("5s"), moves: true},
		{name: "an invalid duration", pod: protectedFor("soon"), moves: true},
	} {
		for _, target := range []string{"by a cheaper node", "by capacity on another node"} {
			inBubble(t, tt.name+", "+target, func(w *harness) {
				l := w.live(ondemand(1, 8))
				w.pool("pool", budget("100%"), underutilized)
				l.of("pool", "a", "x8")
				if target != "by a cheaper node" {
					w.unmanagedNode("b", 4)
				}
				if tt.pod == nil {
					tt.pod = func(*corev1.Pod) {}
				}
				w.pod("a", "web", asks(900), tt.pod)
				if tt.set != nil {
					tt.set(w)
				}
				defer w.run()()
				w.pass(time.Minute)
				if got := w.metric("karpenter_nodeclaims_disrupted_total", "reason=underutilized") == 1; got != tt.moves {
					w.Errorf("moved %t, want %t", got, tt.moves)
				}
			})
		}
	}
}

// grant gives a NodeClaim a termination grace period.
func (w *harness) grant(name string) {
	w.Helper()
	claim := w.claim(name)
	claim.Spec.TerminationGracePeriod = &metav1Hour
	if err := w.client.Update(w.Context(), claim); err != nil {
		w.Fatal(err)
	}
}

// annotate puts the annotation do-not-disrupt on an existing node.
func (w *harness) annotate(name, value string) {
	w.Helper()
	node := w.node(name)
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[v1.DoNotDisruptAnnotationKey] = value
	if err := w.client.Update(w.Context(), node); err != nil {
		w.Fatal(err)
	}
}
