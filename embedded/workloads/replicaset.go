package workloads

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

// replicaSets keeps the pods of ReplicaSets.
func replicaSets(v *view.View) error {
	sets, err := view.List[appsv1.ReplicaSet](v)
	if err != nil {
		return err
	}
	pods, err := podsByOwner(v)
	if err != nil {
		return err
	}
	for _, s := range sets {
		if s.DeletionTimestamp != nil {
			continue
		}
		if err := replicaSet(v, s, filter(pods[s.UID], active)); err != nil {
			return err
		}
	}
	return nil
}

func replicaSet(v *view.View, s *appsv1.ReplicaSet, pods []*corev1.Pod) error {
	changed := s.DeepCopy()
	now := count(pods, func(*corev1.Pod) bool { return true })
	changed.Status = appsv1.ReplicaSetStatus{
		Replicas: now, FullyLabeledReplicas: now, ReadyReplicas: count(pods, ready), AvailableReplicas: count(pods, ready), ObservedGeneration: s.Generation,
	}
	if err := writeStatus(v, changed, s.Status, changed.Status); err != nil {
		return err
	}
	desired := int(replicasOf(s.Spec.Replicas))
	for range desired - len(pods) {
		if err := v.Create(newPod(s, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), &s.Spec.Template, "")); err != nil {
			return err
		}
	}
	return deleteAll(v, firstToDelete(pods)[:max(0, len(pods)-desired)])
}
