package kind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func namespaceHooks() hooks {
	return hooks{
		defaults: on(func(o *corev1.Namespace) {
			if o.Name != "" {
				if o.Labels == nil {
					o.Labels = map[string]string{}
				}
				o.Labels[corev1.LabelMetadataName] = o.Name
			}
			set(&o.Status.Phase, corev1.NamespaceActive)
		}),
		create: on(func(o *corev1.Namespace) {
			o.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
			o.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
			if o.Labels == nil {
				o.Labels = map[string]string{}
			}
			o.Labels[corev1.LabelMetadataName] = o.Name
		}),
		update: func(object, old runtime.Object) {
			if o, ok := object.(*corev1.Namespace); ok {
				if before, ok := old.(*corev1.Namespace); ok {
					o.Spec.Finalizers = before.Spec.Finalizers
				}
			}
		},
		columns: []column{nameColumn(), text("Status", "status.phase"), ageColumn()},
	}
}

func nodeHooks() hooks {
	return hooks{
		defaults: on(func(o *corev1.Node) {
			if o.Status.Allocatable == nil && o.Status.Capacity != nil {
				o.Status.Allocatable = o.Status.Capacity.DeepCopy()
			}
		}),
		// What the admission plugin TaintNodesByCondition does: a new node takes no pods before its first status.
		create: on(func(o *corev1.Node) {
			for _, t := range o.Spec.Taints {
				if t.Key == corev1.TaintNodeNotReady && t.Effect == corev1.TaintEffectNoSchedule {
					return
				}
			}
			o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
		}),
		validate: on2(validateNode),
		columns:  nodeColumns(),
	}
}

func validateNode(o, old *corev1.Node, _ bool) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, t := range o.Spec.Taints {
		path := field.NewPath("metadata", "taints").Index(i) // as kube-apiserver names it
		for _, problem := range utilvalidation.IsQualifiedName(t.Key) {
			errs = append(errs, field.Invalid(path.Child("key"), t.Key, problem))
		}
		effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
		switch t.Effect {
		case effects[0], effects[1], effects[2]:
		case "":
			errs = append(errs, field.Required(path.Child("effect"), ""))
		default:
			errs = append(errs, field.NotSupported(path.Child("effect"), t.Effect, effects))
		}
		id := t.Key + ":" + string(t.Effect)
		if seen[id] {
			shown := struct {
				Key, Value string
				Effect     corev1.TaintEffect
				TimeAdded  *metav1.Time
			}{t.Key, t.Value, t.Effect, t.TimeAdded}
			duplicate := field.Duplicate(path, shown)
			duplicate.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, duplicate)
		}
		seen[id] = true
	}
	if old != nil && len(old.Spec.PodCIDRs) > 0 && !slices.Equal(o.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "podCIDRs"), "node updates may not change podCIDR except from \"\" to valid"))
	}
	if old != nil && old.Spec.ProviderID != "" && o.Spec.ProviderID != old.Spec.ProviderID {
		errs = append(errs, field.Invalid(field.NewPath("spec", "providerID"), nil, "field cannot be modified once set"))
	}
	return errs
}

func configMapHooks() hooks {
	return hooks{
		validate: on2(func(o, old *corev1.ConfigMap, _ bool) field.ErrorList {
			if old == nil {
				old = &corev1.ConfigMap{}
			}
			return validateData(o.Data, old.Data, o.Immutable, old.Immutable)
		}),
		columns: []column{nameColumn(), {name: "Data", kind: "string", value: func(o row) any { return len(o.object("data")) + len(o.object("binaryData")) }}, ageColumn()},
	}
}

// validateData checks the data of a ConfigMap or Secret: keys are valid, and immutable data stays as it is. An object that is created has no
// old data.
func validateData[T any](data, old map[string]T, immutable, wasImmutable *bool) field.ErrorList {
	var errs field.ErrorList
	if ptr.Deref(wasImmutable, false) {
		if !ptr.Deref(immutable, false) {
			errs = append(errs, field.Forbidden(field.NewPath("immutable"), "field is immutable when `immutable` is set"))
		}
		if !equality.Semantic.DeepEqual(data, old) {
			errs = append(errs, field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"))
		}
	}
	for key := range data {
		for _, problem := range utilvalidation.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, problem))
		}
	}
	return errs
}

// validateSelector checks the selector of a workload: required, valid, unchangeable, and matching the labels of its pods.
func validateSelector(selector, old *metav1.LabelSelector, template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if selector == nil {
		return field.ErrorList{
			field.Required(path.Child("selector"), ""),
			field.Invalid(path.Child("template", "metadata", "labels"), template.Labels, "`selector` does not match template `labels`"),
		}
	}
	var errs field.ErrorList
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(path.Child("selector"), selector, "empty selector is invalid for deployment"))
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil:
		errs = append(errs, field.Invalid(path.Child("selector"), selector, "invalid label selector"))
	case !parsed.Matches(labels.Set(template.Labels)):
		errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
	}
	if old != nil {
		errs = append(errs, validation.ValidateImmutableField(selector, old, path.Child("selector"))...)
	}
	return errs
}

func validateWorkload(selector, old *metav1.LabelSelector, template *corev1.PodTemplateSpec, replicas *int32, status bool) field.ErrorList {
	if status {
		return nil
	}
	path := field.NewPath("spec")
	errs := validation.ValidateNonnegativeField(int64(ptr.Deref(replicas, 0)), path.Child("replicas"))
	errs = append(errs, validateSelector(selector, old, template, path)...)
	errs = append(errs, validatePodSpec(&template.Spec, path.Child("template", "spec"))...)
	if template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(path.Child("template", "spec", "restartPolicy"), template.Spec.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	return errs
}

func deploymentHooks() hooks {
	return hooks{
		defaults: on(defaultDeployment),
		create:   on(func(o *appsv1.Deployment) { o.Status = appsv1.DeploymentStatus{} }),
		updateStatus: func(object, old runtime.Object) {
			if o, ok := object.(*appsv1.Deployment); ok {
				if before, ok := old.(*appsv1.Deployment); ok {
					o.Labels = before.Labels
				}
			}
		},
		validate: on2(func(o, old *appsv1.Deployment, status bool) field.ErrorList {
			var before *metav1.LabelSelector
			if old != nil {
				before = old.Spec.Selector
			}
			return validateWorkload(o.Spec.Selector, before, &o.Spec.Template, o.Spec.Replicas, status)
		}),
		columns: deploymentColumns(),
	}
}

func replicaSetHooks() hooks {
	return hooks{
		defaults: on(defaultReplicaSet),
		create:   on(func(o *appsv1.ReplicaSet) { o.Status = appsv1.ReplicaSetStatus{} }),
		validate: on2(func(o, old *appsv1.ReplicaSet, status bool) field.ErrorList {
			var before *metav1.LabelSelector
			if old != nil {
				before = old.Spec.Selector
			}
			return validateWorkload(o.Spec.Selector, before, &o.Spec.Template, o.Spec.Replicas, status)
		}),
		columns: replicaSetColumns(),
	}
}

func statefulSetHooks() hooks {
	return hooks{
		defaults: on(defaultStatefulSet),
		create:   on(func(o *appsv1.StatefulSet) { o.Status = appsv1.StatefulSetStatus{} }),
		validate: on2(func(o, old *appsv1.StatefulSet, status bool) field.ErrorList {
			errs := validateWorkload(o.Spec.Selector, nil, &o.Spec.Template, o.Spec.Replicas, status)
			if old == nil || status {
				return errs
			}
			spec := o.Spec.DeepCopy()
			spec.Replicas, spec.Template, spec.UpdateStrategy = old.Spec.Replicas, old.Spec.Template, old.Spec.UpdateStrategy
			spec.MinReadySeconds, spec.Ordinals, spec.RevisionHistoryLimit = old.Spec.MinReadySeconds, old.Spec.Ordinals, old.Spec.RevisionHistoryLimit
			spec.PersistentVolumeClaimRetentionPolicy = old.Spec.PersistentVolumeClaimRetentionPolicy
			if spec.ServiceName != old.Spec.ServiceName {
				return append(errs, field.Invalid(field.NewPath("spec", "serviceName"), spec.ServiceName, validation.FieldImmutableErrorMsg))
			}
			if !equality.Semantic.DeepEqual(*spec, old.Spec) {
				errs = append(errs, field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"))
			}
			return errs
		}),
		columns: statefulSetColumns(),
	}
}

func daemonSetHooks() hooks {
	return hooks{
		defaults: on(defaultDaemonSet),
		create: on(func(o *appsv1.DaemonSet) {
			o.Status = appsv1.DaemonSetStatus{}
			setTemplateGeneration(o, 1)
		}),
		update: func(object, old runtime.Object) {
			o, okNew := object.(*appsv1.DaemonSet)
			before, okOld := old.(*appsv1.DaemonSet)
			if !okNew || !okOld {
				return
			}
			generation, _ := strconv.ParseInt(before.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
			if !equality.Semantic.DeepEqual(o.Spec.Template, before.Spec.Template) {
				generation++
			}
			setTemplateGeneration(o, generation)
		},
		validate: on2(func(o, old *appsv1.DaemonSet, status bool) field.ErrorList {
			var before *metav1.LabelSelector
			if old != nil {
				before = old.Spec.Selector
			}
			return validateWorkload(o.Spec.Selector, before, &o.Spec.Template, nil, status)
		}),
		columns: daemonSetColumns(),
	}
}

// setTemplateGeneration counts changes of the template of a DaemonSet in an annotation.
func setTemplateGeneration(o *appsv1.DaemonSet, generation int64) {
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(generation, 10)
}

func leaseHooks() hooks {
	return hooks{
		validate: on2(func(o, _ *coordinationv1.Lease, _ bool) field.ErrorList {
			path := field.NewPath("spec")
			var errs field.ErrorList
			if d := o.Spec.LeaseDurationSeconds; d != nil && *d <= 0 {
				errs = append(errs, field.Invalid(path.Child("leaseDurationSeconds"), *d, "must be greater than 0"))
			}
			if n := o.Spec.LeaseTransitions; n != nil && *n < 0 {
				errs = append(errs, field.Invalid(path.Child("leaseTransitions"), *n, "must be greater than or equal to 0"))
			}
			return errs
		}),
		columns: []column{nameColumn(), text("Holder", "spec.holderIdentity"), ageColumn()},
	}
}

func budgetHooks() hooks {
	return hooks{
		create: on(func(o *policyv1.PodDisruptionBudget) { o.Status = policyv1.PodDisruptionBudgetStatus{} }),
		validate: on2(func(o, _ *policyv1.PodDisruptionBudget, status bool) field.ErrorList {
			path := field.NewPath("spec")
			if status {
				return nil
			}
			var errs field.ErrorList
			if o.Spec.MinAvailable != nil && o.Spec.MaxUnavailable != nil {
				shown := struct {
					MinAvailable               *intstr.IntOrString
					Selector                   *metav1.LabelSelector
					MaxUnavailable             *intstr.IntOrString
					UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType
				}{o.Spec.MinAvailable, o.Spec.Selector, o.Spec.MaxUnavailable, o.Spec.UnhealthyPodEvictionPolicy}
				errs = append(errs, field.Invalid(path, shown, "minAvailable and maxUnavailable cannot be both set"))
			}
			errs = append(errs, validateAmount(o.Spec.MinAvailable, path.Child("minAvailable"))...)
			errs = append(errs, validateAmount(o.Spec.MaxUnavailable, path.Child("maxUnavailable"))...)
			policies := []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}
			if policy := o.Spec.UnhealthyPodEvictionPolicy; policy != nil && !slices.Contains(policies, *policy) {
				errs = append(errs, field.NotSupported(path.Child("unhealthyPodEvictionPolicy"), *policy, policies))
			}
			return append(errs, metav1validation.ValidateLabelSelector(o.Spec.Selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
		}),
		columns: budgetColumns(),
	}
}

// validateAmount checks a number or a percentage of pods.
func validateAmount(amount *intstr.IntOrString, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case amount == nil:
	case amount.Type == intstr.Int:
		return validation.ValidateNonnegativeField(int64(amount.IntVal), path)
	default:
		for _, problem := range utilvalidation.IsValidPercent(amount.StrVal) {
			errs = append(errs, field.Invalid(path, amount, problem))
		}
		if n, err := strconv.Atoi(strings.TrimSuffix(amount.StrVal, "%")); len(errs) == 0 && err == nil && n > 100 {
			errs = append(errs, field.Invalid(path, amount, "must not be greater than 100%"))
		}
	}
	return errs
}

func priorityClassHooks() hooks {
	return hooks{
		defaults: on(func(o *schedulingv1.PriorityClass) { set(&o.PreemptionPolicy, ptr.To(corev1.PreemptLowerPriority)) }),
		validate: on2(func(o, old *schedulingv1.PriorityClass, _ bool) field.ErrorList {
			var errs field.ErrorList
			if old != nil && o.Value != old.Value {
				errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
			}
			if old != nil {
				return append(errs, validation.ValidateImmutableField(o.PreemptionPolicy, old.PreemptionPolicy, field.NewPath("preemptionPolicy"))...)
			}
			if strings.HasPrefix(o.Name, "system-") {
				errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"), "priority class names with 'system-' prefix are reserved for system use only. error: "+
					o.Name+" is not a known system priority class"))
			}
			policies := []corev1.PreemptionPolicy{corev1.PreemptLowerPriority, corev1.PreemptNever}
			if policy := ptr.Deref(o.PreemptionPolicy, policies[0]); !slices.Contains(policies, policy) {
				errs = append(errs, field.NotSupported(field.NewPath("preemptionPolicy"), policy, policies))
			}
			if o.Value > highestUserPriority {
				errs = append(errs, field.Forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %v", highestUserPriority)))
			}
			return errs
		}),
		columns: []column{
			nameColumn(),
			{name: "Value", kind: "integer", value: func(o row) any { return o.number("value") }},
			{name: "Global-Default", kind: "boolean", value: func(o row) any { return o.get("globalDefault") == true }},
			ageColumn(),
			text("PreemptionPolicy", "preemptionPolicy"),
		},
	}
}

func storageClassHooks() hooks {
	return hooks{
		defaults: on(func(o *storagev1.StorageClass) {
			set(&o.ReclaimPolicy, ptr.To(corev1.PersistentVolumeReclaimDelete))
			set(&o.VolumeBindingMode, ptr.To(storagev1.VolumeBindingImmediate))
		}),
		validate: on2(func(o, old *storagev1.StorageClass, _ bool) field.ErrorList {
			var errs field.ErrorList
			if o.Provisioner == "" {
				errs = append(errs, field.Required(field.NewPath("provisioner"), ""))
			}
			if old == nil {
				return errs
			}
			if !equality.Semantic.DeepEqual(o.Parameters, old.Parameters) {
				errs = append(errs, field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))
			}
			if o.Provisioner != old.Provisioner {
				errs = append(errs, field.Invalid(field.NewPath("provisioner"), nil, validation.FieldImmutableErrorMsg))
			}
			if !equality.Semantic.DeepEqual(o.ReclaimPolicy, old.ReclaimPolicy) {
				errs = append(errs, field.Forbidden(field.NewPath("reclaimPolicy"), "updates to reclaimPolicy are forbidden."))
			}
			return append(errs, validation.ValidateImmutableField(o.VolumeBindingMode, old.VolumeBindingMode, field.NewPath("volumeBindingMode"))...)
		}),
	}
}

// highestUserPriority is the highest value of a priority class that is not of the system.
const highestUserPriority = 1_000_000_000
