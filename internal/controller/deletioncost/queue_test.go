package deletioncost

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"

	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

const writes = "karpenter_pod_deletion_cost_pod_annotation_writes_total"

// costOf is the deletion cost of a pod; "none" without one.
func costOf(w *fakecluster.Cluster, pod *corev1.Pod) string {
	w.Helper()
	if cost, ok := fakecluster.Must(w, pod).Annotations[corev1.PodDeletionCost]; ok {
		return cost
	}
	return "none"
}

// queued is a queue with a pod that has the deletion cost before and is to have the deletion cost wanted.
func queued(t *testing.T, before, wanted string) (*fakecluster.Cluster, *Queue, *corev1.Pod) {
	t.Helper()
	w := fakecluster.New(t)
	pod := w.Pod("p", "a")
	pod.Annotations = map[string]string{"keep": "this"}
	if before != "" {
		pod.Annotations[corev1.PodDeletionCost] = before
	}
	w.Add(pod)
	q := NewQueue(w.Shared)
	q.set(wanted, []managedPod{{key: keyOf(pod)}})
	return w, q, pod
}

func TestDeletionCostsAreWritten(t *testing.T) {
	t.Attr("covers", "N159 N161 N162")
	for name, tt := range map[string]struct{ before, wanted, want, result string }{
		"a missing one is added":        {"", "-3", "-3", updated},
		"that of a user is overwritten": {"100", "-3", "-3", updated},
		"one is removed":                {"-3", "", "none", updated},
		"the right one is left alone":   {"-3", "-3", "-3", skippedUnchanged},
		"so is none":                    {"", "", "none", skippedUnchanged},
	} {
		t.Run(name, func(t *testing.T) {
			w, q, pod := queued(t, tt.before, tt.wanted)
			if tt.result == skippedUnchanged {
				w.Fail = func(op string, _ runtime.Object) error {
					if op == "patch" {
						t.Error("the pod is written")
					}
					return nil
				}
			}
			if _, err := q.Reconcile(t.Context(), keyOf(pod)); err != nil {
				t.Fatal(err)
			}
			if got := costOf(w, pod); got != tt.want {
				t.Errorf("deletion cost %s, want %s", got, tt.want)
			}
			if fakecluster.Must(w, pod).Annotations["keep"] != "this" {
				t.Error("another annotation is lost")
			}
			if got := w.Count(writes, "result="+tt.result); got != 1 || w.Count(writes) != 1 {
				t.Errorf("%v writes of %v with the result %s, want 1 of 1", got, w.Count(writes), tt.result)
			}
			if len(q.wanted) != 0 {
				t.Errorf("left in the queue: %v", q.wanted)
			}
		})
	}
}

func TestFailedWrites(t *testing.T) {
	t.Attr("covers", "N161")
	for name, tt := range map[string]struct {
		op     string
		answer error
		result string
		again  bool
	}{
		"of a pod that is gone":                {"patch", fakecluster.NotFound(), skippedNotFound, false},
		"of a pod that is gone from the cache": {"get", fakecluster.NotFound(), skippedNotFound, false},
		"of a pod that changed":                {"patch", fakecluster.Conflict(), skippedConflict, false},
		"because of too many requests":         {"patch", apierrors.NewTooManyRequestsError("later"), failed, true},
		"without an answer":                    {"patch", errors.New("connection refused"), failed, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, q, pod := queued(t, "", "-3")
			w.Fail = fakecluster.Always(tt.op, &corev1.Pod{}, tt.answer)
			if _, err := q.Reconcile(t.Context(), keyOf(pod)); (err != nil) != tt.again {
				t.Errorf("got error %v, retried: %v", err, tt.again)
			}
			if _, left := q.get(keyOf(pod)); left != tt.again {
				t.Errorf("in the queue: %v, want %v", left, tt.again)
			}
			if got := w.Count(writes, "result="+tt.result); got != 1 || w.Count(writes) != 1 {
				t.Errorf("%v writes of %v with the result %s, want 1 of 1", got, w.Count(writes), tt.result)
			}
		})
	}
}

func TestAPodWithTheNameOfAnother(t *testing.T) {
	t.Attr("covers", "N160 N161")
	w, q, pod := queued(t, "", "-3")
	w.Delete(pod)
	next := w.Pod("p", "a")
	next.UID = "another"
	w.Add(next)
	if _, err := q.Reconcile(t.Context(), keyOf(pod)); err != nil {
		t.Fatal(err)
	}
	if got := costOf(w, next); got != "none" || w.Count(writes) != 0 || len(q.wanted) != 0 {
		t.Errorf("deletion cost %s, %v writes, left in the queue: %v", got, w.Count(writes), q.wanted)
	}
}

// TestACostThatIsDecidedDuringAWrite also covers that the newer one is the value that the cache still shows.
func TestACostThatIsDecidedDuringAWrite(t *testing.T) {
	t.Attr("covers", "N160")
	for _, newer := range []string{"-9", "-1", ""} {
		t.Run("to "+newer, func(t *testing.T) {
			w, q, pod := queued(t, "-1", "-3")
			defer w.Freeze(pod)()
			w.Fail = func(op string, _ runtime.Object) error {
				if op == "patch" {
					w.Fail = nil
					q.set(newer, []managedPod{{key: keyOf(pod)}})
				}
				return nil
			}
			if _, err := q.Reconcile(t.Context(), keyOf(pod)); err != nil {
				t.Fatal(err)
			}
			want := newer
			if want == "" {
				want = "none"
			}
			if got := costOf(w, pod); got != want || len(q.wanted) != 0 {
				t.Errorf("deletion cost %s, want %s; left in the queue: %v", got, want, q.wanted)
			}
		})
	}
}

// TestAConflictDropsOnlyWhatWasWritten: the newer decision is work again.
func TestAConflictDropsOnlyWhatWasWritten(t *testing.T) {
	t.Attr("covers", "N160")
	w, q, pod := queued(t, "", "-3")
	w.Fail = func(op string, _ runtime.Object) error {
		if op != "patch" {
			return nil
		}
		w.Fail = nil
		q.set("-9", []managedPod{{key: keyOf(pod)}})
		return fakecluster.Conflict()
	}
	for range 2 {
		if _, err := q.Reconcile(t.Context(), keyOf(pod)); err != nil {
			t.Fatal(err)
		}
	}
	if got := costOf(w, pod); got != "-9" {
		t.Errorf("deletion cost %s, want -9", got)
	}
}

func TestTheLastDecisionCounts(t *testing.T) {
	t.Attr("covers", "N160")
	w, q, pod := queued(t, "", "-3")
	work := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[podKey]())
	defer work.ShutDown()
	q.attach(work)
	q.set("-2", []managedPod{{key: keyOf(pod)}})
	q.set("-2", []managedPod{{key: keyOf(pod)}})
	if work.Len() != 1 {
		t.Errorf("%d entries for one pod", work.Len())
	}
	if _, err := q.Reconcile(t.Context(), keyOf(pod)); err != nil {
		t.Fatal(err)
	}
	if got := costOf(w, pod); got != "-2" || w.Count(writes) != 1 {
		t.Errorf("deletion cost %s after %v writes, want -2 after 1", got, w.Count(writes))
	}
	q.set("-5", []managedPod{{key: keyOf(pod)}})
	q.withdraw([]managedPod{{key: keyOf(pod)}})
	if _, err := q.Reconcile(t.Context(), keyOf(pod)); err != nil || costOf(w, pod) != "-2" {
		t.Errorf("a decision that was withdrawn is written: %s, %v", costOf(w, pod), err)
	}
}
