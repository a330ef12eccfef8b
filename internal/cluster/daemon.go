package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// daemon is a DaemonSet with its newest pod, which is the best estimate of the next one's requests, whether it still exists or
// not. A daemon without a set waits for it, and is dropped with its pod: anyone who may create pods can name any owner.
type daemon struct {
	set    *appsv1.DaemonSet
	newest *corev1.Pod
}

// owns reports whether the pod belongs to the current DaemonSet. Pods of a deleted DaemonSet remain for a while, and a new
// DaemonSet may have the same name.
func (d *daemon) owns(pod *corev1.Pod) bool {
	return d.set != nil && pod != nil && metav1.IsControlledBy(pod, d.set)
}

// Daemons is the part of a Store that holds the DaemonSets.
type Daemons struct {
	store   *Store
	daemons map[string]*daemon
	// newest are the daemons by the UID of their newest pod, as long as it exists.
	newest    map[types.UID]string
	published model.Editor[*model.DaemonSet]
}

// Update applies the current version of a DaemonSet.
func (ds *Daemons) Update(set *appsv1.DaemonSet) {
	ds.store.mu.Lock()
	defer ds.store.mu.Unlock()
	d := ds.daemon(set.Namespace, set.Name)
	d.set = set
	ds.publish(set.Namespace, set.Name)
}

// Delete removes a DaemonSet.
func (ds *Daemons) Delete(namespace, name string) {
	ds.store.mu.Lock()
	defer ds.store.mu.Unlock()
	id := namespace + "/" + name
	delete(ds.daemons, id)
	ds.published.Delete(id)
	ds.store.changed = true
}

// Observe records a DaemonSet's pod if it is newer than the recorded one.
func (ds *Daemons) Observe(pod *corev1.Pod) {
	if !podrules.OwnedByDaemonSet(pod) {
		return
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return
	}
	ds.store.mu.Lock()
	defer ds.store.mu.Unlock()
	d := ds.daemon(pod.Namespace, owner.Name)
	older := d.newest != nil && d.newest.UID != pod.UID && !d.newest.CreationTimestamp.Before(&pod.CreationTimestamp)
	if older && (!d.owns(pod) || d.owns(d.newest)) {
		return
	}
	if d.newest != nil {
		delete(ds.newest, d.newest.UID)
	}
	d.newest, ds.newest[pod.UID] = pod, pod.Namespace+"/"+owner.Name
	ds.publish(pod.Namespace, owner.Name)
}

// podGone drops a daemon that only its pod made known. It must be called under the lock.
func (ds *Daemons) podGone(uid types.UID) {
	id, ok := ds.newest[uid]
	if !ok {
		return
	}
	delete(ds.newest, uid)
	if d := ds.daemons[id]; d != nil && d.set == nil {
		delete(ds.daemons, id)
	}
}

func (ds *Daemons) daemon(namespace, name string) *daemon {
	id := namespace + "/" + name
	d, ok := ds.daemons[id]
	if !ok {
		d = &daemon{}
		ds.daemons[id] = d
	}
	return d
}

// publish translates a daemon, unless only a pod of it has been observed so far.
func (ds *Daemons) publish(namespace, name string) {
	d := ds.daemon(namespace, name)
	if d.set == nil {
		return
	}
	var live *corev1.Pod
	if d.owns(d.newest) {
		live = d.newest
	}
	next := ds.store.translator.DaemonSet(d.set, live)
	id := namespace + "/" + name
	if before, ok := ds.published.Get(id); ok && *before == *next {
		return
	}
	ds.published.Put(id, next)
	ds.store.changed = true
}
