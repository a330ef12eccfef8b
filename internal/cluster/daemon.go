package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
)

// daemon is a DaemonSet with its newest pod, which is the best estimate of the next one's requests.
type daemon struct {
	set    *appsv1.DaemonSet
	newest *corev1.Pod
}

// owns reports whether the pod belongs to the current DaemonSet. Pods of a deleted DaemonSet remain for a while, and a new
// DaemonSet may have the same name.
func (d *daemon) owns(pod *corev1.Pod) bool {
	return d.set != nil && pod != nil && metav1.IsControlledBy(pod, d.set)
}

// UpdateDaemonSet applies the current version of a DaemonSet.
func (s *Store) UpdateDaemonSet(set *appsv1.DaemonSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.daemon(set.Namespace, set.Name)
	d.set = set
	s.publishDaemon(set.Namespace, set.Name)
}

// DeleteDaemonSet removes a DaemonSet.
func (s *Store) DeleteDaemonSet(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := namespace + "/" + name
	delete(s.daemons, id)
	s.daemonSets.Delete(id)
	s.changed = true
}

// ObserveDaemonPod records a DaemonSet's pod if it is newer than the recorded one.
func (s *Store) ObserveDaemonPod(pod *corev1.Pod) {
	if !podrules.OwnedByDaemonSet(pod) {
		return
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.daemon(pod.Namespace, owner.Name)
	older := d.newest != nil && d.newest.UID != pod.UID && !d.newest.CreationTimestamp.Before(&pod.CreationTimestamp)
	if older && (!d.owns(pod) || d.owns(d.newest)) {
		return
	}
	d.newest = pod
	s.publishDaemon(pod.Namespace, owner.Name)
}

func (s *Store) daemon(namespace, name string) *daemon {
	id := namespace + "/" + name
	d, ok := s.daemons[id]
	if !ok {
		d = &daemon{}
		s.daemons[id] = d
	}
	return d
}

// publishDaemon translates a daemon, unless only a pod of it has been observed so far.
func (s *Store) publishDaemon(namespace, name string) {
	d := s.daemon(namespace, name)
	if d.set == nil {
		return
	}
	var live *corev1.Pod
	if d.owns(d.newest) {
		live = d.newest
	}
	next := s.translator.DaemonSet(namespace, name, d.set.Spec.Template.Spec, live)
	id := namespace + "/" + name
	if before, ok := s.daemonSets.Get(id); ok && before.Shape == next.Shape && before.UsesDevices == next.UsesDevices {
		return
	}
	s.daemonSets.Put(id, next)
	s.changed = true
}
