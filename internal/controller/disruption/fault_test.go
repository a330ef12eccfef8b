package disruption

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// failing returns err for the first n calls of op on the named object; n < 0 means always.
func failing(op, name string, n int, err error) fault {
	var calls atomic.Int64
	return func(did string, obj runtime.Object) error {
		if !on(did, obj, op, name) || n >= 0 && calls.Add(1) > int64(n) {
			return nil
		}
		return err
	}
}

// before runs f once, before the first op on the named object.
func before(op, name string, f func()) fault {
	var once sync.Once
	return func(did string, obj runtime.Object) error {
		if on(did, obj, op, name) {
			once.Do(f)
		}
		return nil
	}
}

func on(did string, obj runtime.Object, op, name string) bool {
	o, ok := obj.(client.Object)
	return ok && did == op && o.GetName() == name
}

func conflict(name string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, name, errors.New("another client was faster"))
}

func TestCrash(t *testing.T) {
	t.Attr("covers", "C264 C265")
	inBubble(t, "between taint and delete leaves no mark behind", func(w *harness) {
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		dead := errors.New("killed")
		stop := w.run()
		w.fail(failing("delete", "a", -1, dead))
		w.pass(20 * time.Second)
		if !disrupted(w.node("a")) {
			w.Fatal("the node should be tainted by now")
		}
		stop()
		w.store.Unmark("test://a") // a new process has no marks in memory
		w.heal()
		w.pod("a", "web")
		defer w.run()()
		w.pass(2 * time.Second)
		w.wantUnmarked("a")
		w.wantDeleted()
	})
	inBubble(t, "while a command waits leaves nothing to clean, and the node is found again", func(w *harness) {
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		stop := w.run()
		w.pass(10 * time.Second)
		stop()
		w.wantUnmarked("a")
		defer w.run()()
		w.pass(14 * time.Second)
		w.wantDeleted()
		w.pass(3 * time.Second)
		w.wantDeleted("a")
	})
	inBubble(t, "marks of nodes that are really deleted stay", func(w *harness) {
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		stop := w.run()
		w.pass(20 * time.Second)
		w.wantDeleted("a")
		stop()
		w.store.Unmark("test://a")
		defer w.run()()
		w.pass(20 * time.Second)
		if !disrupted(w.node("a")) {
			w.Error("the taint of a deleting node was removed")
		}
	})
	inBubble(t, "marks of a command that is slow to mark its nodes stay", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		// A slow response of the API server; in the synctest bubble it takes no real time.
		w.fail(before("patch-status", "b", func() { time.Sleep(5 * time.Second) }))
		w.pass(18 * time.Second)
		w.wantDeleted()
		if !disrupted(w.node("a")) || !disrupted(w.node("b")) {
			w.Error("a pass took marks from a running command")
		}
		w.pass(7 * time.Second)
		w.wantDeleted("a", "b")
	})
	inBubble(t, "marks of a node stay if its NodeClaim turns out to be deleted", func(w *harness) {
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a", func(m *nodeAndClaim) { m.node.Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()} })
		before, _ := w.store.Snapshot().Nodes.Get("test://a")
		w.remove(w.claim("a"))
		if err := New(w.deps).planner.marks.unmark(w.Context(), before); err != nil {
			w.Error(err)
		}
		if !disrupted(w.node("a")) {
			w.Error("the taint of a deleting node was removed")
		}
	})
	inBubble(t, "the reason of a node that is rebooted stays until the end", func(w *harness) {
		w.Attr("covers", "N051")
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a", notConsolidatable, func(m *nodeAndClaim) {
			set := condition.For(m.claim, time.Now())
			set.TrueWithReason(v1.ConditionTypeDisruptionReason, "Unhealthy", "Unhealthy")
			set.TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "")
		})
		defer w.run()()
		w.pass(2 * time.Second)
		if c := condition.For(w.claim("a"), time.Now()).Get(v1.ConditionTypeDisruptionReason); c == nil || c.Reason != "Unhealthy" {
			w.Errorf("the disruption reason is %v", c)
		}
	})
	inBubble(t, "a leftover condition alone is cleared as well", func(w *harness) {
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a", notConsolidatable, func(m *nodeAndClaim) {
			condition.For(m.claim, time.Now()).TrueWithReason(v1.ConditionTypeDisruptionReason, "Empty", "Empty")
		})
		defer w.run()()
		w.pass(2 * time.Second)
		w.wantUnmarked("a")
	})
}

func TestConflicts(t *testing.T) {
	inBubble(t, "a conflict on the taint is retried", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.fail(failing("patch", "a", 2, conflict("a")))
		w.pass(20 * time.Second)
		w.wantDeleted("a")
	})
	inBubble(t, "a node that cannot be tainted is kept and the others are removed", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		w.fail(failing("patch", "a", -1, conflict("a")))
		w.pass(25 * time.Second)
		w.wantDeleted("b")
		w.wantUnmarked("a")
	})
	inBubble(t, "a node whose condition cannot be set loses its taint again", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.fail(failing("patch-status", "a", -1, conflict("a")))
		w.pass(19 * time.Second)
		w.wantDeleted()
		w.wantUnmarked("a")
	})
	inBubble(t, "conflicts during the clean-up are not errors", func(w *harness) {
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a", notConsolidatable, func(m *nodeAndClaim) { m.node.Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()} })
		w.fail(failing("patch", "a", 7, conflict("a")))
		defer w.run()()
		w.pass(5 * time.Second)
		w.wantUnmarked("a")
		if strings.Contains(w.logs.String(), "level=ERROR") {
			w.Error(w.logs.String())
		}
	})
}

func TestCommandsEnd(t *testing.T) {
	t.Attr("covers", "C469 C473")
	inBubble(t, "when a NodeClaim is gone before the check", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a", withoutFinalizer)
		w.addNode("pool", "b")
		w.pass(10 * time.Second)
		w.remove(w.claim("a"))
		w.remove(w.node("a"))
		w.pass(10 * time.Second)
		w.wantDeleted("b")
	})
	inBubble(t, "when a NodeClaim is gone between taint and delete; it is not counted and the others complete", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a", withoutFinalizer)
		w.addNode("pool", "b")
		w.fail(before("patch", "a", func() { w.remove(w.claim("a")) }))
		w.pass(20 * time.Second)
		w.wantDeleted("b")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1)
		w.wantNoEvent("DisruptionTerminating node/a")
	})
	inBubble(t, "when pods are bound between taint and delete, the node is unmarked", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		var came atomic.Bool
		w.fail(before("patch", "a", func() {
			came.Store(true)
			w.pod("a", "web")
		}))
		w.pass(20 * time.Second)
		if !came.Load() {
			w.Fatal("the node was never tainted")
		}
		w.wantDeleted()
		w.wantUnmarked("a")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 0)
	})
	inBubble(t, "when deletes fail for a while, every node is counted once", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		w.fail(failing("delete", "a", 30, errors.New("overloaded")))
		w.pass(20 * time.Second)
		w.wantDeleted("b")
		w.pass(30 * time.Second)
		w.wantDeleted("a", "b")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 2)
	})
	inBubble(t, "when deletes fail for ten minutes, nodes are unmarked", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		w.fail(failing("delete", "a", -1, errors.New("overloaded")))
		w.pass(10 * time.Minute)
		if n, _ := w.store.Snapshot().Nodes.Get("test://a"); !disrupted(w.node("a")) || !n.Deleting {
			w.Error("the node went back to service too early")
		}
		w.pass(25 * time.Second)
		w.wantDeleted("b")
		w.wantUnmarked("a")
		if n, _ := w.store.Snapshot().Nodes.Get("test://a"); n.Deleting {
			w.Error("the snapshot marks the node as deleting")
		}
		w.wantLog("command reached its timeout")
	})
	inBubble(t, "independently of each other", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.fail(failing("delete", "a", -1, errors.New("overloaded")))
		w.pass(20 * time.Second)
		w.addNode("pool", "b")
		w.pass(17 * time.Second)
		w.wantDeleted("b")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 2)
	})
}

func withoutFinalizer(m *nodeAndClaim) { m.claim.Finalizers = nil }

func TestLoop(t *testing.T) {
	t.Attr("covers", "C259 W006")
	inBubble(t, "recovers within ten seconds after failures of any length", func(w *harness) {
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.fail(func(op string, obj runtime.Object) error {
			if _, ok := obj.(*v1.NodePoolList); ok && op == "list" {
				return errors.New("no answer")
			}
			return nil
		})
		defer w.run()()
		w.pass(time.Hour)
		w.wantDeleted()
		w.heal()
		w.pass(26 * time.Second)
		w.wantDeleted("a")
	})
	inBubble(t, "skips a node whose pods cannot be listed, and disrupts others", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		var lists atomic.Int64
		w.fail(func(op string, obj runtime.Object) error {
			if _, ok := obj.(*corev1.PodList); ok && op == "list" && lists.Add(1)%2 == 1 { // a before b, by id
				return errors.New("no answer")
			}
			return nil
		})
		w.addNode("pool", "b")
		w.pass(5 * time.Second)
		w.wantLog("[b] (savings")
		w.wantLog("cannot list the pods of a node")
	})
	inBubble(t, "does nothing before the cluster state is synced, and checks again after a second", func(w *harness) {
		w.deps.Feed = w.newFeed()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		defer w.run()()
		w.pass(time.Hour)
		w.wantDeleted()
		defer w.launch(w.deps.Feed.Start)()
		// One second until the next check and fifteen until the validation; with a period of ten seconds it could be 25.
		w.pass(16*time.Second + 100*time.Millisecond)
		w.wantDeleted("a")
	})
}
