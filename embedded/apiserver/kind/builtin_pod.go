package kind

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func podFields() []string {
	return []string{
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP",
		"status.podIPs", "status.nominatedNodeName",
	}
}

func podHooks() hooks {
	return hooks{
		defaults: on(defaultPod),
		create:   on(createPod),
		updateStatus: func(object, old runtime.Object) {
			pod, okNew := object.(*corev1.Pod)
			before, okOld := old.(*corev1.Pod)
			if okNew && okOld {
				pod.OwnerReferences = before.OwnerReferences
				if pod.Status.QOSClass == "" {
					pod.Status.QOSClass = before.Status.QOSClass
				}
			}
		},
		validate: on2(validatePod),
		columns:  podColumns(),
	}
}

// createPod sets the status of a new pod.
func createPod(pod *corev1.Pod) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosClass(pod)}
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message:            "Scheduling is blocked due to non-empty scheduling gates",
			LastTransitionTime: pod.CreationTimestamp,
		}}
	}
	tolerateForFiveMinutes(pod)
}

// tolerateForFiveMinutes does what the admission plugin DefaultTolerationSeconds does.
func tolerateForFiveMinutes(pod *corev1.Pod) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		covered := slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		})
		if !covered {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300),
			})
		}
	}
}

// qosClass is Guaranteed if all containers have limits for CPU and memory that equal their requests, BestEffort without requests and limits,
// and Burstable otherwise. Resources of the pod as a whole count instead of those of its containers.
func qosClass(pod *corev1.Pod) corev1.PodQOSClass {
	var sets []corev1.ResourceRequirements
	if pod.Spec.Resources != nil {
		sets = append(sets, *pod.Spec.Resources)
	} else {
		for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				sets = append(sets, list[i].Resources)
			}
		}
	}
	counted := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
	guaranteed, bestEffort := true, true
	for _, r := range sets {
		for _, name := range counted {
			request, limit := r.Requests[name], r.Limits[name]
			if !request.IsZero() || !limit.IsZero() {
				bestEffort = false
			}
			if limit.IsZero() || !request.IsZero() && request.Cmp(limit) != 0 {
				guaranteed = false
			}
		}
	}
	switch {
	case bestEffort:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// validatePod checks what controllers and schedulers rely on; the fields of volumes, probes and security contexts are not checked.
func validatePod(pod, old *corev1.Pod, status bool) field.ErrorList {
	path := field.NewPath("spec")
	if status {
		return nil
	}
	if old == nil {
		return validatePodSpec(&pod.Spec, path)
	}
	errs := validatePodSpec(&pod.Spec, path)
	errs = append(errs, validateGates(pod, old, path)...)
	allowed := pod.Spec.DeepCopy()
	for i := range allowed.Containers {
		if i < len(old.Spec.Containers) {
			allowed.Containers[i].Image = old.Spec.Containers[i].Image
		}
	}
	for i := range allowed.InitContainers {
		if i < len(old.Spec.InitContainers) {
			allowed.InitContainers[i].Image = old.Spec.InitContainers[i].Image
		}
	}
	if added := pod.Spec.ActiveDeadlineSeconds; added != nil {
		if before := old.Spec.ActiveDeadlineSeconds; before != nil && *added > *before {
			errs = append(errs, field.Invalid(path.Child("activeDeadlineSeconds"), *added, "must be less than or equal to previous value"))
		}
		allowed.ActiveDeadlineSeconds = old.Spec.ActiveDeadlineSeconds
	}
	for _, t := range old.Spec.Tolerations {
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(n corev1.Toleration) bool { return equality.Semantic.DeepEqual(n, t) }) {
			errs = append(errs, field.Forbidden(path.Child("tolerations"), "existing toleration can not be modified except its tolerationSeconds"))
		}
	}
	allowed.Tolerations = old.Spec.Tolerations
	if p := old.Spec.TerminationGracePeriodSeconds; p != nil && *p < 0 {
		allowed.TerminationGracePeriodSeconds = p
	}
	if len(old.Spec.SchedulingGates) > 0 {
		allowed.SchedulingGates, allowed.NodeSelector, allowed.Affinity = old.Spec.SchedulingGates, old.Spec.NodeSelector, old.Spec.Affinity
	}
	if !equality.Semantic.DeepEqual(*allowed, old.Spec) {
		errs = append(errs, field.Forbidden(path, "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"+
			"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "+
			"(allow it to be set to 1 if it was previously negative)"))
	}
	return errs
}

// validateGates: gates are removed, never added.
func validateGates(pod, old *corev1.Pod, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range pod.Spec.SchedulingGates {
		if !slices.Contains(old.Spec.SchedulingGates, gate) {
			errs = append(errs, field.Forbidden(path.Child("schedulingGates").Index(i).Child("name"), "only deletion is allowed, but found new scheduling gate '"+gate.Name+"'"))
		}
	}
	return errs
}

func validatePodSpec(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), ""))
	}
	names := map[string]bool{}
	for _, list := range []struct {
		field      string
		containers []corev1.Container
	}{{"containers", spec.Containers}, {"initContainers", spec.InitContainers}} {
		for i := range list.containers {
			errs = append(errs, validateContainer(&list.containers[i], path.Child(list.field).Index(i), names)...)
		}
	}
	policies := []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}
	if !slices.Contains(policies, spec.RestartPolicy) {
		errs = append(errs, field.NotSupported(path.Child("restartPolicy"), spec.RestartPolicy, policies))
	}
	for i, t := range spec.Tolerations {
		errs = append(errs, validateToleration(t, path.Child("tolerations").Index(i))...)
	}
	for i, c := range spec.TopologySpreadConstraints {
		at := path.Child("topologySpreadConstraints").Index(i)
		if c.MaxSkew <= 0 {
			errs = append(errs, field.Invalid(at.Child("maxSkew"), c.MaxSkew, "must be greater than zero"))
		}
		if c.TopologyKey == "" {
			errs = append(errs, field.Required(at.Child("topologyKey"), "can not be empty"))
		}
	}
	return errs
}

func validateContainer(c *corev1.Container, path *field.Path, names map[string]bool) field.ErrorList {
	var errs field.ErrorList
	switch {
	case c.Name == "":
		errs = append(errs, field.Required(path.Child("name"), ""))
	case names[c.Name]:
		errs = append(errs, field.Duplicate(path.Child("name"), c.Name))
	default:
		for _, problem := range validation.IsDNS1123Label(c.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), c.Name, problem))
		}
	}
	names[c.Name] = true
	switch {
	case c.Image == "":
		errs = append(errs, field.Required(path.Child("image"), ""))
	case strings.TrimSpace(c.Image) != c.Image:
		errs = append(errs, field.Invalid(path.Child("image"), c.Image, "must not have leading or trailing whitespace"))
	}
	at := path.Child("resources")
	for _, name := range sortedNames(c.Resources.Requests) {
		request := c.Resources.Requests[name]
		if request.Cmp(resource.Quantity{}) < 0 {
			errs = append(errs, field.Invalid(at.Child("requests").Key(string(name)), request.String(), "must be greater than or equal to 0"))
		}
		if limit, ok := c.Resources.Limits[name]; ok && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(at.Child("requests"), request.String(), "must be less than or equal to "+string(name)+" limit of "+limit.String()))
		}
	}
	return errs
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	out := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func validateToleration(t corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Key == "" && t.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(path.Child("operator"), t.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, field.Invalid(path.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
	}
	if t.Operator == corev1.TolerationOpExists && t.Value != "" {
		errs = append(errs, field.Invalid(path.Child("operator"), t, "value must be empty when `operator` is 'Exists'"))
	}
	return errs
}
