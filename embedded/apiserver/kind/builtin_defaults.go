package kind

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// The defaults of built-in kinds, as the API reference documents them.

// set gives a field its default.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func defaultPod(pod *corev1.Pod) {
	spec := &pod.Spec
	defaultPodSpec(spec)
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			requestLimits(&list[i].Resources)
			for j := range list[i].Ports {
				if spec.HostNetwork {
					set(&list[i].Ports[j].HostPort, list[i].Ports[j].ContainerPort)
				}
			}
		}
	}
	set(&spec.EnableServiceLinks, ptr.To(true))
	status := &pod.Status
	switch {
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	}
}

// requestLimits: what is limited and not requested is requested up to its limit.
func requestLimits(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; ok {
			continue
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[name] = limit.DeepCopy()
	}
}

func defaultPodTemplate(template *corev1.PodTemplateSpec) { defaultPodSpec(&template.Spec) }

func defaultPodSpec(spec *corev1.PodSpec) {
	set(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	set(&spec.DNSPolicy, corev1.DNSClusterFirst)
	set(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	set(&spec.SchedulerName, corev1.DefaultSchedulerName)
	set(&spec.TerminationGracePeriodSeconds, ptr.To[int64](corev1.DefaultTerminationGracePeriodSeconds))
	set(&spec.SecurityContext, &corev1.PodSecurityContext{})
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			defaultContainer(&list[i])
		}
	}
	for i := range spec.EphemeralContainers {
		c := corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		defaultContainer(&c)
		spec.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(c)
	}
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i].VolumeSource)
	}
}

func defaultContainer(c *corev1.Container) {
	set(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	set(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	set(&c.ImagePullPolicy, corev1.PullIfNotPresent)
	if c.ImagePullPolicy == corev1.PullIfNotPresent && latest(c.Image) {
		c.ImagePullPolicy = corev1.PullAlways
	}
	for i := range c.Ports {
		set(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			set(&from.FieldRef.APIVersion, "v1")
		}
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p == nil {
			continue
		}
		set(&p.TimeoutSeconds, 1)
		set(&p.PeriodSeconds, 10)
		set(&p.SuccessThreshold, 1)
		set(&p.FailureThreshold, 3)
		defaultHandler(&p.ProbeHandler)
	}
	if c.Lifecycle != nil {
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil && h.HTTPGet != nil {
				set(&h.HTTPGet.Path, "/")
				set(&h.HTTPGet.Scheme, corev1.URISchemeHTTP)
			}
		}
	}
}

func defaultHandler(h *corev1.ProbeHandler) {
	if h.HTTPGet != nil {
		set(&h.HTTPGet.Path, "/")
		set(&h.HTTPGet.Scheme, corev1.URISchemeHTTP)
	}
	if h.GRPC != nil {
		set(&h.GRPC.Service, ptr.To(""))
	}
}

// latest: the image has the tag latest, or neither a tag nor a digest.
func latest(image string) bool {
	if strings.Contains(image, "@") {
		return false
	}
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	return !tagged || tag == "latest"
}

func defaultVolume(v *corev1.VolumeSource) {
	if *v == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	mode := ptr.To[int32](0o644)
	if v.Secret != nil {
		set(&v.Secret.DefaultMode, mode)
	}
	if v.ConfigMap != nil {
		set(&v.ConfigMap.DefaultMode, mode)
	}
	if v.DownwardAPI != nil {
		set(&v.DownwardAPI.DefaultMode, mode)
		for i := range v.DownwardAPI.Items {
			if ref := v.DownwardAPI.Items[i].FieldRef; ref != nil {
				set(&ref.APIVersion, "v1")
			}
		}
	}
	if v.HostPath != nil {
		set(&v.HostPath.Type, ptr.To(corev1.HostPathUnset))
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		set(&v.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, ptr.To(corev1.PersistentVolumeFilesystem))
	}
	if v.Projected != nil {
		set(&v.Projected.DefaultMode, mode)
		for i := range v.Projected.Sources {
			if token := v.Projected.Sources[i].ServiceAccountToken; token != nil {
				set(&token.ExpirationSeconds, ptr.To[int64](3600))
			}
		}
	}
}

func defaultDeployment(d *appsv1.Deployment) {
	defaultPodTemplate(&d.Spec.Template)
	set(&d.Spec.Replicas, ptr.To[int32](1))
	set(&d.Spec.RevisionHistoryLimit, ptr.To[int32](10))
	set(&d.Spec.ProgressDeadlineSeconds, ptr.To[int32](600))
	set(&d.Spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		set(&d.Spec.Strategy.RollingUpdate, &appsv1.RollingUpdateDeployment{})
		set(&d.Spec.Strategy.RollingUpdate.MaxUnavailable, ptr.To(intstr.FromString("25%")))
		set(&d.Spec.Strategy.RollingUpdate.MaxSurge, ptr.To(intstr.FromString("25%")))
	}
}

func defaultReplicaSet(r *appsv1.ReplicaSet) {
	defaultPodTemplate(&r.Spec.Template)
	set(&r.Spec.Replicas, ptr.To[int32](1))
}

func defaultDaemonSet(d *appsv1.DaemonSet) {
	defaultPodTemplate(&d.Spec.Template)
	set(&d.Spec.RevisionHistoryLimit, ptr.To[int32](10))
	set(&d.Spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if d.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		set(&d.Spec.UpdateStrategy.RollingUpdate, &appsv1.RollingUpdateDaemonSet{})
		set(&d.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable, ptr.To(intstr.FromInt32(1)))
		set(&d.Spec.UpdateStrategy.RollingUpdate.MaxSurge, ptr.To(intstr.FromInt32(0)))
	}
}

func defaultStatefulSet(s *appsv1.StatefulSet) {
	defaultPodTemplate(&s.Spec.Template)
	for i := range s.Spec.VolumeClaimTemplates {
		claim := &s.Spec.VolumeClaimTemplates[i]
		claim.APIVersion, claim.Kind = "v1", "PersistentVolumeClaim"
		set(&claim.Spec.VolumeMode, ptr.To(corev1.PersistentVolumeFilesystem))
		set(&claim.Status.Phase, corev1.ClaimPending)
	}
	set(&s.Spec.Replicas, ptr.To[int32](1))
	set(&s.Spec.RevisionHistoryLimit, ptr.To[int32](10))
	set(&s.Spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	update := &s.Spec.UpdateStrategy
	if update.Type == "" {
		update.Type = appsv1.RollingUpdateStatefulSetStrategyType
		set(&update.RollingUpdate, &appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if update.Type == appsv1.RollingUpdateStatefulSetStrategyType && update.RollingUpdate != nil {
		set(&update.RollingUpdate.Partition, ptr.To[int32](0))
		set(&update.RollingUpdate.MaxUnavailable, ptr.To(intstr.FromInt32(1)))
	}
	set(&s.Spec.PersistentVolumeClaimRetentionPolicy, &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	set(&s.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	set(&s.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
}
