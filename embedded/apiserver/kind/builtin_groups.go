package kind

import (
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podGroupHooks are those of a PodGroup, whose pods may be disrupted one after the other unless it says otherwise.
func podGroupHooks() hooks {
	return hooks{
		defaults: on(func(o *schedulingv1beta1.PodGroup) {
			if o.Spec.DisruptionMode == nil {
				o.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
			}
		}),
		create: on(func(o *schedulingv1beta1.PodGroup) { o.Status = schedulingv1beta1.PodGroupStatus{} }),
		update: func(object, old runtime.Object) {
			o, isGroup := object.(*schedulingv1beta1.PodGroup)
			if former, wasGroup := old.(*schedulingv1beta1.PodGroup); isGroup && wasGroup {
				o.Status = former.Status
			}
		},
		updateStatus: func(object, old runtime.Object) {
			o, isGroup := object.(*schedulingv1beta1.PodGroup)
			if former, wasGroup := old.(*schedulingv1beta1.PodGroup); isGroup && wasGroup {
				o.Spec = former.Spec
			}
		},
		validate: on2(validatePodGroup),
		columns: []column{
			nameColumn(),
			{name: "Policy", kind: "string", value: func(r row) any {
				if r.object("spec.schedulingPolicy.gang") != nil {
					return "Gang"
				}
				return "Basic"
			}},
			{name: "Workload", kind: "string", value: func(r row) any {
				if name := r.text("spec.workloadRef.workloadName"); name != "" {
					return name
				}
				return "<none>"
			}},
			{name: "Status", kind: "string", value: func(r row) any {
				for _, c := range r.list("status.conditions") {
					if c.text("type") == schedulingv1beta1.PodGroupInitiallyScheduled {
						return c.text("reason")
					}
				}
				return "Pending"
			}},
			ageColumn(),
		},
	}
}

// validatePodGroup checks what the scheduler relies on: the policy, and what cannot change.
func validatePodGroup(o, old *schedulingv1beta1.PodGroup, status bool) field.ErrorList {
	if status {
		return nil
	}
	var errs field.ErrorList
	spec, path := &o.Spec, field.NewPath("spec")
	policy, at := &spec.SchedulingPolicy, path.Child("schedulingPolicy")
	if old != nil {
		former := &old.Spec
		for _, f := range []struct {
			name    string
			is, was any
		}{
			{"workloadRef", spec.WorkloadRef, former.WorkloadRef},
			{"schedulingConstraints", spec.SchedulingConstraints, former.SchedulingConstraints},
			{"resourceClaims", spec.ResourceClaims, former.ResourceClaims},
			{"disruptionMode", spec.DisruptionMode, former.DisruptionMode},
			{"priorityClassName", spec.PriorityClassName, former.PriorityClassName},
			{"priority", spec.Priority, former.Priority},
		} {
			if !equality.Semantic.DeepEqual(f.is, f.was) {
				errs = append(errs, immutable(path.Child(f.name)))
			}
		}
		if (policy.Basic == nil) != (former.SchedulingPolicy.Basic == nil) {
			errs = append(errs, immutable(at.Child("basic")))
		}
		switch {
		case policy.Gang == nil && former.SchedulingPolicy.Gang != nil:
			errs = append(errs, field.Invalid(at.Child("gang"), nil, "field cannot be cleared once set"))
		case policy.Gang != nil && former.SchedulingPolicy.Gang == nil:
			errs = append(errs, field.Invalid(at.Child("gang"), nil, "field cannot be set once created"))
		}
	}
	switch {
	case policy.Basic == nil && policy.Gang == nil:
		errs = append(errs, field.Invalid(at, "", "must specify one of: `basic`, `gang`"))
	case policy.Basic != nil && policy.Gang != nil:
		errs = append(errs, field.Invalid(at, "{basic, gang}", "must specify exactly one of: `basic`, `gang`"))
	}
	if gang := policy.Gang; gang != nil && gang.MinCount == 0 {
		errs = append(errs, field.Required(at.Child("gang", "minCount"), ""))
	} else if gang != nil && gang.MinCount < 0 {
		errs = append(errs, field.Invalid(at.Child("gang", "minCount"), gang.MinCount, "must be greater than or equal to 1"))
	}
	return errs
}

func immutable(path *field.Path) *field.Error { return field.Invalid(path, nil, "field is immutable") }

// deprecation is the warning about a beta version of a kind; empty for others.
func deprecation(object runtime.Object, kind, version string) string {
	type lifecycle interface {
		APILifecycleDeprecated() (major, minor int)
		APILifecycleRemoved() (major, minor int)
	}
	l, ok := object.(lifecycle)
	if !ok {
		return ""
	}
	major, minor := l.APILifecycleDeprecated()
	lastMajor, lastMinor := l.APILifecycleRemoved()
	return fmt.Sprintf("%s %s is deprecated in v%d.%d+, unavailable in v%d.%d+", version, kind, major, minor, lastMajor, lastMinor)
}
