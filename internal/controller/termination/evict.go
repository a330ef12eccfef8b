package termination

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// severalBudgets is the message of the API server for a pod that more than one budget selects.
const severalBudgets = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."

// evictionResult is the response of the eviction API.
type evictionResult int

const (
	accepted evictionResult = iota
	// podGone: there is no pod of this name and UID.
	podGone
	// budgetForbids: a PodDisruptionBudget does not allow it now.
	budgetForbids
	// budgetsConflict: several PodDisruptionBudgets select the pod.
	budgetsConflict
	// failed: anything else.
	failed
)

// classify maps the response of the eviction API to a result. code is its HTTP status, zero without a response.
func classify(err error) (result evictionResult, code int) {
	if err == nil {
		return accepted, http.StatusOK
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return failed, 0
	}
	code = int(status.Status().Code)
	switch {
	case code == http.StatusNotFound, code == http.StatusConflict:
		return podGone, code
	case code == http.StatusTooManyRequests:
		return budgetForbids, code
	case status.Status().Message == severalBudgets:
		return budgetsConflict, code
	default:
		return failed, code
	}
}

// evict sends the pod to the eviction API and handles the response.
func (q *EvictionQueue) evict(ctx context.Context, key PodKey, pod *corev1.Pod, deadline time.Time) (reconcile.Result, error) {
	err := q.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &key.UID}},
	})
	result, code := classify(err)
	if code != 0 {
		q.Metrics.Pods.EvictionRequests.WithLabelValues(strconv.Itoa(code)).Inc()
	}
	switch result {
	case accepted:
		reason := q.reason(ctx, pod)
		q.Recorder.Publish(observe.Evicted(pod, reason))
		q.Metrics.Pods.Drained.WithLabelValues(reason).Inc()
		q.markEvicted(key, deadline)
		return reconcile.Result{}, nil
	case podGone:
		q.drop(key)
		return reconcile.Result{}, nil
	case budgetForbids:
		return q.blocked(ctx, key, pod, fmt.Errorf("evicting pod violates a PDB (Pod=%s)", key.NamespacedName))
	case budgetsConflict:
		return q.blocked(ctx, key, pod, fmt.Errorf("eviction does not support multiple PDBs (Pod=%s)", key.NamespacedName))
	default:
		return reconcile.Result{}, fmt.Errorf("evicting pod %s: %w", key.NamespacedName, err)
	}
}

// blocked publishes on the Node why it does not drain, and requeues the pod. The pod of a Node that is gone is not evicted any more: pod garbage
// collection deletes it.
func (q *EvictionQueue) blocked(ctx context.Context, key PodKey, pod *corev1.Pod, why error) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := q.Client.Get(ctx, types.NamespacedName{Name: pod.Spec.NodeName}, node); apierrors.IsNotFound(err) {
		q.drop(key)
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("getting node %q: %w", pod.Spec.NodeName, err)
	}
	q.Recorder.Publish(observe.FailedDraining(node, why, pod.Namespace+"/"+pod.Name))
	return requeue.Soon(), nil
}

// forceDelete deletes the pod with the grace period that the deadline leaves. It bypasses budgets and annotations.
func (q *EvictionQueue) forceDelete(ctx context.Context, key PodKey, pod *corev1.Pod, deadline time.Time) (reconcile.Result, error) {
	grace := graceUntil(deadline, q.Clock.Now())
	q.Recorder.Publish(observe.Disrupted(pod, deadline, grace, pod.Spec.TerminationGracePeriodSeconds))
	err := q.Client.Delete(ctx, pod, client.Preconditions{UID: &key.UID}, client.GracePeriodSeconds(int64(grace.Seconds())))
	switch {
	case apierrors.IsNotFound(err):
		q.drop(key)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("force-deleting pod, %w", err)
	}
	observe.Log(ctx).Debug("force-deleted pod", logfield.Pod(key.String()), logfield.GracePeriod(grace))
	q.Metrics.Pods.Drained.WithLabelValues(q.reason(ctx, pod)).Inc()
	q.markEvicted(key, deadline)
	return reconcile.Result{}, nil
}

// reason is why the pod is evicted: the disruption reason of its NodeClaim, if it has one, or that the Node is rebooted; empty if its Node
// or NodeClaim cannot be found.
func (q *EvictionQueue) reason(ctx context.Context, pod *corev1.Pod) string {
	node := &corev1.Node{}
	if err := q.Client.Get(ctx, types.NamespacedName{Name: pod.Spec.NodeName}, node); err != nil {
		return ""
	}
	claim, err := nodelookup.ClaimOf(ctx, q.Client, node)
	if err != nil {
		return ""
	}
	if c := condition.For(claim, q.Clock.Now()).Get(v1.ConditionTypeDisruptionReason); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason
	}
	if condition.Status(claim, v1.ConditionTypeRebooting) == metav1.ConditionTrue {
		return v1.ConditionTypeRebooting
	}
	return "Forceful Termination"
}
