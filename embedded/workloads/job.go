package workloads

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

// jobs keeps the pods of Jobs until these are complete or have failed.
func jobs(v *view.View) error {
	all, err := view.List[batchv1.Job](v)
	if err != nil {
		return err
	}
	pods, err := podsByOwner(v)
	if err != nil {
		return err
	}
	for _, j := range all {
		if j.DeletionTimestamp != nil || ended(j) {
			continue
		}
		if err := job(v, j, pods[j.UID]); err != nil {
			return err
		}
	}
	return nil
}

func ended(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func job(v *view.View, j *batchv1.Job, pods []*corev1.Pod) error {
	phase := func(p corev1.PodPhase) int32 {
		return count(pods, func(pod *corev1.Pod) bool { return pod.Status.Phase == p })
	}
	running := filter(pods, active)
	now := metav1.NewTime(v.Now())
	changed := j.DeepCopy()
	s := &changed.Status
	s.Active, s.Succeeded, s.Failed = count(running, active), phase(corev1.PodSucceeded), phase(corev1.PodFailed)
	s.Ready = ptr.To(count(running, ready))
	if s.StartTime == nil {
		s.StartTime = &now
	}
	parallelism := replicasOf(j.Spec.Parallelism)
	wanted := parallelism
	complete := s.Succeeded > 0 && s.Active == 0
	if j.Spec.Completions != nil {
		complete = s.Succeeded >= *j.Spec.Completions
		wanted = min(parallelism, *j.Spec.Completions-s.Succeeded)
	} else if s.Succeeded > 0 {
		wanted = 0 // one has succeeded: no more are started
	}
	failed := s.Failed > ptr.Deref(j.Spec.BackoffLimit, 6)
	switch {
	case complete:
		s.CompletionTime = &now
		s.Conditions = append(s.Conditions, jobCondition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, now),
			jobCondition(batchv1.JobComplete, batchv1.JobReasonCompletionsReached, now))
	case failed:
		s.Conditions = append(s.Conditions, jobCondition(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded, now),
			jobCondition(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, now))
	}
	if err := writeStatus(v, changed, j.Status, *s); err != nil {
		return err
	}
	if complete || failed {
		return deleteAll(v, running)
	}
	for range wanted - s.Active {
		if err := v.Create(newPod(j, batchv1.SchemeGroupVersion.WithKind("Job"), &j.Spec.Template, "")); err != nil {
			return err
		}
	}
	return deleteAll(v, firstToDelete(running)[:max(0, len(running)-int(atLeastZero(wanted)))])
}

func jobCondition(kind batchv1.JobConditionType, reason string, now metav1.Time) batchv1.JobCondition {
	return batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastProbeTime: now, LastTransitionTime: now}
}
