package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// setPoolConditions sets the conditions of the pools as their controllers would. It returns why pools are not ready,
// by name.
func (w *clusterObjects) setPoolConditions() (unready map[string]string) {
	unready = map[string]string{}
	for name, pool := range w.pools {
		if why := w.setConditions(pool); why != "" {
			unready[name] = why
		}
	}
	return unready
}

// skipped are the pools that may not launch, by name.
func skipped(pools problem.Pools, unready map[string]string) []SkippedPool {
	var out []SkippedPool
	for _, s := range pools.Skipped {
		why := s.Why
		switch {
		case why != "" && unready[s.Pool] != "":
			why += ": " + unready[s.Pool]
		case why == "" && s.Err != nil:
			why = s.Err.Error()
		case why == "":
			why = "the cloud lists no instance types for it"
		}
		out = append(out, SkippedPool{Name: s.Pool, Why: why})
	}
	return out
}

// setConditions sets the conditions of a pool as its controllers would, and returns why it is not ready.
func (w *clusterObjects) setConditions(pool *v1.NodePool) (why string) {
	if !w.cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
		return ""
	}
	set := condition.For(pool, time.Time{})
	if err := w.cloud.ValidatePool(pool); err != nil {
		why = err.Error()
		set.False(v1.ConditionTypeValidationSucceeded, "NodePoolValidationFailed", why)
	} else {
		set.True(v1.ConditionTypeValidationSucceeded)
	}
	ref := pool.Spec.Template.Spec.NodeClassRef
	reason, message := w.classUnready(ref)
	if reason == "" {
		set.True(v1.ConditionTypeNodeClassReady)
		return why
	}
	set.False(v1.ConditionTypeNodeClassReady, reason, message)
	if why != "" {
		why += "; "
	}
	return why + message + w.unmetConditions(ref, message)
}

// unmetConditions says what the conditions of a class say on which its readiness depends, each behind a semicolon. Those that the message quotes
// already are left out, and so are those that nothing has set so far.
func (w *clusterObjects) unmetConditions(ref *v1.NodeClassReference, message string) string {
	class, ok := w.classes[classID(ref.Group, ref.Kind, ref.Name)]
	if !ok {
		return ""
	}
	var out []string
	for _, dependent := range class.ConditionTypes().Dependents {
		c := meta.FindStatusCondition(*class.ConditionList(), dependent)
		if c == nil || c.Status == metav1.ConditionTrue || c.Message == "" || strings.Contains(message, c.Message) || c.Reason == condition.ReasonAwaitingReconciliation {
			continue
		}
		out = append(out, fmt.Sprintf("%s is %s (%s): %s", c.Type, c.Status, c.Reason, c.Message))
	}
	if len(out) == 0 {
		return ""
	}
	return "; " + strings.Join(out, "; ")
}

// classUnready returns why the node class that ref names cannot be used; the reason is empty when it can.
// Source: lifecycle specification, NodePool readiness.
func (w *clusterObjects) classUnready(ref *v1.NodeClassReference) (reason, message string) {
	class, ok := w.classes[classID(ref.Group, ref.Kind, ref.Name)]
	if !ok {
		return "NodeClassNotFound", fmt.Sprintf("%s %q does not exist", ref.Kind, ref.Name)
	}
	if class.GetDeletionTimestamp() != nil {
		return "NodeClassTerminating", fmt.Sprintf("%s %q is being deleted", ref.Kind, ref.Name)
	}
	ready := meta.FindStatusCondition(*class.ConditionList(), v1.ConditionTypeReady)
	switch {
	case ready == nil || ready.Status == metav1.ConditionUnknown:
		return "NodeClassReadinessUnknown", fmt.Sprintf("whether %s %q is ready is unknown", ref.Kind, ref.Name)
	case ready.Status == metav1.ConditionFalse:
		return ready.Reason, fmt.Sprintf("%s %q is not ready: %s: %s", ref.Kind, ref.Name, ready.Reason, ready.Message)
	}
	return "", ""
}

// unknownLimits are the limits of a pool that keep no node from being launched.
func (w *clusterObjects) unknownLimits(ctx context.Context, provider cloud.Provider, pool *v1.NodePool) (out []string) {
	if len(pool.Spec.Limits) == 0 || !w.cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
		return nil
	}
	types, err := provider.InstanceTypes(ctx, pool)
	if err != nil {
		return nil // the pool is skipped, with the error
	}
	unknown := cloud.UnknownLimits(pool, types)
	for _, resource := range slices.Sorted(maps.Keys(unknown)) {
		out = append(out, fmt.Sprintf("NodePool %q: no instance type has the resource %q of spec.limits: this limit keeps no node from being launched%s",
			pool.Name, resource, unknown[resource]))
	}
	return out
}

// poolWarnings are what is allowed in the pools, but has no effect or is probably mistyped, by name of the pool.
func (w *clusterObjects) poolWarnings(ctx context.Context, provider cloud.Provider, now time.Time) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(w.pools)) {
		pool := w.pools[name]
		if _, err := pool.AllowedDisruptions(now, 0, ""); err != nil {
			out = append(out, strings.ReplaceAll(err.Error(), "\n", "; ")+"; no node of the NodePool is disrupted until this is corrected")
		}
		for _, r := range pool.Spec.Template.Spec.Requirements {
			if meant, ok := w.cloud.MeantKey(r.Key); ok && !w.cloud.Labels.Restricted(r.Key) {
				out = append(out, fmt.Sprintf("NodePool %q: the required label %q is not about instance types: nodes get it as a custom label; did you mean %q?", name, r.Key, meant))
			}
		}
		out = append(out, w.unknownLimits(ctx, provider, pool)...)
	}
	return out
}
