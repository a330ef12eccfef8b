package operator

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// mostShared limits how many different parts of pods are cached for sharing, and maxSharedBytes how large they are together, counted
// as they are encoded. A part that is larger than maxSharedPart is not shared: few pods have any, and some are a megabyte.
const (
	mostShared     = 8192
	maxSharedBytes = 8 << 20
	maxSharedPart  = 64 << 10
)

// lean removes fields from objects before they are cached.
//
// Problem: nearly all memory of a controller is its cache of pods, and nearly all of a pod is for the kubelet: commands,
// environments, probes, mounts, images. The pods of one workload repeat the same values thousands of times. Approach: keep the fields
// that this process reads, and share equal values between pods. Cached objects are never changed in place: readers get copies, or
// must not write.
//
// Invariant: neither this process nor a helper library reads a removed field, and none is written: pods and nodes are only patched
// with the difference between two trimmed objects.
//
//   - Pods: of containers, name, resources, restart policy and host ports are read (requests, native sidecars,
//     conflicts), and of restart rules and mounts those that need features of the node; of their statuses, resources (resizing) and how they
//     ended (when the pod last changed); of volumes, those with claims (zones, limits of attachments).
//   - Nodes: images and lists of volumes are not read; attachments are separate objects.
//   - Objects of which only the metadata is cached, workloads: only whether the spec has changed is read.
//   - All kinds: managed fields are not read.
type lean struct {
	strip toolscache.TransformFunc

	mu sync.Mutex
	// shared are parts of pods by their content. When it is full it is cleared: equal parts may then exist twice.
	shared map[string]any
	// bytes is the size of shared, counted by its keys.
	bytes int
}

func newLean() *lean {
	return &lean{strip: cache.TransformStripManagedFields(), shared: map[string]any{}}
}

// transform is called with every object that comes from a watch, before any handler or cache.
func (l *lean) transform(o any) (any, error) {
	o, err := l.strip(o)
	if err != nil {
		return o, fmt.Errorf("stripping managed fields: %w", err)
	}
	switch object := o.(type) {
	case *corev1.Pod:
		trimPod(object)
		l.sharePod(object)
	case *metav1.PartialObjectMetadata:
		object.Labels, object.Annotations, object.OwnerReferences = nil, nil, nil
	case *corev1.Node:
		object.Status.Images, object.Status.VolumesInUse, object.Status.VolumesAttached = nil, nil, nil
	}
	return o, nil
}

func trimPod(pod *corev1.Pod) {
	spec, status := &pod.Spec, &pod.Status
	trimContainers(spec, spec.Containers)
	trimContainers(spec, spec.InitContainers)
	var claimed []corev1.Volume
	for i := range spec.Volumes {
		if v := &spec.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			claimed = append(claimed, *v)
		}
	}
	spec.Volumes, spec.EphemeralContainers, spec.ImagePullSecrets = claimed, trimEphemeral(spec.EphemeralContainers), nil
	spec.SecurityContext, spec.DNSConfig, spec.HostAliases, spec.ReadinessGates = nil, nil, nil, nil
	spec.Hostname = ""
	status.ContainerStatuses = trimStatuses(status.ContainerStatuses)
	status.InitContainerStatuses = trimStatuses(status.InitContainerStatuses)
	status.EphemeralContainerStatuses, status.PodIPs, status.HostIPs = nil, nil, nil
	status.PodIP, status.HostIP, status.QOSClass = "", "", ""
	status.Conditions = trimConditions(status.Conditions)
	status.Phase = constant(status.Phase, corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed)
}

// constant returns the constant that is equal to own, whose copy of the text is then not kept.
func constant[T ~string](own T, constants ...T) T {
	if i := slices.Index(constants, own); i >= 0 {
		return constants[i]
	}
	return own
}

// trimConditions keeps the conditions that are read: whether kube-scheduler has found a node, whether the pod is ready, which counts for
// PodDisruptionBudgets, and whether its node can resize it.
func trimConditions(list []corev1.PodCondition) []corev1.PodCondition {
	read := []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady, corev1.PodResizePending}
	var out []corev1.PodCondition
	for _, c := range list {
		if slices.Contains(read, c.Type) {
			c.Type, c.Status = constant(c.Type, read...), constant(c.Status, corev1.ConditionTrue, corev1.ConditionFalse)
			out = append(out, c)
		}
	}
	return slices.Clip(out)
}

// trimContainers keeps only ports that may be host ports, and only restart rules and mounts that need a feature of the node.
func trimContainers(spec *corev1.PodSpec, list []corev1.Container) {
	for i := range list {
		c := &list[i]
		var ports []corev1.ContainerPort
		for _, p := range c.Ports {
			if p.HostPort != 0 || spec.HostNetwork {
				ports = append(ports, p)
			}
		}
		*c = corev1.Container{
			Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy, Ports: ports,
			RestartPolicyRules: featureRules(c.RestartPolicyRules), VolumeMounts: featureMounts(c.VolumeMounts),
		}
	}
}

// featureRules are the rules that restart the whole pod, without their conditions.
func featureRules(list []corev1.ContainerRestartRule) []corev1.ContainerRestartRule {
	var out []corev1.ContainerRestartRule
	for i := range list {
		if list[i].Action == corev1.ContainerRestartRuleActionRestartAllContainers {
			out = append(out, corev1.ContainerRestartRule{Action: list[i].Action})
		}
	}
	return out
}

// trimEphemeral keeps the mounts of ephemeral containers that need a feature of the node.
func trimEphemeral(list []corev1.EphemeralContainer) []corev1.EphemeralContainer {
	var out []corev1.EphemeralContainer
	for i := range list {
		if mounts := featureMounts(list[i].VolumeMounts); len(mounts) > 0 {
			out = append(out, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{VolumeMounts: mounts}})
		}
	}
	return out
}

// featureMounts are the mounts with options, without anything else.
func featureMounts(list []corev1.VolumeMount) []corev1.VolumeMount {
	var out []corev1.VolumeMount
	for i := range list {
		if len(list[i].BindMountOptions) > 0 {
			out = append(out, corev1.VolumeMount{BindMountOptions: list[i].BindMountOptions})
		}
	}
	return out
}

// trimStatuses removes the statuses of containers that are empty after trimming.
func trimStatuses(list []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for i := range list {
		s := &list[i]
		if s.Resources != nil || s.AllocatedResources != nil || s.State.Terminated != nil {
			out = append(out, corev1.ContainerStatus{
				Name: s.Name, Resources: s.Resources, AllocatedResources: s.AllocatedResources,
				State: corev1.ContainerState{Terminated: s.State.Terminated},
			})
		}
	}
	return out
}

// sharePod replaces parts of the pod by equal parts of other pods. The node name is not shared.
func (l *lean) sharePod(pod *corev1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	node := pod.Spec.NodeName
	pod.Spec.NodeName = ""
	pod.Spec = share(l, &pod.Spec, pod.Spec)
	pod.Spec.NodeName = node
	pod.Namespace = share(l, &metav1.ObjectMeta{Namespace: pod.Namespace}, pod.Namespace)
	pod.GenerateName = share(l, &metav1.ObjectMeta{GenerateName: pod.GenerateName}, pod.GenerateName)
	pod.Labels = share(l, &metav1.ObjectMeta{Labels: pod.Labels}, pod.Labels)
	pod.Annotations = share(l, &metav1.ObjectMeta{Annotations: pod.Annotations}, pod.Annotations)
	pod.OwnerReferences = share(l, &metav1.ObjectMeta{OwnerReferences: pod.OwnerReferences}, pod.OwnerReferences)
	s := &pod.Status
	s.ContainerStatuses = share(l, &corev1.PodStatus{ContainerStatuses: s.ContainerStatuses}, s.ContainerStatuses)
}

// share returns the value cached under said, or caches and returns own. T is part of the key, so that messages of different types
// are never equal.
func share[T any](l *lean, said interface{ Marshal() ([]byte, error) }, own T) T {
	text, err := said.Marshal()
	if err != nil {
		return own // only its size is lost
	}
	if len(text) > maxSharedPart {
		return own
	}
	key := fmt.Sprintf("%T", own) + string(text)
	if known, ok := l.shared[key].(T); ok {
		return known
	}
	if len(l.shared) >= mostShared || l.bytes+len(key) > maxSharedBytes {
		clear(l.shared)
		l.bytes = 0
	}
	l.shared[key] = own
	l.bytes += len(key)
	return own
}
