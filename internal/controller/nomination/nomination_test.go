package nomination

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/create"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// harness is a node that has just registered, and the pod web that is planned on it.
type harness struct {
	*fakecluster.Cluster
	n     *Nominator
	claim *v1.NodeClaim
	node  *corev1.Node
	pod   *corev1.Pod
}

func begin(t *testing.T, change ...func(*corev1.Pod)) *harness {
	w := fakecluster.New(t)
	h := &harness{Cluster: w, n: New(w.Shared)}
	h.claim, h.node = w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a")
	h.node.Finalizers = nil
	w.Add(h.claim, h.node)
	h.pod = h.waiting("web", change...)
	return h
}

// waiting creates a pod for which kube-scheduler found no place, and that is planned on the node.
func (h *harness) waiting(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	for _, f := range change {
		f(pod)
	}
	h.Add(pod)
	h.Planned.Put(h.claim.Name, create.PlannedPod{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}, UID: types.UID("uid-" + name)})
	return pod
}

// nominated is the node to which the pod is nominated.
func (h *harness) nominated() string {
	return fakecluster.Must(h.Cluster, h.pod).Status.NominatedNodeName
}

// change changes the pod as another client, and lets the controller see that.
func (h *harness) change(f func(*corev1.Pod)) {
	fakecluster.Change(h.Cluster, h.pod, f)
	h.see()
}

func (h *harness) see() {
	pod := fakecluster.Must(h.Cluster, h.pod)
	h.n.Follow().Update(h.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: pod}, nil)
}

// counts checks how often each result was counted; results that are not listed are 0.
func (h *harness) counts(want map[string]float64) {
	h.Helper()
	for _, result := range []string{written, bound, boundElsewhere, cleared, withdrawn, deleted, conflict, failed, timedOut, throttled} {
		if got := testutil.ToFloat64(h.Metrics.Pods.Nominations.WithLabelValues(result)); got != want[result] {
			h.Errorf("%s is counted %v times, want %v", result, got, want[result])
		}
	}
}

func TestPodsAreNominatedOnceTheirNodeTakesPods(t *testing.T) {
	t.Attr("covers", "N486 N488")
	h := begin(t)
	fakecluster.Change(h.Cluster, h.node, func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "example.com/agent", Effect: corev1.TaintEffectNoSchedule}}
	})
	h.Run(h.n, h.node)
	if got := h.nominated(); got != "" {
		t.Errorf("nominated to %q while a startup taint keeps pods away", got)
	}
	fakecluster.Change(h.Cluster, h.node, func(n *corev1.Node) { n.Spec.Taints = nil })
	h.Run(h.n, h.node)
	h.Run(h.n, h.node)
	if got := h.nominated(); got != h.node.Name {
		t.Errorf("nominated to %q, want %q", got, h.node.Name)
	}
	h.counts(map[string]float64{written: 1})
}

func TestPodsAreNominatedBeforeTheTaintOfRegistrationIsRemoved(t *testing.T) {
	t.Attr("covers", "N486")
	h := begin(t)
	node := fakecluster.Change(h.Cluster, h.node, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{v1.UnregisteredNoExecuteTaint()} })
	h.Run(h.n, h.node)
	if got := h.nominated(); got != "" {
		t.Errorf("nominated to %q by the watch, before registration", got)
	}
	h.n.Nominate(t.Context(), h.claim, node)
	if got := h.nominated(); got != h.node.Name {
		t.Errorf("nominated to %q, want %q", got, h.node.Name)
	}
}

func TestPodsThatGetNoNomination(t *testing.T) {
	t.Attr("covers", "N482 N486 N487")
	never := corev1.PreemptNever
	for name, change := range map[string]func(*corev1.Pod){
		"is bound":                      func(p *corev1.Pod) { p.Spec.NodeName = "b" },
		"is nominated by another":       func(p *corev1.Pod) { p.Status.NominatedNodeName = "b" },
		"was not tried yet":             func(p *corev1.Pod) { p.Status.Conditions = nil },
		"keeps it in spite of failures": func(p *corev1.Pod) { p.Spec.PreemptionPolicy = &never },
		"was created again":             func(p *corev1.Pod) { p.UID = "another" },
	} {
		h := begin(t, change)
		before := h.nominated()
		h.Run(h.n, h.node)
		if got := h.nominated(); got != before {
			t.Errorf("a pod that %s is nominated to %q, want %q", name, got, before)
		}
		h.counts(nil)
	}
}

func TestWhatBecomesOfNominationsIsCounted(t *testing.T) {
	t.Attr("covers", "N487 N488")
	for _, c := range []struct {
		name  string
		after func(*harness)
		want  string
	}{
		{"bound to the node", func(h *harness) { h.change(func(p *corev1.Pod) { p.Spec.NodeName = h.node.Name }) }, bound},
		{"bound to another node", func(h *harness) { h.change(func(p *corev1.Pod) { p.Spec.NodeName = "b" }) }, boundElsewhere},
		{"removed by kube-scheduler", func(h *harness) {
			h.see()
			h.change(func(p *corev1.Pod) { p.Status.NominatedNodeName = "" })
			h.change(func(p *corev1.Pod) { p.Spec.NodeName = "b" })
		}, cleared},
		{"pod deleted", func(h *harness) { h.n.Follow().Delete(h.Context(), event.DeleteEvent{Object: h.pod}, nil) }, deleted},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := begin(t)
			h.Run(h.n, h.node)
			c.after(h)
			h.counts(map[string]float64{written: 1, c.want: 1})
			h.Run(h.n, h.node)
			h.counts(map[string]float64{written: 1, c.want: 1})
		})
	}
}

func TestNominationsAreWithdrawn(t *testing.T) {
	t.Attr("covers", "N487")
	for name, change := range map[string]func(*harness){
		"the node is gone": func(h *harness) { h.Delete(h.node) },
		"the node is disrupted": func(h *harness) {
			fakecluster.Change(h.Cluster, h.node, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()} })
		},
		"kube-scheduler does not bind the pod": func(h *harness) { h.Time.Step(lifetime) },
	} {
		t.Run(name, func(t *testing.T) {
			h := begin(t)
			h.Run(h.n, h.node)
			change(h)
			h.Run(h.n, h.node)
			if got := h.nominated(); got != "" {
				t.Errorf("nominated to %q", got)
			}
			h.counts(map[string]float64{written: 1, withdrawn: 1})
		})
	}
}

// TestABindingThatIsSeenBeforeTheAnswer: the event of the binding comes while the nomination is written, before the controller remembers it.
func TestABindingThatIsSeenBeforeTheAnswer(t *testing.T) {
	t.Attr("covers", "N488")
	h := begin(t)
	h.Run(h.n, h.node)
	fakecluster.Change(h.Cluster, h.pod, func(p *corev1.Pod) { p.Spec.NodeName = h.node.Name })
	h.Time.Step(lifetime)
	if got := h.Run(h.n, h.node); got.RequeueAfter != 0 {
		t.Errorf("the node is looked at again after %s, for a pod that is bound", got.RequeueAfter)
	}
	h.counts(map[string]float64{written: 1, bound: 1})
}

func TestNominationsOfOthersStay(t *testing.T) {
	t.Attr("covers", "N487")
	h := begin(t)
	h.Run(h.n, h.node)
	h.change(func(p *corev1.Pod) { p.Status.NominatedNodeName = "b" })
	fakecluster.Change(h.Cluster, h.node, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()} })
	h.Run(h.n, h.node)
	if got := h.nominated(); got != "b" {
		t.Errorf("nominated to %q, want b as another component wrote", got)
	}
}

func TestFailedWritesAreNotRetried(t *testing.T) {
	t.Attr("covers", "N486 N488")
	for result, err := range map[string]error{
		conflict: apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web", nil),
		failed:   errors.New("no connection"),
	} {
		h := begin(t)
		calls := 0
		h.Fail = func(op string, obj runtime.Object) error {
			if _, pod := obj.(*corev1.Pod); pod && op == "patch-status" {
				calls++
				return err
			}
			return nil
		}
		h.Run(h.n, h.node)
		if calls != 1 {
			t.Errorf("%s: %d writes, want 1", result, calls)
		}
		h.counts(map[string]float64{result: 1})
	}
}

func TestASlowAnswerIsNoError(t *testing.T) {
	t.Attr("covers", "N486")
	h := begin(t)
	ctx, cancel := context.WithCancel(t.Context())
	h.Fail = func(op string, _ runtime.Object) error {
		if op == "patch-status" {
			cancel() // as the deadline does
			return ctx.Err()
		}
		return nil
	}
	h.n.Nominate(ctx, h.claim, h.node)
	h.counts(map[string]float64{timedOut: 1})
}
