package nodeclaim

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// podEventDedupe is how close two pod events may be to be written as one. It is shorter than the validation delay of
// consolidation, so that churn during a decision is always seen.
const podEventDedupe = 10 * time.Second

// PodEvents is the controller nodeclaim.podevents: it writes to each NodeClaim when its pods last changed, which starts consolidateAfter.
//
// Problem: a restart delivers every pod as if it were new, and must not restart consolidateAfter. Approach: watch events have the
// current time; pods of the initial list have the time of the last change in their own status, and a time that is not newer than the
// recorded one changes nothing. So a restart repeats nothing and records what changed while no replica was running.
type PodEvents struct {
	deps.Shared
	written *ttlcache.Cache[claimID, struct{}]

	mu sync.Mutex
	// newest holds, by Node name, the last event that is not written yet.
	newest map[string]time.Time
}

// NewPodEvents builds the controller.
func NewPodEvents(shared deps.Shared) *PodEvents {
	return &PodEvents{Shared: shared, written: ttlcache.New[claimID, struct{}](shared.Clock, podEventDedupe), newest: map[string]time.Time{}}
}

// Register adds the controller to the manager.
func (p *PodEvents) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named("nodeclaim.podevents").
		Watches(&corev1.Pod{}, p.Events()).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Scale(p.CPUMillis, 10, 1000)}).
		Complete(p)
}

// Events turns pod events into requests that name the pod's Node.
func (p *PodEvents) Events() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			pod := e.Object.(*corev1.Pod)
			at := p.Clock.Now()
			if e.IsInInitialList {
				at = lastChange(pod)
			}
			p.record(pod, at, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod); relevant(before, after) {
				p.record(after, p.Clock.Now(), q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			// A pod that was seen terminating or finished has been recorded then.
			if pod := e.Object.(*corev1.Pod); podrules.Active(pod) {
				p.record(pod, p.Clock.Now(), q)
			}
		},
	}
}

// record keeps the event of a bound pod until it is written.
func (p *PodEvents) record(pod *corev1.Pod, at time.Time, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if pod.Spec.NodeName == "" || podrules.OwnedByDaemonSet(pod) {
		return
	}
	p.mu.Lock()
	if at.After(p.newest[pod.Spec.NodeName]) {
		p.newest[pod.Spec.NodeName] = at
	}
	p.mu.Unlock()
	q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: pod.Spec.NodeName}})
}

// Reconcile writes the newest event of one Node to its NodeClaim.
func (p *PodEvents) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	p.mu.Lock()
	at, ok := p.newest[request.Name]
	p.mu.Unlock()
	if !ok {
		return reconcile.Result{}, nil
	}
	if err := p.write(ctx, request.Name, at); err != nil {
		return reconcile.Result{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.newest[request.Name].Equal(at) {
		delete(p.newest, request.Name)
	}
	return reconcile.Result{}, nil
}

// write writes the time of an event, unless the recorded time covers it.
func (p *PodEvents) write(ctx context.Context, nodeName string, at time.Time) error {
	node := &corev1.Node{}
	if err := p.Client.Get(ctx, types.NamespacedName{Name: nodeName}, node); err != nil {
		return client.IgnoreNotFound(err)
	}
	claim, err := nodelookup.ClaimOf(ctx, p.Client, node)
	if errors.Is(err, nodelookup.NotFound) || errors.Is(err, nodelookup.Duplicate) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, recent := p.written.Get(claim.UID); recent || !managed.Is(p.Cloud, claim) || covered(claim, at) {
		return nil
	}
	stored := claim.DeepCopy()
	claim.Status.LastPodEventTime = metav1.NewTime(at)
	if err := p.Client.Status().Patch(ctx, claim, client.MergeFrom(stored)); err != nil {
		return client.IgnoreNotFound(err)
	}
	p.written.Set(claim.UID, struct{}{})
	return nil
}

// covered reports whether the recorded time is close enough to the time of the event.
func covered(claim *v1.NodeClaim, at time.Time) bool {
	last := claim.Status.LastPodEventTime
	return !last.IsZero() && at.Sub(last.Time) < podEventDedupe
}

// relevant reports whether an update of a pod matters to consolidation: it was bound, finished or deleted.
func relevant(before, after *corev1.Pod) bool {
	bound := before.Spec.NodeName == "" && after.Spec.NodeName != ""
	finished := !podrules.Terminal(before) && podrules.Terminal(after)
	leaving := !podrules.Terminating(before) && podrules.Terminating(after)
	return bound || finished || leaving
}

// lastChange is when the pod was last bound, finished or deleted, by its own status.
func lastChange(pod *corev1.Pod) time.Time {
	last := pod.CreationTimestamp.Time
	see := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			see(c.LastTransitionTime.Time)
		}
	}
	if pod.DeletionTimestamp != nil {
		// The timestamp includes the grace period; the request came that much earlier.
		grace := time.Duration(0)
		if pod.DeletionGracePeriodSeconds != nil {
			grace = podrules.Grace(*pod.DeletionGracePeriodSeconds)
		}
		see(pod.DeletionTimestamp.Add(-grace))
	}
	if podrules.Terminal(pod) {
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Terminated != nil {
				see(c.State.Terminated.FinishedAt.Time)
			}
		}
	}
	return last
}
