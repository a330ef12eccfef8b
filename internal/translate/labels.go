package translate

import (
	"encoding/binary"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// podLabels are the labels of a pod. Pods of a workload share them, so that selectors are evaluated once per set.
func (t *Translator) podLabels(pod *corev1.Pod) *model.Labels {
	var space [256]byte
	return t.labelsOf(appendPodLabels(space[:0], pod), pod)
}

// labelsOf are the labels of the pod with that key.
func (t *Translator) labelsOf(key []byte, pod *corev1.Pod) *model.Labels {
	return t.pods.of(key, func() *model.Labels {
		return &model.Labels{Namespace: pod.Namespace, Values: maps.Clone(pod.Labels)}
	})
}

// appendPodLabels appends a key that is equal for pods that share their labels, and different for others.
func appendPodLabels(b []byte, pod *corev1.Pod) []byte {
	return appendLabels(appendString(b, pod.Namespace), pod.Labels)
}

// appendLabels writes labels in key order.
func appendLabels(b []byte, labels map[string]string) []byte {
	var space [16]string
	keys := space[:0]
	if len(labels) > 0 { // going through a map costs something even if it is empty
		for key := range labels {
			keys = append(keys, key)
		}
		slices.Sort(keys)
	}
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, key := range keys {
		b = appendString(appendString(b, key), labels[key])
	}
	return b
}
