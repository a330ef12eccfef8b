package manifest

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	podresource "k8s.io/component-helpers/resource"
)

// classes are the objects that pods refer to by name when they are admitted.
type classes struct {
	priority map[string]*schedulingv1.PriorityClass
	runtime  map[string]*nodev1.RuntimeClass
}

// admit completes a pod in place as the API server does when it is created, in the fields that scheduling reads.
func (c classes) admit(pod *corev1.Pod) {
	defaultPod(pod)
	c.prioritise(pod)
	c.addOverhead(pod)
	if pod.Spec.NodeName != "" {
		if pod.Status.Phase == "" {
			pod.Status.Phase = corev1.PodRunning
		}
		return
	}
	if pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
	judge(pod)
}

// judge sets the condition of an unschedulable pod on a pod that is not bound, unless it has one.
func judge(pod *corev1.Pod) {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodScheduled {
			return
		}
	}
	verdict := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}
	if len(pod.Spec.SchedulingGates) > 0 {
		verdict.Reason = corev1.PodReasonSchedulingGated
	}
	pod.Status.Conditions = append(pod.Status.Conditions, verdict)
}

// defaultPod sets the defaults of the API server.
func defaultPod(pod *corev1.Pod) {
	if pod.Spec.RestartPolicy == "" {
		pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			list[i].Resources.Requests = withDefaults(list[i].Resources.Requests, list[i].Resources.Limits)
		}
	}
	defaultPodRequests(pod)
}

// withDefaults returns requests, completed from limits.
func withDefaults(requests, limits corev1.ResourceList) corev1.ResourceList {
	for name, q := range limits {
		if _, ok := requests[name]; ok {
			continue
		}
		if requests == nil {
			requests = corev1.ResourceList{}
		}
		requests[name] = q.DeepCopy()
	}
	return requests
}

// defaultPodRequests completes requests at pod level once there are limits at pod level: from the containers where they
// request the resource and it may be overcommitted, else from the pod's limits.
func defaultPodRequests(pod *corev1.Pod) {
	if pod.Spec.Resources == nil || len(pod.Spec.Resources.Limits) == 0 {
		return
	}
	requests := pod.Spec.Resources.Requests
	if requests == nil {
		requests = corev1.ResourceList{}
	}
	fill := func(from corev1.ResourceList, accept func(corev1.ResourceName) bool) {
		for name, q := range from {
			if _, ok := requests[name]; !ok && podresource.IsSupportedPodLevelResource(name) && accept(name) {
				requests[name] = q.DeepCopy()
			}
		}
	}
	fill(podresource.AggregateContainerRequests(pod, podresource.PodResourcesOptions{}), overcommits)
	fill(pod.Spec.Resources.Limits, func(corev1.ResourceName) bool { return true })
	pod.Spec.Resources.Requests = requests
}

// overcommits reports whether limits of the resource may exceed requests; huge pages may not.
func overcommits(name corev1.ResourceName) bool {
	return !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// The priorities of the classes that every cluster has.
const (
	systemClusterCritical = 2000000000
	systemNodeCritical    = 2000001000
)

// priorityClass is what a priority class, or the name of none, stands for.
type priorityClass struct {
	name             string
	value            *int32
	preemptionPolicy *corev1.PreemptionPolicy
}

// resolve finds a priority class by its name; an empty one stands for the default. The priority of a class that is not described is open.
func (c classes) resolve(name string) priorityClass {
	described := func(class *schedulingv1.PriorityClass) priorityClass {
		value := class.Value
		return priorityClass{class.Name, &value, class.PreemptionPolicy}
	}
	builtin := func(value int32) priorityClass { return priorityClass{name, &value, nil} }
	switch name {
	case "system-cluster-critical":
		return builtin(systemClusterCritical)
	case "system-node-critical":
		return builtin(systemNodeCritical)
	case "":
		for _, name := range slices.Sorted(maps.Keys(c.priority)) {
			if class := c.priority[name]; class.GlobalDefault {
				return described(class)
			}
		}
	default:
		if class, ok := c.priority[name]; ok {
			return described(class)
		}
	}
	return priorityClass{name: name}
}

// prioritise sets the priority of the pod's class.
func (c classes) prioritise(pod *corev1.Pod) {
	if pod.Spec.Priority != nil {
		return
	}
	class := c.resolve(pod.Spec.PriorityClassName)
	pod.Spec.PriorityClassName, pod.Spec.Priority = class.name, class.value
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = class.preemptionPolicy
	}
}

// admitGroup sets the priority of a PodGroup's class.
func (c classes) admitGroup(group *schedulingv1beta1.PodGroup) {
	if group.Spec.Priority != nil {
		return
	}
	class := c.resolve(group.Spec.PriorityClassName)
	group.Spec.PriorityClassName, group.Spec.Priority = class.name, class.value
	if group.Spec.PreemptionPolicy == nil && class.preemptionPolicy != nil {
		policy := schedulingv1beta1.PreemptionPolicy(*class.preemptionPolicy)
		group.Spec.PreemptionPolicy = &policy
	}
}

// addOverhead applies the pod's runtime class: the overhead of the sandbox and the nodes where it can run.
func (c classes) addOverhead(pod *corev1.Pod) {
	if pod.Spec.RuntimeClassName == nil {
		return
	}
	class, ok := c.runtime[*pod.Spec.RuntimeClassName]
	if !ok {
		return
	}
	if class.Overhead != nil && pod.Spec.Overhead == nil {
		pod.Spec.Overhead = class.Overhead.PodFixed.DeepCopy()
	}
	if class.Scheduling == nil {
		return
	}
	for key, value := range class.Scheduling.NodeSelector {
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		pod.Spec.NodeSelector[key] = value
	}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, class.Scheduling.Tolerations...)
}
