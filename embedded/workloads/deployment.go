package workloads

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

// deployments keeps the ReplicaSets of Deployments.
func deployments(v *view.View) error {
	all, err := view.List[appsv1.Deployment](v)
	if err != nil {
		return err
	}
	sets, err := view.List[appsv1.ReplicaSet](v)
	if err != nil {
		return err
	}
	owned := map[types.UID][]*appsv1.ReplicaSet{}
	for _, set := range sets {
		if owner := metav1.GetControllerOf(set); owner != nil && set.DeletionTimestamp == nil {
			owned[owner.UID] = append(owned[owner.UID], set)
		}
	}
	for _, d := range all {
		if d.DeletionTimestamp != nil {
			continue
		}
		if err := deployment(v, d, owned[d.UID]); err != nil {
			return err
		}
	}
	return nil
}

// deployment takes one step of a rollout.
func deployment(v *view.View, d *appsv1.Deployment, sets []*appsv1.ReplicaSet) error {
	at := slices.IndexFunc(sets, func(s *appsv1.ReplicaSet) bool { return sameTemplate(s, d) })
	if at < 0 {
		return newReplicaSet(v, d, sets)
	}
	current, old := sets[at], slices.Delete(slices.Clone(sets), at, at+1)
	if written, err := revise(v, d, current, old); written || err != nil {
		return err // the next step has the objects as they are now
	}
	if err := dropHistory(v, d, old); err != nil {
		return err
	}
	desired := replicasOf(d.Spec.Replicas)
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		if running(old) > 0 {
			desired = 0
		}
		for _, s := range old {
			if err := scale(v, s, 0); err != nil {
				return err
			}
		}
		if err := scale(v, current, desired); err != nil {
			return err
		}
		return deploymentStatus(v, d, current, sets)
	}
	if err := roll(v, d, current, old); err != nil {
		return err
	}
	return deploymentStatus(v, d, current, sets)
}

// sameTemplate: the ReplicaSet has the template of the Deployment, but for the label with its hash.
func sameTemplate(s *appsv1.ReplicaSet, d *appsv1.Deployment) bool {
	template := s.Spec.Template.DeepCopy()
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	want := d.Spec.Template.DeepCopy()
	delete(want.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(template, want)
}

func newReplicaSet(v *view.View, d *appsv1.Deployment, old []*appsv1.ReplicaSet) error {
	hash, err := templateHash(&d.Spec.Template)
	if err != nil {
		return err
	}
	template := d.Spec.Template.DeepCopy()
	selector := d.Spec.Selector.DeepCopy()
	template.Labels = with(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	selector.MatchLabels = with(selector.MatchLabels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	return v.Create(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name + "-" + hash, Labels: template.Labels, Annotations: currentAnnotations(d, nil, old),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](0), Selector: selector, Template: *template},
	})
}

func with(labels map[string]string, key, value string) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	out[key] = value
	return out
}

// dropHistory deletes ReplicaSets without pods that are more than the Deployment keeps, the earliest revisions first.
func dropHistory(v *view.View, d *appsv1.Deployment, old []*appsv1.ReplicaSet) error {
	var empty []*appsv1.ReplicaSet
	for _, s := range old {
		if replicasOf(s.Spec.Replicas) == 0 && s.Status.Replicas == 0 {
			empty = append(empty, s)
		}
	}
	slices.SortStableFunc(empty, byRevision)
	for _, s := range empty[:max(0, len(empty)-int(ptr.Deref(d.Spec.RevisionHistoryLimit, 10)))] {
		if err := v.Delete(s, nil); err != nil {
			return err
		}
	}
	return nil
}

// roll moves replicas from old ReplicaSets to the current one, within maxSurge and maxUnavailable.
func roll(v *view.View, d *appsv1.Deployment, current *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) error {
	desired := replicasOf(d.Spec.Replicas)
	surge, unavailable := int32(1), int32(0)
	if r := d.Spec.Strategy.RollingUpdate; r != nil {
		surge, unavailable = portion(r.MaxSurge, desired, true), portion(r.MaxUnavailable, desired, false)
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	size := replicasOf(current.Spec.Replicas)
	total, available := size, current.Status.AvailableReplicas
	for _, s := range old {
		total += replicasOf(s.Spec.Replicas)
		available += s.Status.AvailableReplicas
	}
	switch {
	case size > desired:
		return scale(v, current, desired)
	case size < desired:
		if more := min(desired-size, desired+surge-total); more > 0 {
			return scale(v, current, size+more)
		}
	}
	// Replicas that are not available go first; of the others, so many stay that enough are available.
	spare := atLeastZero(available - atLeastZero(desired-unavailable))
	for _, s := range old {
		n := replicasOf(s.Spec.Replicas)
		down := n - s.Status.AvailableReplicas
		more := min(s.Status.AvailableReplicas, spare)
		spare -= more
		if down+more > 0 {
			if err := scale(v, s, n-down-more); err != nil {
				return err
			}
		}
	}
	return nil
}

// portion is a number or a percentage of all.
func portion(value *intstr.IntOrString, all int32, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, int(all), up)
	if err != nil {
		return 0 // the API server refuses such a value
	}
	return int32(n) //nolint:gosec // a part of an int32
}

// running is how many pods ReplicaSets have.
func running(sets []*appsv1.ReplicaSet) int32 {
	var n int32
	for _, s := range sets {
		n += s.Status.Replicas
	}
	return n
}

func scale(v *view.View, s *appsv1.ReplicaSet, to int32) error {
	if replicasOf(s.Spec.Replicas) == to {
		return nil
	}
	changed := s.DeepCopy()
	changed.Spec.Replicas = &to
	return v.Update(changed)
}

func deploymentStatus(v *view.View, d *appsv1.Deployment, current *appsv1.ReplicaSet, sets []*appsv1.ReplicaSet) error {
	changed := d.DeepCopy()
	s := appsv1.DeploymentStatus{ObservedGeneration: d.Generation, UpdatedReplicas: current.Status.Replicas, CollisionCount: d.Status.CollisionCount}
	for _, set := range sets {
		s.Replicas += set.Status.Replicas
		s.ReadyReplicas += set.Status.ReadyReplicas
		s.AvailableReplicas += set.Status.AvailableReplicas
	}
	desired := replicasOf(d.Spec.Replicas)
	s.UnavailableReplicas = atLeastZero(desired - s.AvailableReplicas)
	unavailable := int32(0)
	if r := d.Spec.Strategy.RollingUpdate; r != nil {
		unavailable = portion(r.MaxUnavailable, desired, false)
	}
	enough := s.AvailableReplicas >= desired-unavailable
	done := s.UpdatedReplicas == desired && s.AvailableReplicas >= desired && s.Replicas == desired
	now := metav1.NewTime(v.Now())
	s.Conditions = []appsv1.DeploymentCondition{
		deploymentCondition(d, appsv1.DeploymentAvailable, enough, "MinimumReplicasAvailable", "MinimumReplicasUnavailable", now),
		deploymentCondition(d, appsv1.DeploymentProgressing, true, map[bool]string{true: "NewReplicaSetAvailable", false: "ReplicaSetUpdated"}[done], "", now),
	}
	changed.Status = s
	return writeStatus(v, changed, d.Status, s)
}

func deploymentCondition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType, is bool, yes, no string, now metav1.Time) appsv1.DeploymentCondition {
	c := appsv1.DeploymentCondition{Type: kind, Status: corev1.ConditionTrue, Reason: yes, LastUpdateTime: now, LastTransitionTime: now}
	if !is {
		c.Status, c.Reason = corev1.ConditionFalse, no
	}
	for _, before := range d.Status.Conditions {
		if before.Type == kind && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
			if before.Reason == c.Reason {
				c.LastUpdateTime = before.LastUpdateTime
			}
		}
	}
	return c
}
