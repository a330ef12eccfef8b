// Package kubelet simulates the nodes of a cluster in memory: nodes become ready, pods that are bound to them run at once and end when
// they are deleted, pods of Jobs complete after a second.
//
// It also does what concerns nodes among the tasks of kube-controller-manager: it keeps the taint not-ready, and deletes pods of nodes that are
// gone.
//
// What it does not do: it runs no program, so that probes, hooks and exit codes have no effect. It admits every pod. A node that becomes not
// ready is tainted with the effect NoSchedule, but its pods are not evicted. There is no Lease per node.
package kubelet

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

// HandsOff is an annotation of nodes whose status is left alone, for nodes that are to be unhealthy. The simulator of the real control plane
// has the same one.
const HandsOff = "local.karpenter-anew.dev/hands-off"

// completesAfter is how long pods of Jobs run.
const completesAfter = time.Second

// Kubelets are those of all nodes.
type Kubelets struct {
	// addresses counts the pod addresses that were given out.
	addresses int
}

// Step does what is due now. It returns the time at which something else will be, or the zero time.
func (k *Kubelets) Step(v *view.View) (next time.Time, err error) {
	v = v.As("kubelet")
	nodes, err := view.List[corev1.Node](v)
	if err != nil {
		return next, err
	}
	ready := map[string]bool{}
	for _, node := range nodes {
		ready[node.Name] = isReady(node)
		if err := keepNode(v, node); err != nil {
			return next, err
		}
	}
	pods, err := view.List[corev1.Pod](v)
	if err != nil {
		return next, err
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		isReady, exists := ready[pod.Spec.NodeName]
		at, err := k.keepPod(v, pod, exists, isReady)
		if err != nil {
			return next, err
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, nil
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// keepNode reports a new node as ready, and keeps its taint.
func keepNode(v *view.View, node *corev1.Node) error {
	_, alone := node.Annotations[HandsOff]
	ready := isReady(node)
	if !ready && !alone && node.DeletionTimestamp == nil {
		changed := node.DeepCopy()
		reportReady(changed, metav1.NewTime(v.Now()))
		return v.UpdateStatus(changed) // the taint goes in the next step
	}
	unready := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	at := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&unready) })
	if ready == (at < 0) {
		return nil
	}
	changed := node.DeepCopy()
	if ready {
		changed.Spec.Taints = slices.Delete(changed.Spec.Taints, at, at+1)
	} else {
		changed.Spec.Taints = append(changed.Spec.Taints, unready)
	}
	return v.Update(changed)
}

// reportReady writes the first status of a node: what is not set gets a value.
func reportReady(node *corev1.Node, now metav1.Time) {
	status := &node.Status
	status.Conditions = []corev1.NodeCondition{
		nodeCondition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available", now),
		nodeCondition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure", now),
		nodeCondition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available", now),
		nodeCondition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status", now),
	}
	if len(status.Addresses) == 0 {
		status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: node.Name}}
	}
	if len(status.Capacity) == 0 {
		status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}
	}
	if len(status.Allocatable) == 0 {
		status.Allocatable = status.Capacity
	}
	info := &status.NodeInfo
	for field, value := range map[*string]string{
		&info.Architecture: node.Labels[corev1.LabelArchStable], &info.OperatingSystem: node.Labels[corev1.LabelOSStable],
		&info.KubeletVersion: "simulated", &info.ContainerRuntimeVersion: "simulated", &info.KernelVersion: "simulated", &info.OSImage: "simulated",
	} {
		if *field == "" {
			*field = value
		}
	}
}

func nodeCondition(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string, now metav1.Time) corev1.NodeCondition {
	return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now}
}

// keepPod runs a pod that is bound to a node, completes it or removes it.
func (k *Kubelets) keepPod(v *view.View, pod *corev1.Pod, nodeExists, nodeReady bool) (next time.Time, err error) {
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case !nodeExists, pod.DeletionTimestamp != nil:
		if pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, 0) == 0 {
			return next, nil // held by a finalizer
		}
		return next, v.Delete(pod, ptr.To[int64](0))
	case over || !nodeReady:
		return next, nil
	case pod.Status.Phase == corev1.PodPending:
		return next, v.UpdateStatus(k.started(pod, metav1.NewTime(v.Now())))
	}
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.Kind != "Job" || pod.Status.StartTime == nil {
		return next, nil
	}
	if due := pod.Status.StartTime.Add(completesAfter); v.Now().Before(due) {
		return due, nil
	}
	return next, v.UpdateStatus(completed(pod, metav1.NewTime(v.Now())))
}

// started is a pod whose containers run.
func (k *Kubelets) started(pod *corev1.Pod, now metav1.Time) *corev1.Pod {
	out := pod.DeepCopy()
	k.addresses++
	n := k.addresses
	out.Status.Phase, out.Status.StartTime = corev1.PodRunning, &now
	out.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", 64+n>>16&63, n>>8&255, n&255)
	out.Status.PodIPs = []corev1.PodIP{{IP: out.Status.PodIP}}
	for _, t := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		setCondition(out, t, corev1.ConditionTrue, "", now)
	}
	for _, gate := range pod.Spec.ReadinessGates {
		setCondition(out, gate.ConditionType, corev1.ConditionTrue, "", now)
	}
	out.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		out.Status.ContainerStatuses = append(out.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: ptr.To(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return out
}

// completed is a pod whose containers have ended without an error.
func completed(pod *corev1.Pod, now metav1.Time) *corev1.Pod {
	out := pod.DeepCopy()
	out.Status.Phase = corev1.PodSucceeded
	for _, t := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		setCondition(out, t, corev1.ConditionFalse, "PodCompleted", now)
	}
	for i := range out.Status.ContainerStatuses {
		c := &out.Status.ContainerStatuses[i]
		c.Ready, c.Started = false, ptr.To(false)
		c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: *pod.Status.StartTime, FinishedAt: now}}
	}
	return out
}

func setCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, reason string, now metav1.Time) {
	condition := corev1.PodCondition{Type: kind, Status: status, Reason: reason, LastTransitionTime: now}
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if at < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
		return
	}
	pod.Status.Conditions[at] = condition
}
