package termination

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

func keyOf(pod *corev1.Pod) PodKey {
	return PodKey{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod.UID}
}

func status(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: message}}
}

// newEvictionHarness is a claim with a Node and one pod in the queue.
func newEvictionHarness(t *testing.T, deadline *time.Time, changes ...func(*corev1.Pod)) (*fakecluster.Cluster, *EvictionQueue, *corev1.Pod) {
	w := fakecluster.New(t)
	pod := w.Pod("p", "a")
	for _, change := range changes {
		change(pod)
	}
	w.Add(w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a"), pod)
	q := NewEvictionQueue(w.Shared)
	q.Add(deadline, pod)
	return w, q, pod
}

func TestEvictionAnswers(t *testing.T) {
	t.Attr("covers", "C230 C231 C232 C234 C235 C239 C240")
	for name, c := range map[string]struct {
		answer error
		again  bool
		err    bool
		left   int
		code   string
		event  string
	}{
		"accepted":                 {code: "200", event: "Normal Evicted p: Evicted pod: Forceful Termination"},
		"the pod is gone":          {answer: fakecluster.NotFound(), code: "404"},
		"another pod of that name": {answer: fakecluster.Conflict(), code: "409"},
		"a budget forbids it": {
			answer: apierrors.NewTooManyRequests("no", 0), again: true, left: 1, code: "429",
			event: "Warning FailedDraining a: Failed to drain node, evicting pod violates a PDB (Pod=default/p)",
		},
		"two budgets": {
			answer: status(http.StatusInternalServerError, severalBudgets), again: true, left: 1, code: "500",
			event: "Warning FailedDraining a: Failed to drain node, eviction does not support multiple PDBs (Pod=default/p)",
		},
		"another server error":   {answer: status(http.StatusInternalServerError, "etcd"), err: true, left: 1, code: "500"},
		"no answer from the API": {answer: errors.New("connection refused"), err: true, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, q, pod := newEvictionHarness(t, nil)
			if c.answer != nil {
				w.Fail = fakecluster.Always("create-eviction", pod, c.answer)
			}
			result, err := q.Reconcile(w.Context(), keyOf(pod))
			if (err != nil) != c.err || (result == requeue.Soon()) != c.again || q.Len() != c.left {
				t.Errorf("result %+v, error %v, %d left", result, err, q.Len())
			}
			if c.code != "" && w.Count("karpenter_pods_eviction_requests_total", "code="+c.code) != 1 {
				t.Errorf("code %s was not counted", c.code)
			}
			var want []string
			if c.event != "" {
				want = []string{c.event}
			}
			if !slices.Equal(w.Events(), want) {
				t.Errorf("events %q, want %q", w.Events(), want)
			}
			if _, there := fakecluster.Get(w, pod); there == (c.answer == nil) {
				t.Errorf("pod there: %v", there)
			}
		})
	}
	t.Run("a budget forbids it and the Node is gone", func(t *testing.T) {
		t.Attr("covers", "N270")
		w, q, pod := newEvictionHarness(t, nil)
		w.Delete(fakecluster.Change(w, w.RegisteredNode("a"), func(n *corev1.Node) { n.Finalizers = nil }))
		w.Fail = fakecluster.Always("create-eviction", pod, apierrors.NewTooManyRequests("no", 0))
		if result, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil || result != (reconcile.Result{}) || q.Len() != 0 || len(w.Events()) != 0 {
			t.Errorf("result %+v, error %v, %d left, events %v", result, err, q.Len(), w.Events())
		}
	})
	t.Run("a budget forbids it and the Node cannot be read", func(t *testing.T) {
		w, q, pod := newEvictionHarness(t, nil)
		w.Fail = func(op string, o runtime.Object) error {
			if _, node := o.(*corev1.Node); node && op == "get" {
				return errors.New("no")
			}
			return fakecluster.Always("create-eviction", pod, apierrors.NewTooManyRequests("no", 0))(op, o)
		}
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err == nil || q.Len() != 1 || len(w.Events()) != 0 {
			t.Errorf("error %v, %d left, events %v", err, q.Len(), w.Events())
		}
	})
	t.Run("the reason of the disruption", func(t *testing.T) {
		t.Attr("covers", "C238")
		w, q, pod := newEvictionHarness(t, nil)
		fakecluster.Change(w, w.LaunchedClaim("a"), func(c *v1.NodeClaim) {
			condition.For(c, w.Time.Now()).TrueWithReason(v1.ConditionTypeDisruptionReason, "Drifted", "Drifted")
		})
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil {
			t.Fatal(err)
		}
		if w.Count("karpenter_pods_drained_total", "reason=Drifted") != 1 || !slices.Equal(w.Events(), []string{"Normal Evicted p: Evicted pod: Drifted"}) {
			t.Errorf("events %q", w.Events())
		}
	})
}

func TestEvictionQueueEntries(t *testing.T) {
	t.Run("a pod that vanished leaves no entry", func(t *testing.T) {
		t.Attr("covers", "C241 W017")
		w, q, pod := newEvictionHarness(t, nil)
		w.Delete(pod)
		if result, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil || result != (reconcile.Result{}) || q.Len() != 0 {
			t.Errorf("result %+v, error %v, %d left", result, err, q.Len())
		}
	})
	t.Run("the namesake of a pod is not evicted for it", func(t *testing.T) {
		t.Attr("covers", "C236")
		w, q, pod := newEvictionHarness(t, nil)
		w.Delete(pod)
		namesake := w.Pod("p", "a")
		namesake.UID = "other"
		w.Add(namesake)
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil || q.Len() != 0 {
			t.Errorf("error %v, %d left", err, q.Len())
		}
		if _, there := fakecluster.Get(w, namesake); !there {
			t.Error("it was evicted")
		}
	})
	t.Run("a pod that is only evicted is dropped at the end, and never deleted", func(t *testing.T) {
		t.Attr("covers", "N269")
		w := fakecluster.New(t)
		pod := w.Pod("p", "a")
		w.Add(w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a"), pod)
		q := NewEvictionQueue(w.Shared)
		end := w.Time.Now().Add(time.Minute)
		q.AddUntil(&end, pod)
		w.Fail = fakecluster.Always("create-eviction", pod, apierrors.NewTooManyRequests("no", 0))
		for _, left := range []int{1, 0} {
			w.Time.Step(59 * time.Second) // its own grace period ends after the deadline
			if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil || q.Len() != left {
				t.Errorf("error %v, %d left, want %d", err, q.Len(), left)
			}
		}
		if _, there := fakecluster.Get(w, pod); !there {
			t.Error("it was deleted")
		}
	})
	t.Run("termination goes before a reboot", func(t *testing.T) {
		t.Attr("covers", "N269")
		w := fakecluster.New(t)
		pod, q := w.Pod("p", "a"), NewEvictionQueue(w.Shared)
		at := func(minutes int) *time.Time {
			out := w.Time.Now().Add(time.Duration(minutes) * time.Minute)
			return &out
		}
		for i, step := range []struct {
			evictOnly      bool
			deadline, want *time.Time
		}{
			{true, nil, nil},
			{true, at(9), at(9)},
			{true, at(5), at(5)},
			{true, at(7), at(5)},
			{true, nil, at(5)},
			{false, nil, nil},
			{true, at(1), nil},
			{false, at(8), at(8)},
			{false, at(9), at(8)},
			{true, at(1), at(8)},
		} {
			if step.evictOnly {
				q.AddUntil(step.deadline, pod)
			} else {
				q.Add(step.deadline, pod)
			}
			var want time.Time
			if step.want != nil {
				want = *step.want
			}
			if got := q.Deadlines()[keyOf(pod)]; !got.Equal(want) {
				t.Errorf("step %d: the deadline is %v, want %v", i, got, want)
			}
			if got := q.entries[keyOf(pod)].evictOnly; got != (i < 5) {
				t.Errorf("step %d: only evicts: %v", i, got)
			}
		}
		if q.Withdraw(pod); q.Len() != 1 {
			t.Error("the pod of a terminating node was withdrawn")
		}
	})
	t.Run("evictions of a reboot are counted as such", func(t *testing.T) {
		w, q, pod := newEvictionHarness(t, nil)
		fakecluster.Change(w, w.LaunchedClaim("a"), func(c *v1.NodeClaim) {
			condition.For(c, w.Time.Now()).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "")
		})
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil || w.Count("karpenter_pods_drained_total", "reason=Rebooting") != 1 {
			t.Errorf("error %v, events %q", err, w.Events())
		}
	})
	t.Run("unknown pods are ignored", func(t *testing.T) {
		w, q, _ := newEvictionHarness(t, nil)
		stranger := w.Pod("stranger", "a")
		w.Add(stranger)
		if _, err := q.Reconcile(w.Context(), keyOf(stranger)); err != nil {
			t.Error(err)
		}
		if _, there := fakecluster.Get(w, stranger); !there {
			t.Error("it was evicted")
		}
	})
	t.Run("finished pods are dropped", func(t *testing.T) {
		w, q, pod := newEvictionHarness(t, nil, finished)
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil || q.Len() != 0 {
			t.Errorf("error %v, %d left", err, q.Len())
		}
	})
	t.Run("a protected pod waits, and goes when the protection ends", func(t *testing.T) {
		t.Attr("covers", "C228")
		w, q, pod := newEvictionHarness(t, nil, func(p *corev1.Pod) {
			p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "10m"}
			p.Status.StartTime = &metav1.Time{Time: time.Now().Truncate(time.Second)}
		})
		if result, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil || result != requeue.Soon() {
			t.Errorf("result %+v, error %v", result, err)
		}
		w.Time.Step(11 * time.Minute)
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil || q.Len() != 0 {
			t.Errorf("error %v, %d left", err, q.Len())
		}
		if events := w.Events(); len(events) != 3 {
			t.Errorf("events %q; want until, elapsed, evicted", events)
		}
	})
	t.Run("an unreadable protection is told and ignored", func(t *testing.T) {
		w, q, pod := newEvictionHarness(t, nil, func(p *corev1.Pod) {
			p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "false"}
		})
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil {
			t.Fatal(err)
		}
		want := `Warning InvalidDoNotDisruptAnnotation p: Invalid karpenter.sh/do-not-disrupt annotation: failed to parse "false" as a duration: time: invalid duration "false", ignoring annotation`
		if !slices.Contains(w.Events(), want) {
			t.Errorf("events %q", w.Events())
		}
	})
	t.Run("deadlines only get earlier", func(t *testing.T) {
		t.Attr("covers", "C248")
		w := fakecluster.New(t)
		q, pod := NewEvictionQueue(w.Shared), w.Pod("p", "a")
		at := func(d time.Duration) *time.Time { x := w.Time.Now().Add(d); return &x }
		for _, step := range []struct{ add, want *time.Time }{{nil, nil}, {at(time.Hour), at(time.Hour)}, {at(2 * time.Hour), at(time.Hour)}, {nil, at(time.Hour)}, {at(time.Minute), at(time.Minute)}} {
			q.Add(step.add, pod)
			got := q.Deadlines()[keyOf(pod)]
			if step.want == nil && !got.IsZero() || step.want != nil && !got.Equal(*step.want) {
				t.Errorf("after %v: %v, want %v", step.add, got, step.want)
			}
		}
	})
	t.Run("a pod just evicted is not taken in again from a cache that lags", func(t *testing.T) {
		w, q, pod := newEvictionHarness(t, nil)
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil {
			t.Fatal(err)
		}
		q.Add(nil, pod)
		if q.Len() != 0 {
			t.Error("it was")
		}
		w.Time.Step(evictedTTL)
		q.Add(nil, pod)
		if q.Len() != 1 {
			t.Error("it is never taken in again")
		}
	})
}

func TestForceDelete(t *testing.T) {
	t.Attr("covers", "C250")
	deadlineIn := func(d time.Duration) *time.Time { at := time.Now().Truncate(time.Second).Add(d); return &at }
	t.Run("past the budget and the annotation, with what is left of the time", func(t *testing.T) {
		t.Attr("covers", "C242 C243")
		deadline := deadlineIn(20 * time.Second)
		w, q, pod := newEvictionHarness(t, deadline, pinned)
		w.Fail = fakecluster.Always("create-eviction", pod, apierrors.NewTooManyRequests("no", 0))
		*deadline = w.Time.Now().Add(20 * time.Second)
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil {
			t.Fatal(err)
		}
		if _, there := fakecluster.Get(w, pod); there || q.Len() != 0 {
			t.Errorf("pod there: %v, %d left", there, q.Len())
		}
		if n := w.Count("karpenter_pods_drained_total", "reason=Forceful Termination"); n != 1 {
			t.Errorf("counted %v", n)
		}
		if len(w.Events()) != 1 {
			t.Errorf("events %q", w.Events())
		}
	})
	t.Run("a pod waiting for its budget is upgraded when its time comes", func(t *testing.T) {
		t.Attr("covers", "C247")
		w, q, pod := newEvictionHarness(t, deadlineIn(time.Minute))
		w.Fail = fakecluster.Always("create-eviction", pod, apierrors.NewTooManyRequests("no", 0))
		if result, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil || result != requeue.Soon() {
			t.Fatalf("result %+v, error %v", result, err)
		}
		w.Time.Step(45 * time.Second)
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil {
			t.Fatal(err)
		}
		if _, there := fakecluster.Get(w, pod); there {
			t.Error("it was not deleted")
		}
	})
	for name, c := range map[string]struct {
		answer error
		err    bool
	}{"gone": {fakecluster.NotFound(), false}, "another UID": {fakecluster.Conflict(), true}} {
		t.Run(name, func(t *testing.T) {
			w, q, pod := newEvictionHarness(t, deadlineIn(-time.Hour))
			w.Fail = fakecluster.Always("delete", pod, c.answer)
			_, err := q.Reconcile(w.Context(), keyOf(pod))
			if (err != nil) != c.err || q.Len() != map[bool]int{true: 1}[c.err] || w.Count("karpenter_pods_drained_total") != 0 {
				t.Errorf("error %v, %d left", err, q.Len())
			}
		})
	}
}

func TestEvictionQueueWakesItsWorkers(t *testing.T) {
	work := func() workqueue.TypedRateLimitingInterface[PodKey] {
		return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[PodKey]())
	}
	drainAll := func(q workqueue.TypedRateLimitingInterface[PodKey]) int {
		n := q.Len()
		for range n {
			key, _ := q.Get()
			q.Done(key)
		}
		return n
	}
	w := fakecluster.New(t)
	q, queue := NewEvictionQueue(w.Shared), work()
	pod := w.Pod("p", "a")
	q.Add(nil, pod)
	q.attach(queue)
	if n := drainAll(queue); n != 1 {
		t.Errorf("%d woken by the start, want 1", n)
	}
	q.Add(nil, pod)
	if n := drainAll(queue); n != 0 {
		t.Error("a pod that is in was put in front of its back-off")
	}
	deadline := w.Time.Now().Add(time.Minute)
	q.AddUrgent(&deadline, pod)
	if n := drainAll(queue); n != 1 {
		t.Error("a pod that must go now was not put in front")
	}
	q.AddUrgent(&deadline, pod)
	if n := drainAll(queue); n != 0 {
		t.Error("it was put in front repeatedly")
	}
}

func TestEvictionQueueIsSafe(t *testing.T) {
	t.Attr("covers", "C237")
	w := fakecluster.New(t)
	w.Add(w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a"))
	var pods []*corev1.Pod
	for i := range 50 {
		pod := w.Pod(fmt.Sprint("p", i), "a")
		w.Add(pod)
		pods = append(pods, pod)
	}
	q := NewEvictionQueue(w.Shared)
	var wg sync.WaitGroup
	for _, pod := range pods {
		wg.Go(func() { q.Add(nil, pod) })
		wg.Go(func() { _, _ = q.Reconcile(w.Context(), keyOf(pod)) })
	}
	wg.Wait()
	for _, pod := range pods {
		if _, err := q.Reconcile(w.Context(), keyOf(pod)); err != nil {
			t.Error(err)
		}
	}
	if q.Len() != 0 || w.Count("karpenter_pods_drained_total") != 50 {
		t.Errorf("%d left, %v counted", q.Len(), w.Count("karpenter_pods_drained_total"))
	}
}
