// Package nomination writes status.nominatedNodeName of pods that wait for a node which starts, just before kube-scheduler may bind pods to it:
// it tries the nominated node first, and reserves the place of the pod there from pods of equal and lower priority.
//
// Nominations are hints. None is needed for a pod to be bound, and all are lost when the process ends. kube-scheduler removes a nomination after
// the next attempt that fails, so one that is written before the node can take the pod would not last. A pod that may not preempt keeps its
// nomination in spite of failed attempts, and would ask for no capacity meanwhile: such pods get none, and the others only for a while.
//
// Source: specification of version 1.15, N480 to N488; KEP-5278.
package nomination

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/create"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
)

const (
	// name is the name of the controller in logs and metrics.
	name = "pod.nomination"
	// lifetime is how long a nomination may stay before it is withdrawn: kube-scheduler has tried the pod long before.
	lifetime = time.Minute
	// atOnce is how many pods of a node are written at a time, and timeout how long that may delay the node.
	atOnce, timeout = 10, 2 * time.Second
	// perSecond and burst limit the writes of all nodes. Pods beyond get no nomination.
	perSecond, burst = 100, 1000
	fieldOwner       = client.FieldOwner("karpenter")
)

// The results of nominations, as label values.
const (
	written        = "written"
	bound          = "bound"
	boundElsewhere = "bound_elsewhere"
	cleared        = "cleared"
	withdrawn      = "withdrawn"
	deleted        = "pod_deleted"
	conflict       = "conflict"
	failed         = "error"
	timedOut       = "timeout"
	throttled      = "throttled"
)

// Nominator is the controller pod.nomination. Its zero value is not usable; see New.
//
// Invariant: a pod is nominated to each node at most once, and a value that another component wrote is neither replaced nor removed.
type Nominator struct {
	deps.Shared
	limit flowcontrol.PassiveRateLimiter

	mu sync.Mutex
	// pods are the pods that were nominated and are not bound yet, by UID, nodes those of them that are still nominated, by node.
	pods  map[types.UID]*nominated
	nodes map[string]map[types.UID]*nominated
}

// nominated is a pod with the nomination that Karpenter wrote last.
type nominated struct {
	create.PlannedPod
	node string
	// at is when it was written.
	at time.Time
	// shown is set once the cache has shown the nomination, over once the pod has it no more.
	shown, over bool
}

// New builds the controller.
func New(shared deps.Shared) *Nominator {
	return &Nominator{
		Shared: shared, pods: map[types.UID]*nominated{}, nodes: map[string]map[types.UID]*nominated{},
		limit: flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(perSecond, burst, shared.Clock),
	}
}

// Register adds the controller to the manager.
func (n *Nominator) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named(name).
		For(&corev1.Node{}).
		Watches(&corev1.Pod{}, n.Follow()).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Scale(n.CPUMillis, 10, 1000)}).
		Complete(n)
}

// Reconcile nominates the pods that wait for a node that has just become schedulable, and withdraws nominations to one that takes no pods, or
// that are too old.
func (n *Nominator) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, name)
	node := &corev1.Node{}
	err := n.Client.Get(ctx, request.NamespacedName, node)
	if apierrors.IsNotFound(err) {
		n.withdraw(ctx, n.on(request.Name, 0))
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	claim, err := nodelookup.ClaimOf(ctx, n.Client, node)
	if errors.Is(err, nodelookup.NotFound) || errors.Is(err, nodelookup.Duplicate) {
		n.withdraw(ctx, n.on(node.Name, 0))
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if leaving(node, claim) {
		n.withdraw(ctx, n.on(node.Name, 0))
		return reconcile.Result{}, nil
	}
	if managed.Is(n.Cloud, claim) && !slices.ContainsFunc(node.Spec.Taints, unregistered) {
		n.Nominate(ctx, claim, node)
	}
	n.withdraw(ctx, n.on(node.Name, lifetime))
	if len(n.on(node.Name, 0)) > 0 {
		return requeue.After(lifetime / 2), nil
	}
	return reconcile.Result{}, nil
}

// Nominate nominates the pods that are planned on a node to it, if nothing but the taint of registration keeps them away. The caller removes
// that taint right afterwards. It takes at most two seconds, and failures are counted only.
func (n *Nominator) Nominate(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node) {
	if leaving(node, claim) || !takesPods(node, claim) {
		return
	}
	planned := n.Planned.On(claim.Name)
	if len(planned) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	count := 0
	for _, err := range parallel.ForEach(planned, atOnce, func(p create.PlannedPod) error { return n.nominate(ctx, p, node.Name) }) {
		if err == nil {
			count++
		}
	}
	if count > 0 {
		observe.Log(ctx).Debug("nominated pods to node", logfield.Node(node.Name), logfield.PodCount(count))
	}
}

// errSkipped is that a pod needs no nomination.
var errSkipped = errors.New("skipped")

// nominate nominates one pod.
func (n *Nominator) nominate(ctx context.Context, p create.PlannedPod, node string) error {
	pod := &corev1.Pod{}
	if err := n.Client.Get(ctx, p.NamespacedName, pod); err != nil {
		return err
	}
	if !n.wants(pod, p.UID, node) {
		return errSkipped
	}
	if !n.limit.TryAccept() {
		n.count(throttled)
		return errSkipped
	}
	if err := n.write(ctx, pod, &node); err != nil {
		return err
	}
	n.count(written)
	n.remember(&nominated{PlannedPod: p, node: node, at: n.Clock.Now()})
	return nil
}

// wants reports whether a pod is to be nominated to a node: it waits, may preempt, and has no nomination but an earlier one of ours.
func (n *Nominator) wants(pod *corev1.Pod, uid types.UID, node string) bool {
	if pod.UID != uid || pod.DeletionTimestamp != nil || !podrules.Unplaced(pod) {
		return false
	}
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.pods[uid]
	if before == nil {
		return pod.Status.NominatedNodeName == ""
	}
	return before.node != node && (pod.Status.NominatedNodeName == "" || !before.over && pod.Status.NominatedNodeName == before.node)
}

// write writes or removes the nomination of exactly the version of a pod that was read. Conflicts are not retried.
func (n *Nominator) write(ctx context.Context, pod *corev1.Pod, node *string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   map[string]any{"nominatedNodeName": node},
	})
	if err != nil {
		return err
	}
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	err = n.Client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), fieldOwner)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		n.count(conflict)
	case err != nil && ctx.Err() != nil: // an API server that is slow costs the node no more than that time
		n.count(timedOut)
	case err != nil:
		n.count(failed)
		observe.Log(ctx).Error("writing the nomination of a pod failed", logfield.Pod(client.ObjectKeyFromObject(pod).String()), logfield.Error(err))
	}
	return err
}

func (n *Nominator) count(result string) { n.Metrics.Pods.Nominations.WithLabelValues(result).Inc() }
