package termination

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// evictedTTL is how long a pod that was just evicted is not added again: that long the cache may not show the eviction.
const evictedTTL = 10 * time.Second

// PodKey identifies one pod: a pod recreated with the same name has another UID.
type PodKey struct {
	types.NamespacedName
	UID types.UID
}

// EvictionQueue is the controller eviction-queue: it evicts the pods of all Nodes that are drained, each with its own backoff.
//
// Invariant: an entry is removed when its pod is gone, was evicted, or was replaced by another pod of the same name; so the queue holds
// only pods that are still to be evicted. Nothing survives a restart: every pass over a Node that is drained fills the queue again.
type EvictionQueue struct {
	deps.Shared
	// evicted has the deadline with which a pod was evicted.
	evicted *ttlcache.Cache[PodKey, time.Time]

	mu      sync.Mutex
	entries map[PodKey]entry
	// work is nil until the controller starts; entries wait for it.
	work workqueue.TypedRateLimitingInterface[PodKey]
}

type entry struct {
	// deadline is that of the pod's Node; zero if there is none. It only gets earlier.
	deadline time.Time
	// evictOnly is set for pods that are not deleted by force: at the deadline their entry is dropped.
	evictOnly bool
	// urgent is set once the backoff of the pod was reset because it must be deleted.
	urgent bool
}

// NewEvictionQueue builds the controller.
func NewEvictionQueue(shared deps.Shared) *EvictionQueue {
	return &EvictionQueue{Shared: shared, evicted: ttlcache.New[PodKey, time.Time](shared.Clock, evictedTTL), entries: map[PodKey]entry{}}
}

// Register adds the controller to the manager.
func (q *EvictionQueue) Register(m manager.Manager) error {
	workers := options.Scale(q.CPUMillis, 100, 5000)
	qps, burst := options.Bucket(100, 100, workers)
	return builder.TypedControllerManagedBy[PodKey](m).
		Named("eviction-queue").
		WatchesRawSource(source.TypedFunc[PodKey](func(_ context.Context, work workqueue.TypedRateLimitingInterface[PodKey]) error {
			q.attach(work)
			return nil
		})).
		WithOptions(controller.TypedOptions[PodKey]{
			MaxConcurrentReconciles: workers,
			RateLimiter:             ratelimit.New[PodKey](100*time.Millisecond, 10*time.Second, qps, burst),
		}).
		Complete(q)
}

// attach connects the queue to its workers and adds the entries that it already has.
func (q *EvictionQueue) attach(work workqueue.TypedRateLimitingInterface[PodKey]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.work = work
	for key := range maps.Keys(q.entries) {
		work.Add(key)
	}
}

// Add adds pods to evict; deadline is that of their Node, nil for none. A pod that is in the queue keeps its backoff, and the earlier
// of both deadlines.
func (q *EvictionQueue) Add(deadline *time.Time, pods ...*corev1.Pod) { q.add(deadline, entry{}, pods) }

// AddUrgent adds pods that must be deleted now, and resets the backoff of those in the queue, once.
func (q *EvictionQueue) AddUrgent(deadline *time.Time, pods ...*corev1.Pod) {
	q.add(deadline, entry{urgent: true}, pods)
}

// AddUntil adds pods to evict until timeout, nil for none. They are never deleted by force, and have no effect on pods that are in the
// queue because their Node is terminated.
func (q *EvictionQueue) AddUntil(timeout *time.Time, pods ...*corev1.Pod) {
	q.add(timeout, entry{evictOnly: true}, pods)
}

// Withdraw removes pods that AddUntil added.
func (q *EvictionQueue) Withdraw(pods ...*corev1.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, pod := range pods {
		if key := keyFor(pod); q.entries[key].evictOnly {
			delete(q.entries, key)
		}
	}
}

func keyFor(pod *corev1.Pod) PodKey {
	return PodKey{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod.UID}
}

func (q *EvictionQueue) add(deadline *time.Time, added entry, pods []*corev1.Pod) {
	if deadline != nil {
		added.deadline = *deadline
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, pod := range pods {
		key := keyFor(pod)
		have, in := q.entries[key]
		if before, ok := q.evicted.Get(key); ok && !in && (!added.urgent || before.Equal(added.deadline)) {
			continue
		}
		next := added
		if in {
			next = have.and(added)
		}
		q.entries[key] = next
		if q.work != nil && (!in || next != have) {
			q.work.Add(key)
		}
	}
}

// and combines an entry with another one for the same pod. Those of a Node that is terminated replace those that only evict; two of the
// same kind keep the earlier deadline.
func (e entry) and(other entry) entry {
	switch {
	case e.evictOnly && !other.evictOnly:
		return other
	case !e.evictOnly && other.evictOnly:
		return e
	}
	return entry{deadline: earlier(e.deadline, other.deadline), evictOnly: e.evictOnly, urgent: e.urgent || other.urgent}
}

// expired reports whether the pod is not evicted any more, because the time for that is over.
func (e entry) expired(now time.Time) bool {
	return e.evictOnly && !e.deadline.IsZero() && !now.Before(e.deadline)
}

// forced is the time by which the pod must be gone; nil if there is none.
func (e entry) forced() *time.Time {
	if e.evictOnly || e.deadline.IsZero() {
		return nil
	}
	return &e.deadline
}

// earlier is the earlier of two times, where zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Len returns the number of pods that are still to be evicted.
func (q *EvictionQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries)
}

// Deadlines returns the pods in the queue, by name, with the deadlines of their Nodes.
func (q *EvictionQueue) Deadlines() map[PodKey]time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make(map[PodKey]time.Time, len(q.entries))
	for key, e := range q.entries {
		out[key] = e.deadline
	}
	return out
}

func (q *EvictionQueue) entry(key PodKey) (entry, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := q.entries[key]
	return e, ok
}

func (q *EvictionQueue) drop(key PodKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.entries, key)
}

// markEvicted drops an entry whose pod was just evicted or deleted.
func (q *EvictionQueue) markEvicted(key PodKey, deadline time.Time) {
	q.evicted.Set(key, deadline)
	q.drop(key)
}

// Reconcile evicts one pod.
func (q *EvictionQueue) Reconcile(ctx context.Context, key PodKey) (reconcile.Result, error) {
	have, ok := q.entry(key)
	if !ok {
		return reconcile.Result{}, nil
	}
	pod := &corev1.Pod{}
	err := q.Client.Get(ctx, key.NamespacedName, pod)
	if apierrors.IsNotFound(err) || err == nil && pod.UID != key.UID {
		q.drop(key)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("getting pod %s: %w", key.NamespacedName, err)
	}
	deadline, now := have.forced(), q.Clock.Now()
	switch {
	case have.expired(now):
		q.drop(key)
		return reconcile.Result{}, nil
	case mustDelete(pod, deadline, now):
		return q.forceDelete(ctx, key, pod, *deadline)
	case !podrules.Active(pod):
		q.drop(key)
		return reconcile.Result{}, nil
	}
	q.Recorder.Publish(observe.Protection(pod, now)...)
	if !podrules.Evictable(pod, now) {
		return requeue.Soon(), nil
	}
	return q.evict(ctx, key, pod, have.deadline)
}
