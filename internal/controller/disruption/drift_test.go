package disruption

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// drift marks NodeClaims as drifted, the first one first.
func (w *harness) drift(names ...string) {
	w.Helper()
	for i, name := range names {
		claim := w.claim(name)
		stored := claim.DeepCopy()
		condition.For(claim, time.Now().Add(time.Duration(i)*time.Millisecond)).TrueWithReason(v1.ConditionTypeDrifted, "NodePoolDrifted", "NodePoolDrifted")
		if err := w.client.Status().Patch(w.Context(), claim, client.MergeFrom(stored)); err != nil {
			w.Fatal(err)
		}
	}
}

// alive is the number of NodeClaims that are not being deleted.
func (w *harness) alive() int {
	w.Helper()
	var list v1.NodeClaimList
	if err := w.client.List(w.Context(), &list, client.UnsafeDisableDeepCopy); err != nil {
		w.Fatal(err)
	}
	n := 0
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			n++
		}
	}
	return n
}

var metav1Hour = metav1.Duration{Duration: time.Hour}

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

// removeReplacements removes NodeClaims that have no instance.
func (w *harness) removeReplacements() {
	w.Helper()
	var list v1.NodeClaimList
	if err := w.client.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	for i := range list.Items {
		claim := &list.Items[i]
		if claim.Status.ProviderID != "" {
			continue
		}
		claim.Finalizers = nil
		if err := w.client.Update(w.Context(), claim); err != nil {
			w.Fatal(err)
		}
		w.remove(claim)
	}
}

func TestDrift(t *testing.T) {
	t.Attr("covers", "C271 C275 C328 C348 C350 C351 C354 C359 C362 C468 C469 C476 W010")
	inBubble(t, "ten drifted nodes roll under a budget of three, filled immediately", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("3"), usable)
		var names []string
		for i := range 10 {
			name := fmt.Sprintf("n%d", i)
			names = append(names, name)
			l.of("pool", name, "x1")
			w.pod(name, "pod-"+name, asks(900))
		}
		l.launch.Store(int64(time.Minute))
		w.drift(names...)
		defer w.run()()
		w.pass(3 * time.Second)
		w.wantMetric("karpenter_nodeclaims_created_total", 3, "reason=drifted")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 3, "decision=replace", "reason=drifted")
		w.wantDeleted()
		for range 60 {
			w.pass(5 * time.Second)
			if going := len(w.deleted()); going > 3 {
				w.Errorf("after %s: %d nodes go at once", w.age(), going)
			}
		}
		w.pass(5 * time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 10, "reason=drifted")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 10, "reason=drifted", "consolidation_policy=")
		l.wantInstanceTypes("x1 x1 x1 x1 x1 x1 x1 x1 x1 x1")
		w.wantMetric("karpenter_nodeclaims_created_total", 10)
	})
	inBubble(t, "a replacement that disappears ends the command, and the node is unmarked", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("1"), usable)
		l.of("pool", "a", "x1")
		w.pod("a", "web", asks(900))
		l.launch.Store(-1)
		w.drift("a")
		defer w.run()()
		w.pass(3 * time.Second)
		if !disrupted(w.node("a")) {
			w.Fatal("the node is not tainted")
		}
		w.removeReplacements()
		w.pass(3 * time.Second)
		w.wantUnmarked("a")
		w.wantDeleted()
		w.wantMetric("karpenter_voluntary_disruption_queue_failures_total", 1, "decision=replace", "reason=drifted", "consolidation_type=")
		w.wantLog("replacement was deleted")
		if n, _ := w.store.Snapshot().Nodes.Get("test://a"); n.Deleting {
			w.Error("the node is still marked")
		}
		// The node is in backoff before it is retried.
		w.pass(10 * time.Second)
		w.wantMetric("karpenter_nodeclaims_created_total", 1, "reason=drifted")
		w.pass(time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 2, "reason=drifted")
	})
	inBubble(t, "a replacement that never comes up is withdrawn after ten minutes", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("1"), usable)
		l.of("pool", "a", "x1")
		w.pod("a", "web", asks(900))
		l.launch.Store(-1)
		w.drift("a")
		defer w.run()()
		w.pass(10*time.Minute - time.Second)
		w.wantDeleted()
		if !disrupted(w.node("a")) {
			w.Error("the node went back to service early")
		}
		w.pass(5 * time.Second)
		w.wantUnmarked("a")
		w.wantLog("command reached its timeout")
		w.wantMetric("karpenter_voluntary_disruption_queue_failures_total", 1)
		if got := w.alive(); got != 1 {
			w.Errorf("%d NodeClaims, want the old one alone", got)
		}
	})
	inBubble(t, "a replacement that cannot be written leaves nothing behind", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("1"), usable)
		l.of("pool", "a", "x1")
		w.pod("a", "web", asks(900))
		w.drift("a")
		w.fail(func(op string, obj runtime.Object) error {
			if _, ok := obj.(*v1.NodeClaim); ok && op == "create" {
				return errors.New("insufficient storage at the API server")
			}
			return nil
		})
		stop := w.run()
		w.pass(10 * time.Second)
		w.wantUnmarked("a")
		// The NodeClaim might have been written; the store must not count it once it is known not to exist.
		if n := len(w.store.Snapshot().Nodes.Sorted()); n != 1 {
			w.Errorf("the store has %d nodes, want only the old one", n)
		}
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 0)
		w.heal()
		w.pass(2 * time.Minute)
		l.wantInstanceTypes("x1")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1)
		stop()
	})
	inBubble(t, "a protected pod blocks a drifted node, but not one with a termination grace period", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("100%"), usable)
		l.of("pool", "a", "x1")
		l.of("pool", "b", "x1")
		w.pod("a", "web", asks(900), protected)
		w.pod("b", "api", asks(900), protected)
		claim := w.claim("b")
		claim.Spec.TerminationGracePeriod = &metav1Hour
		if err := w.client.Update(w.Context(), claim); err != nil {
			w.Fatal(err)
		}
		w.drift("a", "b")
		defer w.run()()
		w.pass(3 * time.Second)
		l.wantInstanceTypes("x1")
		w.wantUnmarked("a")
		w.wantEvent(`DisruptionBlocked node/a: Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/web)`)
		// Nothing was launched for the pod that blocks the drain until the deadline.
		w.wantMetric("karpenter_nodeclaims_created_total", 0, "reason=drifted")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "termination_mode=eventual")
	})
	inBubble(t, "a node whose pods do not fit elsewhere gets an event", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("1"), usable)
		l.of("pool", "a", "x1")
		w.pod("a", "web", asks(950), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"example.com/rack": "7"} })
		w.drift("a")
		defer w.run()()
		w.pass(time.Minute)
		w.wantDeleted()
		w.wantUnmarked("a")
		w.wantEvents("DisruptionBlocked node/a: Not all pods would schedule, default/web => ", 1)
	})
}

func TestStaticDrift(t *testing.T) {
	t.Attr("covers", "C365 C366 C368 N238")
	static := func(replicas int64, limit string) func(*v1.NodePool) {
		return func(p *v1.NodePool) {
			usable(p)
			p.Spec.Replicas = &replicas
			if limit != "" {
				p.Spec.Limits = v1.Limits{v1.ResourceNodes: quantity(limit)}
			}
		}
	}
	inBubble(t, "nodes are replaced one for one within the limit", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("100%"), static(3, "4"))
		for _, name := range []string{"a", "b", "c"} {
			l.of("pool", name, "x1")
			w.pod(name, "pod-"+name, asks(100))
		}
		w.drift("a", "b", "c")
		defer w.run()()
		for range 120 {
			w.pass(time.Second)
			if counts := w.store.Pools.Counts("pool"); counts.Active+counts.PendingDisruption+counts.Deleting > 4 {
				w.Fatalf("after %s: %+v", w.age(), counts)
			}
		}
		l.wantInstanceTypes("x1 x1 x1")
		w.wantMetric("karpenter_nodeclaims_created_total", 3, "reason=drifted")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 3, "reason=drifted")
		if left := w.store.Pools.Reserve("pool", 9, new(int64(4))); left.Left() != 1 {
			w.Errorf("%d places are left under the limit, want 1: a reservation leaked", left.Left())
		}
	})
	inBubble(t, "nothing drifts when the limit leaves no capacity", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("100%"), static(1, "1"))
		l.of("pool", "a", "x1")
		w.drift("a")
		defer w.run()()
		w.pass(time.Hour)
		w.wantDeleted()
		w.wantUnmarked("a")
		w.wantMetric("karpenter_nodeclaims_created_total", 0)
	})
	inBubble(t, "a NodeClaim that is launching counts once against the limit", func(w *harness) {
		l := w.live(ondemand(1))
		l.launch.Store(-1)
		w.pool("pool", budget("1"), static(2, "4"))
		l.of("pool", "a", "x1")
		l.of("pool", "b", "x1")
		w.drift("a")
		defer w.run()()
		w.pass(10 * time.Second)
		if n := w.alive(); n != 3 {
			w.Fatalf("%d NodeClaims, want 3", n)
		}
		if left := w.store.Pools.Reserve("pool", 9, new(int64(4))); left.Left() != 1 {
			w.Errorf("%d places are left under the limit, want 1", left.Left())
		}
	})
	inBubble(t, "a mark that fails releases the reservation", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("100%"), static(1, "2"))
		l.of("pool", "a", "x1")
		w.drift("a")
		w.fail(func(op string, obj runtime.Object) error {
			if _, ok := obj.(*corev1.Node); ok && op == "patch" {
				return errors.New("no")
			}
			return nil
		})
		defer w.run()()
		w.pass(10 * time.Second)
		if left := w.store.Pools.Reserve("pool", 9, new(int64(2))); left.Left() != 1 {
			w.Errorf("%d places are left under the limit, want 1", left.Left())
		}
		if counts := w.store.Pools.Counts("pool"); counts.Active != 1 || counts.PendingDisruption != 0 {
			w.Errorf("counts %+v", counts)
		}
	})
}

func TestCommandsThatAreCutShort(t *testing.T) {
	t.Attr("covers", "C264 C471 C481")
	inBubble(t, "a restart removes marks, and the same command is proposed again", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("1"), usable)
		l.of("pool", "a", "x1")
		w.pod("a", "web", asks(900))
		l.launch.Store(int64(time.Hour))
		w.drift("a")
		stop := w.run()
		w.pass(5 * time.Second)
		stop()
		if !disrupted(w.node("a")) {
			w.Fatal("the node is not tainted")
		}
		w.store.Unmark("test://a") // a new process knows of no marks
		l.launch.Store(int64(30 * time.Second))
		defer w.run()()
		w.pass(time.Second)
		w.wantUnmarked("a")
		w.pass(3 * time.Minute)
		// The NodeClaim that was launching is an ordinary node now, and the pod moves to it.
		l.wantInstanceTypes("x1")
		if w.alive() != 1 {
			w.Errorf("%d NodeClaims, want one", w.alive())
		}
	})
	inBubble(t, "a command continues for the others when its first node is gone", func(w *harness) {
		l := w.live(ondemand(2, 4, 8))
		w.pool("pool", budget("100%"), underutilized)
		for _, name := range []string{"a", "b", "c"} {
			l.of("pool", name, "x8")
			w.pod(name, "pod-"+name, asks(3500))
			w.pod(name, "job-"+name, asks(400))
		}
		l.launch.Store(int64(30 * time.Second))
		defer w.run()()
		w.pass(20 * time.Second)
		going := 0
		for _, name := range []string{"a", "b", "c"} {
			if disrupted(w.node(name)) {
				if going++; going == 1 {
					w.remove(w.claim(name))
				}
			}
		}
		if going == 0 {
			w.Fatal("nothing is being disrupted")
		}
		w.pass(5 * time.Minute)
		for i := range w.marked() {
			w.Errorf("node %s is still marked", w.marked()[i])
		}
		l.wantNoChange()
	})
	inBubble(t, "several replacements have to be ready before the node is deleted", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("1"), usable)
		big := sized("x4", 4, map[string]float64{v1.CapacityTypeOnDemand: 4})
		w.provider.types = append(w.provider.types, big)
		l.of("pool", "a", "x4")
		w.provider.types = w.provider.types[:1]
		w.pod("a", "web", asks(900))
		w.pod("a", "api", asks(900))
		l.launch.Store(int64(30 * time.Second))
		w.drift("a")
		defer w.run()()
		w.pass(29 * time.Second)
		w.wantDeleted()
		w.wantMetric("karpenter_nodeclaims_created_total", 2, "reason=drifted")
		w.pass(time.Minute)
		l.wantInstanceTypes("x1 x1")
	})
}

// marked are the nodes with the disruption taint.
func (w *harness) marked() []string {
	w.Helper()
	var list corev1.NodeList
	if err := w.client.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		if disrupted(&list.Items[i]) {
			out = append(out, list.Items[i].Name)
		}
	}
	return out
}
