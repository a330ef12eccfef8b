package workloads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

// statefulSets keeps the pods of StatefulSets.
func statefulSets(v *view.View) error {
	sets, err := view.List[appsv1.StatefulSet](v)
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
		if err := statefulSet(v, s, pods[s.UID]); err != nil {
			return err
		}
	}
	return nil
}

// statefulSet takes one step: it writes the status, and creates or deletes pods, in their order unless they may come in parallel.
func statefulSet(v *view.View, s *appsv1.StatefulSet, pods []*corev1.Pod) error {
	hash, err := templateHash(&s.Spec.Template)
	if err != nil {
		return err
	}
	kept := history{s, appsv1.SchemeGroupVersion.WithKind("StatefulSet"), &s.Spec.Template, historyHashLabel, s.Spec.RevisionHistoryLimit}
	revision, err := kept.record(v, hash, func(name, _ string) bool {
		return name == s.Status.CurrentRevision || slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return isOf(pod, name) })
	})
	if err != nil {
		return err
	}
	if err := statefulSetStatus(v, s, pods, revision); err != nil {
		return err
	}
	first := int32(0)
	if s.Spec.Ordinals != nil {
		first = s.Spec.Ordinals.Start
	}
	byOrdinal := map[int32]*corev1.Pod{}
	highest := first - 1
	for _, pod := range pods {
		if n, ok := ordinal(s, pod); ok {
			byOrdinal[n] = pod
			highest = max(highest, n)
		}
	}
	ordered := s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	end := first + replicasOf(s.Spec.Replicas)
	for n := first; n < end; n++ {
		switch pod := byOrdinal[n]; {
		case pod == nil:
			if err := v.Create(ordinalPod(s, n, revision)); err != nil || ordered {
				return err
			}
		case over(pod) && pod.DeletionTimestamp == nil:
			return v.Delete(pod, nil)
		case ordered && (!ready(pod) || pod.DeletionTimestamp != nil):
			return nil
		}
	}
	for n := highest; n >= end; n-- {
		pod := byOrdinal[n]
		if pod == nil {
			continue
		}
		if pod.DeletionTimestamp == nil {
			if err := v.Delete(pod, nil); err != nil {
				return err
			}
		}
		if ordered {
			return nil
		}
	}
	return replaceOutdated(v, s, byOrdinal, first, end, revision)
}

// replaceOutdated deletes the pod with the highest ordinal that is of another template, once all others are ready.
func replaceOutdated(v *view.View, s *appsv1.StatefulSet, pods map[int32]*corev1.Pod, first, end int32, revision string) error {
	if s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	for n := end - 1; n >= first; n-- {
		pod := pods[n]
		switch {
		case pod == nil || !ready(pod) || pod.DeletionTimestamp != nil:
			return nil
		case !isOf(pod, revision):
			return v.Delete(pod, nil)
		}
	}
	return nil
}

// historyHashLabel is the label of the revisions of StatefulSets with the hash of their template.
const historyHashLabel = "controller.kubernetes.io/hash"

// isOf reports whether a pod is of a revision of its StatefulSet, or whether it has the hash of one of its DaemonSet.
func isOf(pod *corev1.Pod, revision string) bool {
	return pod.Labels[appsv1.ControllerRevisionHashLabelKey] == revision
}

func ordinal(s *appsv1.StatefulSet, pod *corev1.Pod) (int32, bool) {
	text, ok := strings.CutPrefix(pod.Name, s.Name+"-")
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), ok && err == nil
}

func ordinalPod(s *appsv1.StatefulSet, n int32, revision string) *corev1.Pod {
	pod := newPod(s, appsv1.SchemeGroupVersion.WithKind("StatefulSet"), &s.Spec.Template, fmt.Sprintf("%s-%d", s.Name, n))
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(int(n))
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = revision
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, s.Spec.ServiceName
	return pod
}

func statefulSetStatus(v *view.View, s *appsv1.StatefulSet, pods []*corev1.Pod, revision string) error {
	changed := s.DeepCopy()
	updated := func(pod *corev1.Pod) bool { return active(pod) && isOf(pod, revision) }
	current := func(pod *corev1.Pod) bool { return active(pod) && isOf(pod, changed.Status.CurrentRevision) }
	isReady := func(pod *corev1.Pod) bool { return active(pod) && ready(pod) }
	changed.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: s.Generation, Replicas: count(pods, active), ReadyReplicas: count(pods, isReady), AvailableReplicas: count(pods, isReady),
		UpdatedReplicas: count(pods, updated), CurrentRevision: s.Status.CurrentRevision, UpdateRevision: revision,
		CollisionCount: s.Status.CollisionCount,
	}
	if changed.Status.CurrentRevision == "" || changed.Status.UpdatedReplicas == replicasOf(s.Spec.Replicas) {
		changed.Status.CurrentRevision = revision
	}
	changed.Status.CurrentReplicas = count(pods, current)
	return writeStatus(v, changed, s.Status, changed.Status)
}
