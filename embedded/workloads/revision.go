package workloads

import (
	"cmp"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

// Annotations by which kubectl rollout finds the earlier templates of a Deployment. They are those of the Deployment controller.
const (
	revisionKey        = "deployment.kubernetes.io/revision"
	revisionHistoryKey = "deployment.kubernetes.io/revision-history"
)

// copied: the ReplicaSets of a Deployment get this annotation of it.
func copied(key string) bool {
	return key != revisionKey && key != revisionHistoryKey && key != appsv1.DeprecatedRollbackTo && key != corev1.LastAppliedConfigAnnotation
}

// revisionOf is the number of a revision; 0 without one.
func revisionOf(annotations map[string]string) int {
	n, _ := strconv.Atoi(annotations[revisionKey])
	return n
}

// byRevision orders ReplicaSets of a Deployment from the earliest revision to the latest.
func byRevision(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(cmp.Compare(revisionOf(a.Annotations), revisionOf(b.Annotations)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
}

// currentAnnotations are the annotations of the ReplicaSet that has the template of the Deployment: those of the Deployment, and a revision that
// is higher than those of all others. A template that comes back gets a new revision, and its earlier ones are remembered.
func currentAnnotations(d *appsv1.Deployment, present map[string]string, old []*appsv1.ReplicaSet) map[string]string {
	out := map[string]string{}
	maps.Copy(out, present)
	for key, value := range d.Annotations {
		if copied(key) {
			out[key] = value
		}
	}
	highest := 0
	for _, s := range old {
		highest = max(highest, revisionOf(s.Annotations))
	}
	if revisionOf(present) > highest {
		return out
	}
	out[revisionKey] = strconv.Itoa(highest + 1)
	if earlier := present[revisionKey]; earlier != "" {
		if history := present[revisionHistoryKey]; history != "" {
			earlier = history + "," + earlier
		}
		out[revisionHistoryKey] = earlier
	}
	return out
}

// revise writes the revision of the current ReplicaSet into it and into the Deployment. It reports whether something was written.
func revise(v *view.View, d *appsv1.Deployment, current *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) (bool, error) {
	if annotations := currentAnnotations(d, current.Annotations, old); !maps.Equal(annotations, current.Annotations) {
		changed := current.DeepCopy()
		changed.Annotations = annotations
		return true, v.Update(changed)
	}
	if revision := current.Annotations[revisionKey]; d.Annotations[revisionKey] != revision {
		changed := d.DeepCopy()
		changed.Annotations = with(changed.Annotations, revisionKey, revision)
		return true, v.Update(changed)
	}
	return false, nil
}
