package deletioncost

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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// podKey identifies one pod: a pod recreated with the same name has another UID.
type podKey struct {
	types.NamespacedName
	uid types.UID
}

// Queue is the controller pod.deletioncost.queue: it writes the deletion costs of pods.
//
// Invariant: an entry holds the deletion cost that a pod should have, the last one that was decided, and stays until a pod with exactly that cost
// was seen or written, or is abandoned until the next pass. Nothing survives a restart: the next pass adds every pod that is still wrong.
type Queue struct {
	deps.Shared

	mu sync.Mutex
	// wanted are the deletion costs to write, empty to remove the annotation.
	wanted map[podKey]string
	// work is nil until the controller starts; entries wait for it.
	work workqueue.TypedRateLimitingInterface[podKey]
}

// NewQueue builds the controller.
func NewQueue(shared deps.Shared) *Queue { return &Queue{Shared: shared, wanted: map[podKey]string{}} }

// Register adds the controller to the manager.
func (q *Queue) Register(m manager.Manager) error {
	workers := options.Scale(q.CPUMillis, 100, 5000)
	qps, burst := options.Bucket(100, 100, workers)
	return builder.TypedControllerManagedBy[podKey](m).
		Named(queueName).
		WatchesRawSource(source.TypedFunc[podKey](func(_ context.Context, work workqueue.TypedRateLimitingInterface[podKey]) error {
			q.attach(work)
			return nil
		})).
		WithOptions(controller.TypedOptions[podKey]{
			MaxConcurrentReconciles: workers,
			RateLimiter:             ratelimit.New[podKey](100*time.Millisecond, 10*time.Second, qps, burst),
		}).
		Complete(q)
}

// attach connects the queue to its workers and adds the entries that it already has.
func (q *Queue) attach(work workqueue.TypedRateLimitingInterface[podKey]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.work = work
	for key := range maps.Keys(q.wanted) {
		work.Add(key)
	}
}

func keyOf(pod *corev1.Pod) podKey {
	return podKey{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod.UID}
}

// set decides the deletion cost of pods. It replaces what was decided before and is not written yet.
func (q *Queue) set(cost string, pods []managedPod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, pod := range pods {
		before, queued := q.wanted[pod.key]
		q.wanted[pod.key] = cost
		if q.work != nil && (!queued || before != cost) {
			q.work.Add(pod.key)
		}
	}
}

// withdraw forgets what was decided for pods that have the right cost without it.
func (q *Queue) withdraw(pods []managedPod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.wanted) == 0 {
		return
	}
	for _, pod := range pods {
		delete(q.wanted, pod.key)
	}
}

func (q *Queue) get(key podKey) (cost string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	cost, ok = q.wanted[key]
	return cost, ok
}

// finish drops an entry, unless it changed after cost was read from it: the change has added it to the work again.
func (q *Queue) finish(key podKey, cost string) (done bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now, ok := q.wanted[key]; ok && now != cost {
		return false
	}
	delete(q.wanted, key)
	return true
}

// The results of writes, as label values.
const (
	updated          = "updated"
	skippedUnchanged = "skipped_unchanged"
	skippedNotFound  = "skipped_notfound"
	skippedConflict  = "skipped_conflict"
	failed           = "error"
)

// Reconcile writes the deletion cost of one pod.
func (q *Queue) Reconcile(ctx context.Context, key podKey) (reconcile.Result, error) {
	cost, ok := q.get(key)
	if !ok {
		return reconcile.Result{}, nil
	}
	pod := &corev1.Pod{}
	if err := q.Client.Get(ctx, key.NamespacedName, pod); err != nil {
		return reconcile.Result{}, q.answer(key, cost, err)
	}
	if pod.UID != key.uid {
		q.finish(key, cost)
		return reconcile.Result{}, nil
	}
	// A cost that is decided during a write follows at once, on the pod that the write returned: the cache does not show it yet.
	for ok {
		if err := q.write(ctx, pod, cost); err != nil {
			return reconcile.Result{}, q.answer(key, cost, err)
		}
		if q.finish(key, cost) {
			break
		}
		cost, ok = q.get(key)
	}
	return reconcile.Result{}, nil
}

// write gives the pod its deletion cost, and updates pod to what the API server returned.
func (q *Queue) write(ctx context.Context, pod *corev1.Pod, cost string) error {
	if value, present := pod.Annotations[corev1.PodDeletionCost]; value == cost && present == (cost != "") {
		q.count(skippedUnchanged)
		return nil
	}
	before := pod.DeepCopy()
	if cost == "" {
		delete(pod.Annotations, corev1.PodDeletionCost)
	} else {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[corev1.PodDeletionCost] = cost
	}
	if err := q.Client.Patch(ctx, pod, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	q.count(updated)
	return nil
}

// answer counts an error of the API server and returns those that are retried. A pod that changed meanwhile is left to the next pass, which sees
// its new state.
func (q *Queue) answer(key podKey, cost string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		q.count(skippedNotFound)
	case apierrors.IsConflict(err):
		q.count(skippedConflict)
	default:
		q.count(failed)
		return fmt.Errorf("writing the deletion cost of pod %s: %w", key.NamespacedName, err)
	}
	q.finish(key, cost)
	return nil
}

func (q *Queue) count(result string) {
	q.Metrics.Pods.DeletionCostWrites.WithLabelValues(result).Inc()
}
