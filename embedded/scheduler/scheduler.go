// Package scheduler binds the pods of a cluster in memory to nodes. Which node a pod fits on is decided by the engine, as the same question for a
// plan without NodePools; kube-scheduler itself is too large for this binary.
//
// What it does not do: it does not score nodes, but fills them; it does not preempt, so that priority only orders the queue; it provisions no volumes;
// it allocates no devices; it reads no profiles or extenders; it sets no conditions of PodGroups. As many pods of a gang as it needs are bound in
// one step, or none. Pods of DaemonSets go to their node if its resources and taints allow it.
package scheduler

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/embedded/view"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Scheduler places pending pods.
type Scheduler struct {
	// tried identifies the pods and nodes of the last attempt: the same ones have the same result.
	tried uint64
}

// Step binds the pending pods that fit on a node, and marks the others as unschedulable.
func (s *Scheduler) Step(ctx context.Context, v *view.View) error {
	v = v.As("kube-scheduler")
	pods, err := view.List[corev1.Pod](v)
	if err != nil {
		return err
	}
	nodes, err := view.List[corev1.Node](v)
	if err != nil {
		return err
	}
	groups, err := view.List[schedulingv1beta1.PodGroup](v)
	if err != nil {
		return err
	}
	pending := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !waits(pod) })
	pending = complete(pending, pods, groups)
	now := identify(pods, nodes, groups)
	if len(pending) == 0 || now == s.tried {
		return nil
	}
	s.tried = now
	var others []*corev1.Pod
	for _, pod := range pending {
		if !podrules.OwnedByDaemonSet(pod) {
			others = append(others, pod)
		} else if err := bindDaemon(v, pod, nodes); err != nil {
			return err
		}
	}
	if len(others) == 0 {
		return nil
	}
	return place(ctx, v, others, nodes)
}

// waits: the pod is for this scheduler and has no node.
func waits(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 &&
		pod.Spec.SchedulerName == corev1.DefaultSchedulerName && !podrules.Terminal(pod)
}

// identify hashes what placements depend on: the nodes, which pods wait or use them, and their groups.
func identify(pods []*corev1.Pod, nodes []*corev1.Node, groups []*schedulingv1beta1.PodGroup) uint64 {
	hash := fnv.New64a()
	for _, group := range groups {
		_, _ = fmt.Fprintln(hash, group.UID, group.ResourceVersion)
	}
	for _, node := range nodes {
		_, _ = fmt.Fprintln(hash, node.UID, node.ResourceVersion)
	}
	for _, pod := range pods {
		_, _ = fmt.Fprintln(hash, pod.UID, pod.Spec.NodeName, podrules.Terminal(pod), pod.DeletionTimestamp != nil)
	}
	return hash.Sum64()
}

// usable: pods without a toleration for a node that is not ready may be bound to the node.
func usable(node *corev1.Node) bool {
	return !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
}

// place asks the engine where pods go.
func place(ctx context.Context, v *view.View, pending []*corev1.Pod, nodes []*corev1.Node) error {
	objects, err := inputs(v, nodes)
	if err != nil {
		return err
	}
	byUID := map[string]*corev1.Pod{}
	for _, pod := range pending {
		byUID[string(pod.UID)] = pod
		objects = append(objects, unschedulable(pod, "", metav1.NewTime(v.Now())))
	}
	result, err := simulation.Run(ctx, objects, cloud.Cloud{Labels: v1.CoreLabelRules()}, simulation.Options{Now: v.Now()})
	if err != nil {
		return fmt.Errorf("placing pods: %w", err)
	}
	for _, placed := range result.Plan.Placements {
		for _, p := range placed.Pods {
			if pod := byUID[p.UID]; pod != nil {
				delete(byUID, p.UID)
				if err := v.Bind(pod, placed.Node.NodeName); err != nil {
					return err
				}
			}
		}
	}
	return mark(v, pending, byUID, len(nodes))
}

// inputs are the objects that placements depend on, but for the pending pods.
func inputs(v *view.View, nodes []*corev1.Node) ([]client.Object, error) {
	var objects []client.Object
	for _, node := range nodes {
		if usable(node) {
			objects = append(objects, node)
		}
	}
	for _, add := range []func(*view.View, []client.Object) ([]client.Object, error){
		all[corev1.Namespace], all[corev1.PersistentVolumeClaim], all[corev1.PersistentVolume], all[storagev1.StorageClass], all[storagev1.CSINode],
		all[appsv1.ReplicaSet], all[appsv1.StatefulSet], all[schedulingv1beta1.PodGroup],
	} {
		var err error
		if objects, err = add(v, objects); err != nil {
			return nil, err
		}
	}
	pods, err := view.List[corev1.Pod](v)
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			objects = append(objects, pod)
		}
	}
	return objects, err
}

// all appends the objects of a type.
func all[T any, P view.Object[T]](v *view.View, to []client.Object) ([]client.Object, error) {
	list, err := view.List[T, P](v)
	for _, o := range list {
		to = append(to, o)
	}
	return to, err
}

// mark reports the pods that did not fit.
func mark(v *view.View, pending []*corev1.Pod, left map[string]*corev1.Pod, nodes int) error {
	for _, pod := range pending {
		if left[string(pod.UID)] == nil {
			continue
		}
		marked := unschedulable(pod, fmt.Sprintf("0/%d nodes are available.", nodes), metav1.NewTime(v.Now()))
		if at := condition(pod); at != nil && at.Status == corev1.ConditionFalse && at.Message == condition(marked).Message {
			continue
		}
		if err := v.UpdateStatus(marked); err != nil {
			return err
		}
	}
	return nil
}

func condition(pod *corev1.Pod) *corev1.PodCondition {
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	if at < 0 {
		return nil
	}
	return &pod.Status.Conditions[at]
}

// unschedulable is the pod with the condition that makes an autoscaler look at it.
func unschedulable(pod *corev1.Pod, message string, now metav1.Time) *corev1.Pod {
	out := pod.DeepCopy()
	set := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message, LastTransitionTime: now,
	}
	if at := condition(out); at != nil {
		if at.Status == set.Status {
			set.LastTransitionTime = at.LastTransitionTime
		}
		*at = set
	} else {
		out.Status.Conditions = append(out.Status.Conditions, set)
	}
	return out
}
