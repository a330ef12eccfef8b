package reboot

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/termination"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// drainPeriod is the time between two checks of a drain.
const drainPeriod = time.Second

// drain evicts the pods of the node and returns when to check again; zero once it is over. Pods are never deleted by force: those
// that are left when the time is over stay during the reboot.
func (r *Reboot) drain(ctx context.Context, e *episode, bound *time.Duration) (wait time.Duration, err error) {
	if bound != nil && *bound == 0 {
		return 0, nil
	}
	now := r.Clock.Now()
	var until *time.Time
	if bound != nil {
		end := e.requestedAt().Add(max(*bound, cloud.MinDrain))
		if !now.Before(end) {
			return 0, nil
		}
		until = &end
	}
	pods, err := r.podsOn(ctx, e.node)
	if err != nil {
		return 0, err
	}
	waiting, evict := termination.NextEvictions(pods, now)
	r.evictions.AddUntil(until, evict...)
	if waiting > 0 {
		r.Recorder.Publish(observe.FailedDraining(e.node, fmt.Errorf("%d pods are waiting to be evicted", waiting), ""))
		wait = drainPeriod
	} else {
		wait = max(e.requestedAt().Add(cloud.MinDrain).Sub(now), 0)
	}
	if until != nil {
		wait = min(wait, until.Sub(now))
	}
	return wait, nil
}

// podsOn lists the pods of the node that do not tolerate a reboot.
func (r *Reboot) podsOn(ctx context.Context, node *corev1.Node) ([]corev1.Pod, error) {
	pods, err := nodelookup.PodsOn(ctx, r.Client, node.Name)
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return podrules.ToleratesReboot(&p) }), err
}

// tainted reports whether the Node has the taint of a reboot.
func tainted(node *corev1.Node) bool {
	want := v1.RebootingNoScheduleTaint()
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&want) })
}

// taint keeps new pods away from the node.
func (r *Reboot) taint(ctx context.Context, node *corev1.Node) error {
	if tainted(node) {
		return nil
	}
	stored := node.DeepCopy()
	node.Spec.Taints = append(node.Spec.Taints, v1.RebootingNoScheduleTaint())
	if err := r.Client.Patch(ctx, node, optimistic(stored)); err != nil {
		return fmt.Errorf("tainting node %q: %w", node.Name, err)
	}
	observe.Log(ctx).Info("tainted node", logfield.Node(node.Name), logfield.TaintKey(v1.RebootingTaintKey), logfield.TaintEffect(corev1.TaintEffectNoSchedule))
	return nil
}

// untaint reverts taint, with any effect.
func (r *Reboot) untaint(ctx context.Context, node *corev1.Node) error {
	stored := node.DeepCopy()
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1.RebootingTaintKey })
	if len(node.Spec.Taints) == len(stored.Spec.Taints) {
		return nil
	}
	if err := r.Client.Patch(ctx, node, optimistic(stored)); err != nil {
		return fmt.Errorf("removing the taint %s of node %q: %w", v1.RebootingTaintKey, node.Name, err)
	}
	return nil
}
