package buffer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podresource "k8s.io/component-helpers/resource"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

const (
	// namePrefix starts the name of every virtual pod.
	namePrefix = "capacity-buffer-"
	// maxPods limits the virtual pods of one buffer, so that a mistyped number does not exhaust the memory of the process.
	maxPods = 100_000
)

// Pod is the first virtual pod of a buffer, as an object. All others differ from it in name and UID only.
func Pod(b *v1beta1.CapacityBuffer, template *corev1.PodTemplateSpec, now time.Time) *corev1.Pod {
	t := template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         b.Namespace,
			Name:              podName(b, 1),
			UID:               types.UID(podUID(b, 1)),
			Labels:            t.Labels,
			Annotations:       t.Annotations,
			CreationTimestamp: metav1.NewTime(now),
		},
		Spec: t.Spec,
		Status: corev1.PodStatus{
			Phase: corev1.PodPending,
			Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}},
		},
	}
	annotations := map[string]string{
		v1beta1.VirtualPodAnnotationKey:      "true",
		v1beta1.BufferNameAnnotationKey:      b.Name,
		v1beta1.BufferNamespaceAnnotationKey: b.Namespace,
	}
	if pod.Annotations == nil {
		pod.Annotations = annotations
	}
	maps.Copy(pod.Annotations, annotations)
	pod.Spec.Priority = new(int32(math.MinInt32))
	pod.Spec.NodeName = ""
	translate.DefaultRequests(&pod.Spec)
	stripVolumes(&pod.Spec)
	return pod
}

// Requests returns the requests of one virtual pod.
func Requests(pod *corev1.Pod) corev1.ResourceList {
	return podresource.PodRequests(pod, podresource.PodResourcesOptions{})
}

// Pods are the virtual pods of a buffer as the engine sees them, first being one of them as an object.
func Pods(t *translate.Translator, b *v1beta1.CapacityBuffer, first *corev1.Pod, replicas int32) []*model.Pod {
	prototype := t.Pod(first)
	prototype.Virtual = true
	// Virtual pods are not validated: unsatisfiable ones are reported as missing capacity of the buffer.
	prototype.Rejected, prototype.Silent = "", false
	all := make([]model.Pod, min(max(replicas, 0), maxPods))
	out := make([]*model.Pod, len(all))
	for i := range all {
		all[i] = *prototype
		all[i].Name, all[i].UID = podName(b, i+1), podUID(b, i+1)
		out[i] = &all[i]
	}
	return out
}

func podName(b *v1beta1.CapacityBuffer, i int) string {
	return namePrefix + b.Name + "-" + strconv.Itoa(i)
}

func podUID(b *v1beta1.CapacityBuffer, i int) string { return fmt.Sprintf("%s-%d", b.UID, i) }

// Of is the buffer that a virtual pod belongs to.
func Of(pod *model.Pod) types.NamespacedName {
	name := strings.TrimPrefix(pod.Name, namePrefix)
	return types.NamespacedName{Namespace: pod.Namespace, Name: name[:max(strings.LastIndexByte(name, '-'), 0)]}
}

// stripVolumes removes volumes that are made or bound for each pod, and their mounts: a pod that does not exist has none.
func stripVolumes(spec *corev1.PodSpec) {
	gone := map[string]bool{}
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool {
		own := v.PersistentVolumeClaim != nil || v.Ephemeral != nil
		gone[v.Name] = own
		return own
	})
	strip := func(c *corev1.Container) {
		c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return gone[m.Name] })
		c.VolumeDevices = slices.DeleteFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return gone[d.Name] })
	}
	for i := range spec.Containers {
		strip(&spec.Containers[i])
	}
	for i := range spec.InitContainers {
		strip(&spec.InitContainers[i])
	}
}
