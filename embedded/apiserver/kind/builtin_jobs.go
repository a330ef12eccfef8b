package kind

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func defaultJob(o *batchv1.Job) {
	spec := &o.Spec
	defaultPodTemplate(&spec.Template)
	if len(o.Labels) == 0 {
		o.Labels = spec.Template.Labels
	}
	if spec.Completions == nil && spec.Parallelism == nil {
		spec.Completions = ptr.To[int32](1)
	}
	set(&spec.Parallelism, ptr.To[int32](1))
	if spec.BackoffLimitPerIndex == nil {
		set(&spec.BackoffLimit, ptr.To[int32](6))
	}
	set(&spec.CompletionMode, ptr.To(batchv1.NonIndexedCompletion))
	set(&spec.Suspend, ptr.To(false))
	if spec.PodFailurePolicy == nil {
		set(&spec.PodReplacementPolicy, ptr.To(batchv1.TerminatingOrFailed))
	} else {
		set(&spec.PodReplacementPolicy, ptr.To(batchv1.Failed))
	}
}

func jobHooks() hooks {
	return hooks{
		defaults: on(defaultJob),
		create:   on(createJob),
		validate: on2(func(o, old *batchv1.Job, status bool) field.ErrorList {
			if status {
				return nil
			}
			path := field.NewPath("spec")
			errs := validation.ValidateNonnegativeField(int64(ptr.Deref(o.Spec.Parallelism, 0)), path.Child("parallelism"))
			errs = append(errs, validation.ValidateNonnegativeField(int64(ptr.Deref(o.Spec.Completions, 0)), path.Child("completions"))...)
			errs = append(errs, validatePodSpec(&o.Spec.Template.Spec, path.Child("template", "spec"))...)
			if o.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyAlways {
				errs = append(errs, field.Required(path.Child("template", "spec", "restartPolicy"), "valid values: \"OnFailure\", \"Never\""))
			}
			if old != nil {
				errs = append(errs, validation.ValidateImmutableField(o.Spec.Selector, old.Spec.Selector, path.Child("selector"))...)
				errs = append(errs, validation.ValidateImmutableField(o.Spec.CompletionMode, old.Spec.CompletionMode, path.Child("completionMode"))...)
			}
			return errs
		}),
		columns: append(append([]column{
			nameColumn(),
			{name: "Status", kind: "string", value: func(r row) any { return jobStatus(r) }},
			{name: "Completions", kind: "string", value: func(r row) any {
				if r.get("spec.completions") == nil {
					return fmt.Sprintf("%d/1 of %d", r.number("status.succeeded"), r.number("spec.parallelism"))
				}
				return fmt.Sprintf("%d/%d", r.number("status.succeeded"), r.number("spec.completions"))
			}},
			{name: "Duration", kind: "string", value: func(r row) any { return jobDuration(r) }},
			ageColumn(),
		}, workload()...), selectorColumn()),
	}
}

// createJob gives a job a selector for its pods only, unless it brings one.
func createJob(o *batchv1.Job) {
	o.Status = batchv1.JobStatus{}
	if ptr.Deref(o.Spec.ManualSelector, false) {
		return
	}
	template := &o.Spec.Template
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	uid := string(o.UID)
	for key, value := range map[string]string{
		"job-name": o.Name, "controller-uid": uid, batchv1.JobNameLabel: o.Name, batchv1.ControllerUidLabel: uid,
	} {
		template.Labels[key] = value
	}
	o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: uid}}
}

func jobStatus(r row) string {
	for _, c := range r.list("status.conditions") {
		if c.text("status") == "True" && (c.text("type") == "Complete" || c.text("type") == "Failed") {
			return c.text("type")
		}
	}
	switch {
	case r.get("metadata.deletionTimestamp") != nil:
		return "Terminating"
	case r.get("spec.suspend") == true:
		return "Suspended"
	}
	return "Running"
}

func jobDuration(r row) any {
	started := r.text("status.startTime")
	if started == "" {
		return ""
	}
	if ended := r.text("status.completionTime"); ended != "" {
		if at, err := parseTime(ended); err == nil {
			return since(started, at)
		}
	}
	return since(started, r.now)
}

func podTemplateHooks() hooks {
	return hooks{
		defaults: on(func(o *corev1.PodTemplate) { defaultPodTemplate(&o.Template) }),
		columns: []column{
			nameColumn(), inTemplate("Containers", "name"), inTemplate("Images", "image"),
			{name: "Pod Labels", kind: "string", value: func(r row) any { return labelsText(r.object("template.metadata.labels")) }},
		},
	}
}

func replicationControllerHooks() hooks {
	return hooks{
		defaults: on(func(o *corev1.ReplicationController) {
			set(&o.Spec.Replicas, ptr.To[int32](1))
			if o.Spec.Template != nil {
				defaultPodTemplate(o.Spec.Template)
				if len(o.Spec.Selector) == 0 {
					o.Spec.Selector = o.Spec.Template.Labels
				}
				if len(o.Labels) == 0 {
					o.Labels = o.Spec.Template.Labels
				}
			}
		}),
		create: on(func(o *corev1.ReplicationController) { o.Status = corev1.ReplicationControllerStatus{} }),
		validate: on2(func(o, _ *corev1.ReplicationController, status bool) field.ErrorList {
			if status {
				return nil
			}
			path := field.NewPath("spec")
			errs := validation.ValidateNonnegativeField(int64(ptr.Deref(o.Spec.Replicas, 0)), path.Child("replicas"))
			switch {
			case len(o.Spec.Selector) == 0:
				errs = append(errs, field.Required(path.Child("selector"), ""))
			case o.Spec.Template == nil:
				errs = append(errs, field.Required(path.Child("template"), ""))
			case !labels.SelectorFromSet(o.Spec.Selector).Matches(labels.Set(o.Spec.Template.Labels)):
				errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels"), o.Spec.Template.Labels, "`selector` does not match template `labels`"))
			}
			return errs
		}),
		columns: append(append([]column{
			nameColumn(), count("Desired", "spec.replicas"), count("Current", "status.replicas"), count("Ready", "status.readyReplicas"), ageColumn(),
		}, workload()...), wide(column{name: "Selector", kind: "string", value: func(r row) any { return labelsText(r.object("spec.selector")) }})),
	}
}
