package translate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Pod translates a pod without its volumes, as if they could be used anywhere. If the pod is invalid, Rejected is set.
func (t *Translator) Pod(pod *corev1.Pod) *model.Pod { return t.PodWith(pod, Storage{}) }

// PodWith translates a pod and its volumes. A pod whose volumes cannot be found is rejected even if it is bound, since it is
// unknown where it could be rescheduled.
func (t *Translator) PodWith(pod *corev1.Pod, storage Storage) *model.Pod {
	waits := podrules.Unplaced(pod)
	volumes := t.volumes.ofPod(pod, storage, waits)
	asked := t.specs.of(pod, waits)
	if len(volumes.topology)+len(volumes.attachments) > 0 {
		bound := *asked.shape
		bound.VolumeTopology, bound.Drivers, bound.InstalledDrivers = volumes.topology, volumes.drivers(), volumes.installed
		asked.shape = t.specs.shapes.shared(&bound)
	}
	p := t.plain(pod)
	p.Shape, p.Labels, p.Dependencies = asked.shape, t.podLabels(pod), model.NewDependencies(volumes.attachments, p.DeviceClaims())
	if len(volumes.exclusive)+len(volumes.late) > 0 {
		if p.Dependencies == nil {
			p.Dependencies = &model.Dependencies{}
		}
		p.Dependencies.ExclusiveVolumes, p.Dependencies.LateVolumes = volumes.exclusive, volumes.late
	}
	p.Rejected, p.Silent, p.IgnoredPreferences = asked.problems, asked.silent, asked.ignored
	switch {
	case !waits:
		p.Rejected = volumes.problem
	case volumes.problem != "":
		p.Rejected, _ = t.labels.reject(pod, volumes.problem, 0)
	}
	return p
}

// plain translates the fields that pods do not share: all but shape, labels and volumes.
func (t *Translator) plain(pod *corev1.Pod) *model.Pod {
	return &model.Pod{
		UID:           string(pod.UID),
		Namespace:     pod.Namespace,
		Name:          pod.Name,
		Created:       pod.CreationTimestamp.UnixNano(),
		Node:          pod.Spec.NodeName,
		Membership:    membership(pod),
		UsesDevices:   UsesDevices(&pod.Spec),
		Dependencies:  model.NewDependencies(nil, DeviceClaims(pod)),
		Terminating:   pod.DeletionTimestamp != nil,
		Unstarted:     pod.Status.Phase == corev1.PodPending,
		Daemon:        podrules.OwnedByDaemonSet(pod),
		Reschedulable: podrules.Reschedulable(pod),
		EvictionCost:  t.costs.of(pod),
	}
}

// Shape returns the shape of a pod without its volumes.
func (t *Translator) Shape(pod *corev1.Pod) *model.Shape {
	shape, _ := t.specs.shape(pod)
	return t.specs.shapes.shared(shape)
}

// shape translates a pod spec, and returns the preferences that it ignores.
func (x *podSpecs) shape(pod *corev1.Pod) (*model.Shape, notes) {
	s, ignored := x.rules(pod)
	x.demand(s, pod)
	return s, ignored
}

// demand sets what a shape demands of the capacity of a node. Every field that it reads has to be in the first part of the key of the spec
// cache.
func (x *podSpecs) demand(s *model.Shape, pod *corev1.Pod) {
	asked := x.amounts.podRequests(pod)
	s.Requests, s.Unoffered = asked.vector, asked.unoffered
	s.Extended, s.HostPorts = extendedRequests(&pod.Spec), hostPorts(&pod.Spec)
}

// rules is a shape without what demand sets, with the preferences that it ignores. Every field that it reads has to be in the second part of
// the key of the spec cache.
func (x *podSpecs) rules(pod *corev1.Pod) (*model.Shape, notes) {
	s := &model.Shape{
		Selector:    x.labels.selector(pod.Spec.NodeSelector),
		Tolerations: tolerations(pod.Spec.Tolerations, x.compareTolerations),

		NodeFeatures: featureNames(x.neededFeatures(&pod.Spec)),
	}
	if pod.Spec.Priority != nil {
		s.Priority = *pod.Spec.Priority
	}
	x.labels.nodeAffinity(s, pod)
	var ignored notes
	if !x.ignorePreferences {
		ignored = x.labels.preferences(s, pod.Spec.Affinity)
	}
	x.podTopology(s, pod)
	return s, append(ignored, boundPreferences(s)...)
}

// hostPorts returns the host ports of the containers that run as long as the pod, sidecars included; the unspecified address
// means all addresses. Like kube-scheduler, it ignores the ports of other init containers, which have ended by then.
func hostPorts(spec *corev1.PodSpec) []model.HostPort {
	var out []model.HostPort
	add := func(c *corev1.Container) {
		for _, port := range c.Ports {
			claimed := hostPort(spec, &port)
			if claimed == 0 {
				continue
			}
			p := model.HostPort{IP: port.HostIP, Port: claimed, Protocol: string(port.Protocol)}
			if p.IP == "0.0.0.0" || p.IP == "::" {
				p.IP = ""
			}
			if p.Protocol == "" {
				p.Protocol = string(corev1.ProtocolTCP)
			}
			out = append(out, p)
		}
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; isSidecar(c) {
			add(c)
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	return out
}

// isSidecar reports whether an init container runs as long as the pod.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// hostPort returns the host port of a container port, 0 for none. With hostNetwork every port is a host port; the API server
// defaults that in pods, but not in the templates of DaemonSets and manifests.
func hostPort(spec *corev1.PodSpec, port *corev1.ContainerPort) int32 {
	if port.HostPort == 0 && spec.HostNetwork {
		return port.ContainerPort
	}
	return port.HostPort
}

// tolerations translates tolerations. Those that compare numbers tolerate nothing unless compare is set.
func tolerations(list []corev1.Toleration, compare bool) []model.Toleration {
	out := make([]model.Toleration, 0, len(list))
	for _, tol := range list {
		switch tol.Operator {
		case corev1.TolerationOpExists, corev1.TolerationOpEqual, "":
			out = append(out, model.Toleration{
				Key:    tol.Key,
				Value:  tol.Value,
				Exists: tol.Operator == corev1.TolerationOpExists,
				Effect: model.Effect(tol.Effect),
			})
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			if compare {
				out = append(out, model.Toleration{Key: tol.Key, Value: tol.Value, Compare: model.Comparison(tol.Operator), Effect: model.Effect(tol.Effect)})
			}
		}
	}
	return out
}
