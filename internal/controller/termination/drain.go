package termination

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// drainPeriod is the time between two checks of a drain.
const drainPeriod = time.Second

// drain queues the next pods for eviction and is done when no pod is left to drain.
func (t *Termination) drain(ctx context.Context, d terminating) stepResult {
	now := t.Clock.Now()
	if d.claim != nil && condition.For(d.claim, now).Get(v1.ConditionTypeDrained) == nil {
		condition.For(d.claim, now).Unknown(v1.ConditionTypeDrained, "Draining", "Draining")
	}
	pods, err := nodelookup.PodsOn(ctx, t.Client, d.node.Name)
	if err != nil {
		return stepResult{err: err}
	}
	plan := planDrain(pods, d.deadline, now)
	t.queue.AddUrgent(d.deadline, plan.deleteNow...)
	t.queue.Add(d.deadline, plan.evict...)
	if plan.waiting > 0 {
		t.Recorder.Publish(observe.FailedDraining(d.node, fmt.Errorf("%d pods are waiting to be evicted", plan.waiting), ""))
		return stepResult{after: drainPeriod}
	}
	if d.claim == nil {
		return stepResult{}
	}
	drained := condition.For(d.claim, now).Get(v1.ConditionTypeDrained)
	if drained.Status == "Unknown" && now.Sub(drained.LastTransitionTime.Time) < cloud.MinDrain {
		return stepResult{after: drainPeriod}
	}
	condition.For(d.claim, now).True(v1.ConditionTypeDrained)
	return stepResult{}
}

// drainPlan is the next step of a drain.
type drainPlan struct {
	// waiting is the number of pods that the drain waits for, including those that are terminating.
	waiting int
	// deleteNow are the pods that must be deleted to keep the deadline, in any group.
	deleteNow []*corev1.Pod
	// evict are the pods of the first group that is not empty, for the eviction API.
	evict []*corev1.Pod
}

// planDrain sorts the pods of a Node. Groups are drained one after the other: other pods, DaemonSet pods, critical pods, critical
// DaemonSet pods. A group is done when its pods are gone, so a pod that is terminating, or that may not be evicted, delays the groups
// after its own.
func planDrain(pods []corev1.Pod, deadline *time.Time, now time.Time) drainPlan {
	var plan drainPlan
	var groups [4][]*corev1.Pod
	for i := range pods {
		pod := &pods[i]
		if !podrules.WaitingForEviction(pod, now) {
			continue
		}
		plan.waiting++
		if mustDelete(pod, deadline, now) {
			plan.deleteNow = append(plan.deleteNow, pod)
		} else {
			groups[group(pod)] = append(groups[group(pod)], pod)
		}
	}
	for _, members := range groups {
		if len(members) == 0 {
			continue
		}
		for _, pod := range members {
			if podrules.Active(pod) {
				plan.evict = append(plan.evict, pod)
			}
		}
		break
	}
	return plan
}

// NextEvictions returns how many of the pods of a Node a drain that only evicts waits for, and which of them to evict next.
func NextEvictions(pods []corev1.Pod, now time.Time) (waiting int, evict []*corev1.Pod) {
	plan := planDrain(pods, nil, now)
	return plan.waiting, plan.evict
}

// group is the position of a pod in the order of a drain, from 0 to 3.
func group(pod *corev1.Pod) int {
	out := 0
	if podrules.OwnedByDaemonSet(pod) {
		out++
	}
	if pod.Spec.PriorityClassName == "system-cluster-critical" || pod.Spec.PriorityClassName == "system-node-critical" {
		out += 2
	}
	return out
}
