package nodeclaim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// register links the NodeClaim and its Node. A NodeClaim that matched several Nodes is checked again, so that it recovers when one of
// them remains.
func (l *Lifecycle) register(ctx context.Context, claim *v1.NodeClaim) outcome {
	set := condition.For(claim, l.Clock.Now())
	if set.IsTrue(v1.ConditionTypeRegistered) {
		decided(claim, v1.ConditionTypeRegistered, l.Clock.Now())
		return outcome{}
	}
	if _, unsaved := l.launched.Get(claim.UID); unsaved {
		// The deletion of a NodeClaim finds the Node to drain by the stored provider ID: until then the Node takes no pods.
		set.Unknown(v1.ConditionTypeRegistered, reasonNodeNotFound, messageNodeNotFound)
		return outcome{}
	}
	node, err := nodelookup.NodeOf(ctx, l.Client, claim)
	switch {
	case errors.Is(err, nodelookup.NotFound), err == nil && node.DeletionTimestamp != nil:
		// A Node that is being deleted cannot get a finalizer any more.
		set.Unknown(v1.ConditionTypeRegistered, reasonNodeNotFound, messageNodeNotFound)
		return outcome{}
	case errors.Is(err, nodelookup.Duplicate):
		set.False(v1.ConditionTypeRegistered, "MultipleNodesFound", "Invariant violated, matched multiple nodes")
		return outcome{}
	case err != nil:
		return outcome{err: err}
	}
	l.warnMissingTaint(ctx, claim, node)
	hooks := l.runHooks(ctx, claim)
	if len(hooks.names) == 0 && hooks.err == nil && l.nominator != nil {
		l.nominator.Nominate(ctx, claim, node)
	}
	if saved := l.writeNode(ctx, claim, node, len(hooks.names) == 0); saved.err != nil || saved.again {
		return saved.and(outcome{err: hooks.err})
	}
	if len(hooks.names) > 0 {
		set.Unknown(v1.ConditionTypeRegistered, "RegistrationHookPending", hooks.message())
		return hooks.outcome
	}
	return l.registered(ctx, claim, node)
}

const (
	reasonNodeNotFound  = "NodeNotFound"
	messageNodeNotFound = "Node not registered with cluster"
)

// warnMissingTaint publishes that a Node joined without the taint that keeps pods away until it is registered.
func (l *Lifecycle) warnMissingTaint(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node) {
	if _, done := node.Labels[v1.NodeRegisteredLabelKey]; done || hasTaint(node.Spec.Taints, v1.UnregisteredNoExecuteTaint()) {
		return
	}
	observe.Log(ctx).Error("node joined without the taint that prevents registration races", logfield.Node(node.Name), logfield.TaintKey(v1.UnregisteredTaintKey))
	l.Recorder.Publish(observe.UnregisteredTaintMissing(claim))
}

// writeNode applies the metadata of the NodeClaim to the Node. It is written even while hooks are pending, so that labels and
// finalizer are in place early; only the last write removes the taint.
func (l *Lifecycle) writeNode(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node, complete bool) outcome {
	stored := node.DeepCopy()
	if !link(node, claim, complete) {
		return outcome{}
	}
	patch, err := nodePatch(stored, node)
	if err != nil {
		return outcome{err: err}
	}
	if err := l.Client.Patch(ctx, node, patch); err == nil {
		return outcome{}
	}
	// Its lists may have changed. The write of the current version also tells what else is wrong.
	return l.writeCurrentNode(ctx, claim, stored, complete)
}

// writeCurrentNode is writeNode for the version of the Node that the API server has now.
func (l *Lifecycle) writeCurrentNode(ctx context.Context, claim *v1.NodeClaim, known *corev1.Node, complete bool) outcome {
	node := &corev1.Node{}
	err := l.Live.Get(ctx, client.ObjectKeyFromObject(known), node)
	if client.IgnoreNotFound(err) != nil {
		return outcome{err: fmt.Errorf("reading node %q: %w", known.Name, err)}
	}
	if err != nil || node.UID != known.UID || node.DeletionTimestamp != nil {
		return outcome{again: true}
	}
	stored := node.DeepCopy()
	if !link(node, claim, complete) {
		return outcome{}
	}
	err = l.Client.Patch(ctx, node, optimistic(stored))
	switch {
	case err == nil:
		return outcome{}
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return outcome{again: true}
	default:
		return outcome{err: fmt.Errorf("patching node, %w", err)}
	}
}

// link applies the metadata of the NodeClaim to the Node, and marks it as registered if the registration is complete. It reports whether
// the Node changed.
func link(node *corev1.Node, claim *v1.NodeClaim, complete bool) bool {
	stored := node.DeepCopy()
	applyMetadata(node, claim)
	if complete {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return sameTaint(t, v1.UnregisteredNoExecuteTaint()) })
		node.Labels[v1.NodeRegisteredLabelKey] = "true"
	}
	return !equality.Semantic.DeepEqual(stored, node)
}

// registered completes registration. The success is recorded before the condition is set, because no later pass would record it;
// recording it twice has no effect.
func (l *Lifecycle) registered(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node) outcome {
	if err := l.health.Succeeded(ctx, claim); err != nil {
		result, err := requeue.OnConflict(err)
		if err != nil {
			return outcome{err: fmt.Errorf("recording registration of nodeclaim %q: %w", claim.Name, err)}
		}
		if result == requeue.Soon() {
			return outcome{again: true}
		}
	}
	condition.For(claim, l.Clock.Now()).True(v1.ConditionTypeRegistered)
	claim.Status.NodeName = node.Name
	pool, zone := claim.Labels[v1.NodePoolLabelKey], node.Labels[corev1.LabelTopologyZone]
	return outcome{onceSaved: []func(){func() {
		observe.Log(ctx).Info("registered nodeclaim", logfield.ProviderID(claim.Status.ProviderID), logfield.Node(node.Name))
		l.Metrics.Nodes.Created.WithLabelValues(pool, zone).Inc()
	}}}
}

// applyMetadata adds the finalizer, owner, taints, annotations and labels of the NodeClaim to the Node. It is idempotent.
func applyMetadata(node *corev1.Node, claim *v1.NodeClaim) {
	controllerutil.AddFinalizer(node, v1.TerminationFinalizer)
	addOwner(node, claim)
	if node.Labels[v1.NodeDoNotSyncTaintsLabelKey] != "true" {
		node.Spec.Taints = mergeTaints(node.Spec.Taints, claim.Spec.Taints)
		node.Spec.Taints = mergeTaints(node.Spec.Taints, claim.Spec.StartupTaints)
	}
	node.Annotations = overlaid(node.Annotations, claim.Annotations)
	node.Labels = overlaid(node.Labels, claim.Labels)
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
}

// addOwner makes the NodeClaim an owner of the Node, once.
func addOwner(node *corev1.Node, claim *v1.NodeClaim) {
	owner := metav1.OwnerReference{
		APIVersion: v1.SchemeGroupVersion.String(), Kind: "NodeClaim", Name: claim.Name, UID: claim.UID,
		BlockOwnerDeletion: ptr.To(true),
	}
	if !slices.ContainsFunc(node.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.APIVersion == owner.APIVersion && o.Kind == owner.Kind && o.UID == owner.UID
	}) {
		node.OwnerReferences = append(node.OwnerReferences, owner)
	}
}

// mergeTaints adds the taints whose key and effect the list does not have.
func mergeTaints(have, add []corev1.Taint) []corev1.Taint {
	for _, taint := range add {
		if !hasTaint(have, taint) {
			have = append(have, taint)
		}
	}
	return have
}

// hasTaint reports whether a taint of the same key and effect is in the list.
func hasTaint(list []corev1.Taint, want corev1.Taint) bool {
	return slices.ContainsFunc(list, func(t corev1.Taint) bool { return sameTaint(t, want) })
}

// sameTaint compares key and effect; values do not distinguish taints.
func sameTaint(a, b corev1.Taint) bool { return a.Key == b.Key && a.Effect == b.Effect }
