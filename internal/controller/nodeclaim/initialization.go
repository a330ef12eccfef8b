package nodeclaim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// initialize waits until the registered Node is ready for pods. There is no timeout; events requeue the NodeClaim. A Node that is rebooted
// is initialized again once the reboot has ended.
func (l *Lifecycle) initialize(ctx context.Context, claim *v1.NodeClaim) outcome {
	if condition.Status(claim, v1.ConditionTypeRebooting) == metav1.ConditionTrue {
		return outcome{}
	}
	now := l.Clock.Now()
	if decided(claim, v1.ConditionTypeInitialized, now) {
		return l.relabel(ctx, claim)
	}
	set := condition.For(claim, now)
	if !set.IsTrue(v1.ConditionTypeRegistered) {
		return outcome{}
	}
	node, err := nodelookup.NodeOf(ctx, l.Client, claim)
	if err != nil {
		set.Unknown(v1.ConditionTypeInitialized, reasonNodeNotFound, messageNodeNotFound)
		return outcome{}
	}
	if reason, message := lacking(node, claim); reason != "" {
		set.Unknown(v1.ConditionTypeInitialized, reason, message)
		return outcome{}
	}
	resource, err := l.unregistered(ctx, node, missing(node, claim))
	if err != nil {
		return outcome{err: err}
	}
	if resource != "" {
		set.Unknown(v1.ConditionTypeInitialized, "ResourceNotRegistered", fmt.Sprintf("Resource %q was requested but not registered", resource))
		return outcome{}
	}
	driver, err := l.unpublished(ctx, claim, node.Name)
	if err != nil {
		return outcome{err: err}
	}
	if driver != "" {
		reason, message := driverMissing(driver)
		set.Unknown(v1.ConditionTypeInitialized, reason, message)
		return outcome{}
	}
	stored := node.DeepCopy()
	delete(stored.Labels, v1.NodeInitializedLabelKey) // it is written in any case: a reboot may have removed it since the Node was read
	labelInitialized(node)
	if err := l.Client.Patch(ctx, node, client.MergeFrom(stored)); err != nil {
		return outcome{err: fmt.Errorf("labelling node %q as initialized: %w", node.Name, err)}
	}
	set.True(v1.ConditionTypeInitialized)
	return outcome{onceSaved: []func(){func() {
		observe.Log(ctx).Info("initialized nodeclaim", logfield.ProviderID(claim.Status.ProviderID), logfield.Node(node.Name),
			logfield.Allocatable(node.Status.Allocatable))
	}}}
}

// relabel restores the label of an initialized Node that another client has removed. Without it, the Node would take no part in disruption, and
// count as one that is starting, for ever. A reboot removes the label too, after it has changed the conditions: the cache may not have these yet.
func (l *Lifecycle) relabel(ctx context.Context, claim *v1.NodeClaim) outcome {
	node, err := nodelookup.NodeOf(ctx, l.Client, claim)
	if err != nil || node.Labels[v1.NodeInitializedLabelKey] == "true" || node.Labels[v1.NodeRegisteredLabelKey] != "true" || !initialized(claim) {
		return outcome{} // a Node that is missing is not the concern of this step
	}
	current := &v1.NodeClaim{}
	if err := l.Live.Get(ctx, client.ObjectKeyFromObject(claim), current); err != nil {
		return outcome{err: client.IgnoreNotFound(err)}
	}
	if current.UID != claim.UID || !initialized(current) {
		return outcome{}
	}
	stored := node.DeepCopy()
	labelInitialized(node)
	if err := l.Client.Patch(ctx, node, optimistic(stored)); err != nil {
		if apierrors.IsConflict(err) {
			return outcome{again: true}
		}
		return outcome{err: fmt.Errorf("restoring the label %s of node %q: %w", v1.NodeInitializedLabelKey, node.Name, err)}
	}
	observe.Log(ctx).Info("restored the label "+v1.NodeInitializedLabelKey+" of an initialized node", logfield.Node(node.Name))
	return outcome{}
}

func labelInitialized(node *corev1.Node) {
	node.Labels = overlaid(node.Labels, map[string]string{v1.NodeInitializedLabelKey: "true"})
}

// initialized reports whether the NodeClaim is initialized, and its Node is not rebooted.
func initialized(claim *v1.NodeClaim) bool {
	return condition.Status(claim, v1.ConditionTypeInitialized) == metav1.ConditionTrue &&
		condition.Status(claim, v1.ConditionTypeRebooting) != metav1.ConditionTrue
}

// lacking returns why a Node is not ready for pods yet, resources and devices aside, as the reason and message of a condition; both are
// empty if it is.
func lacking(node *corev1.Node, claim *v1.NodeClaim) (reason, message string) {
	if !nodelookup.Ready(node) {
		return "NodeNotReady", "Node status is NotReady"
	}
	for _, taint := range claim.Spec.StartupTaints {
		if i := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return sameTaint(t, taint) }); i >= 0 {
			return "StartupTaintsExist", fmt.Sprintf("StartupTaint %q still exists", taintText(taint))
		}
	}
	for _, taint := range node.Spec.Taints {
		if ephemeral(taint) {
			return "KnownEphemeralTaintsExist", fmt.Sprintf("KnownEphemeralTaint %q still exists", taintText(taint))
		}
	}
	return "", ""
}

// missing are the requested resources of which nothing is allocatable on the Node, sorted.
func missing(node *corev1.Node, claim *v1.NodeClaim) []corev1.ResourceName {
	var out []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(claim.Spec.Resources.Requests)) {
		requested, found := claim.Spec.Resources.Requests[name], node.Status.Allocatable[name]
		if !requested.IsZero() && found.IsZero() {
			out = append(out, name)
		}
	}
	return out
}

// ephemeral reports whether the taint is one that new Nodes have until another component removes it.
func ephemeral(taint corev1.Taint) bool {
	if strings.HasPrefix(taint.Key, "readiness.k8s.io/") {
		return true
	}
	return hasTaint([]corev1.Taint{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule},
		v1.UnregisteredNoExecuteTaint(),
	}, taint)
}

// taintText prints a taint as key:Effect or key=value:Effect.
func taintText(t corev1.Taint) string {
	if t.Value == "" {
		return fmt.Sprintf("%s:%s", t.Key, t.Effect)
	}
	return fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect)
}
