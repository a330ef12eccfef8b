package nodeclaim_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
)

// podHarness is a claim "a" with its Node and a controller that has just started.
type podHarness struct {
	*fakecluster.Cluster
	claim  *v1.NodeClaim
	events *nodeclaim.PodEvents
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newPodHarness(t *testing.T) podHarness {
	w := fakecluster.New(t)
	claim := w.LaunchedClaim("a", v1.ConditionTypeRegistered)
	w.Add(claim, w.RegisteredNode("a"))
	out := podHarness{Cluster: w, claim: claim}
	out.restart()
	return out
}

// restart drops all state that is not in the API server.
func (p *podHarness) restart() {
	p.events = nodeclaim.NewPodEvents(p.Shared)
	p.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
}

// settle processes the queue and returns the recorded time.
func (p *podHarness) settle() time.Time {
	p.Helper()
	for p.queue.Len() > 0 {
		request, _ := p.queue.Get()
		if _, err := p.events.Reconcile(p.Context(), request); err != nil {
			p.Fatal(err)
		}
		p.queue.Done(request)
	}
	return fakecluster.Must(p.Cluster, p.claim).Status.LastPodEventTime.Time
}

func (p *podHarness) create(pod *corev1.Pod, initial bool) {
	p.events.Events().Create(p.Context(), event.CreateEvent{Object: pod, IsInInitialList: initial}, p.queue)
}

func (p *podHarness) update(before *corev1.Pod, change func(*corev1.Pod)) {
	after := before.DeepCopy()
	change(after)
	p.events.Events().Update(p.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, p.queue)
}

func (p *podHarness) remove(pod *corev1.Pod) {
	p.events.Events().Delete(p.Context(), event.DeleteEvent{Object: pod}, p.queue)
}

func TestPodEvents(t *testing.T) {
	t.Attr("covers", "C097 C098 C099 C102 C103")
	bind := func(p *corev1.Pod) { p.Spec.NodeName = "a" }
	finish := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	leave := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }
	daemon := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d"}
	for name, c := range map[string]struct {
		act     func(*podHarness)
		stamped bool
	}{
		"a pod is bound":        {func(p *podHarness) { p.update(p.Pod("x", ""), bind) }, true},
		"a bound pod appears":   {func(p *podHarness) { p.create(p.Pod("x", "a"), false) }, true},
		"a pod finishes":        {func(p *podHarness) { p.update(p.Pod("x", "a"), finish) }, true},
		"a pod has to leave":    {func(p *podHarness) { p.update(p.Pod("x", "a"), leave) }, true},
		"a pod vanishes unseen": {func(p *podHarness) { p.remove(p.Pod("x", "a")) }, true},
		"a pod that was leaving is gone": {func(p *podHarness) {
			pod := p.Pod("x", "a")
			leave(pod)
			p.remove(pod)
		}, false},
		"a pod merely changes": {func(p *podHarness) {
			p.update(p.Pod("x", "a"), func(q *corev1.Pod) { q.Labels = map[string]string{"a": "b"} })
		}, false},
		"an unbound pod finishes":  {func(p *podHarness) { p.update(p.Pod("x", ""), finish) }, false},
		"a pod on an unknown Node": {func(p *podHarness) { p.create(p.Pod("x", "nowhere"), false) }, false},
		"a DaemonSet pod": {func(p *podHarness) {
			pod := p.Pod("x", "a")
			pod.OwnerReferences = append(pod.OwnerReferences, daemon)
			p.create(pod, false)
		}, false},
		"a Node without claim": {func(p *podHarness) {
			p.Add(p.Node("alone"))
			p.create(p.Pod("x", "alone"), false)
		}, false},
		"an unmanaged claim": {func(p *podHarness) {
			fakecluster.Change(p.Cluster, p.claim, func(c *v1.NodeClaim) { c.Spec.NodeClassRef = fakecluster.Unmanaged() })
			p.create(p.Pod("x", "a"), false)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPodHarness(t)
			p.Time.Step(time.Hour)
			c.act(&p)
			got := p.settle()
			if c.stamped && !got.Equal(p.Time.Now()) || !c.stamped && !got.IsZero() {
				t.Errorf("on record: %v, now %v", got, p.Time.Now())
			}
		})
	}
}

func TestPodEventsOverTime(t *testing.T) {
	t.Run("writes are ten seconds apart", func(t *testing.T) {
		t.Attr("covers", "C100 C101")
		p := newPodHarness(t)
		start := p.Time.Now()
		for _, step := range []struct{ after, want time.Duration }{{0, 0}, {9 * time.Second, 0}, {time.Second, 10 * time.Second}, {time.Hour, time.Hour + 10*time.Second}} {
			p.Time.Step(step.after)
			p.create(p.Pod("x", "a"), false)
			if got := p.settle().Sub(start); got != step.want {
				t.Errorf("at %v on record %v, want %v", p.Time.Since(start), got, step.want)
			}
		}
	})
	t.Run("a cache that lags does not double the writes", func(t *testing.T) {
		p := newPodHarness(t)
		p.create(p.Pod("x", "a"), false)
		first := p.settle()
		fakecluster.Change(p.Cluster, p.claim, func(c *v1.NodeClaim) { c.Status.LastPodEventTime = metav1.Time{} })
		p.Time.Step(5 * time.Second)
		p.create(p.Pod("y", "a"), false)
		if got := p.settle(); !got.IsZero() {
			t.Errorf("written again at %v after %v", got, first)
		}
	})
	boundAt := func(p *podHarness, at time.Time) *corev1.Pod {
		pod := p.Pod("x", "a")
		pod.CreationTimestamp = metav1.NewTime(at.Add(-time.Minute))
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
		return pod
	}
	t.Run("a restart does not move the time", func(t *testing.T) {
		t.Attr("covers", "C104 W009")
		p := newPodHarness(t)
		pod := boundAt(&p, p.Time.Now())
		p.create(pod, false)
		recorded := p.settle()
		second := boundAt(&p, p.Time.Now().Add(5*time.Second)) // was deduplicated into the first write
		p.Time.Step(time.Hour)
		p.restart()
		p.create(pod, true)
		p.create(second, true)
		if got := p.settle(); !got.Equal(recorded) {
			t.Errorf("moved from %v to %v", recorded, got)
		}
	})
	t.Run("changes while no replica was running have their own time", func(t *testing.T) {
		p := newPodHarness(t)
		p.create(boundAt(&p, p.Time.Now()), false)
		start := p.settle()
		p.Time.Step(time.Hour)
		p.restart()
		p.create(boundAt(&p, start.Add(20*time.Minute)), true)
		if got := p.settle().Sub(start); got != 20*time.Minute {
			t.Errorf("on record %v after the start, want 20m", got)
		}
		leaving := boundAt(&p, start)
		grace := int64(60)
		leaving.DeletionTimestamp, leaving.DeletionGracePeriodSeconds = &metav1.Time{Time: start.Add(31 * time.Minute)}, &grace
		p.Time.Step(time.Minute)
		p.restart()
		p.create(leaving, true)
		if got := p.settle().Sub(start); got != 30*time.Minute {
			t.Errorf("on record %v after the start, want 30m", got)
		}
		finished := boundAt(&p, start)
		finished.Status.Phase = corev1.PodFailed
		finished.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(start.Add(40 * time.Minute))}}}}
		p.restart()
		p.create(finished, true)
		if got := p.settle().Sub(start); got != 40*time.Minute {
			t.Errorf("on record %v after the start, want 40m", got)
		}
	})
	t.Run("a failed write is repeated", func(t *testing.T) {
		p := newPodHarness(t)
		p.create(p.Pod("x", "a"), false)
		p.Fail = fakecluster.Always("patch-status", p.claim, fakecluster.Conflict())
		request, _ := p.queue.Get()
		if _, err := p.events.Reconcile(p.Context(), request); err == nil {
			t.Fatal("the failure was swallowed")
		}
		p.queue.Done(request)
		p.queue.Add(request)
		p.Fail = nil
		if p.settle().IsZero() {
			t.Error("nothing on record")
		}
	})
}
