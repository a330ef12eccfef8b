package translate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// podDeletionCostAnnotation is the owner's word on how much a pod minds to go.
const podDeletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost"

// Pod translates a pod without looking at its volumes, as if they could be used anywhere. What is wrong with it, if
// anything, is in Rejected.
func (t *Translator) Pod(pod *corev1.Pod) *model.Pod { return t.PodWith(pod, Storage{}) }

// PodWith translates a pod and the volumes it uses. A pod whose volumes cannot be found is rejected even when it is bound:
// nobody can say where it could move.
func (t *Translator) PodWith(pod *corev1.Pod, storage Storage) *model.Pod {
	waits := podrules.Provisionable(pod)
	volumes := t.volumes(pod, storage, waits)
	asked := t.podSpec(pod, waits)
	if len(volumes.topology)+len(volumes.attachments) > 0 {
		bound := *asked.shape
		bound.VolumeTopology, bound.Drivers = volumes.topology, volumes.drivers()
		asked.shape = t.shapes.shared(&bound)
	}
	p := plain(pod)
	p.Shape, p.Labels, p.Dependencies = asked.shape, t.podLabels(pod), model.NewDependencies(volumes.attachments, p.DeviceClaims())
	p.Rejected, p.Silent = asked.problems, asked.silent
	switch {
	case !waits:
		p.Rejected = volumes.problem
	case volumes.problem != "":
		p.Rejected, _ = t.reject(pod, volumes.problem)
	}
	return p
}

// plain is what a pod shares with no other. The rest is left open: what it asks, its labels, its volumes.
func plain(pod *corev1.Pod) *model.Pod {
	return &model.Pod{
		UID:           string(pod.UID),
		Namespace:     pod.Namespace,
		Name:          pod.Name,
		Created:       pod.CreationTimestamp.UnixNano(),
		Node:          pod.Spec.NodeName,
		UsesDevices:   UsesDevices(&pod.Spec),
		Dependencies:  model.NewDependencies(nil, DeviceClaims(pod)),
		Terminating:   pod.DeletionTimestamp != nil,
		Unstarted:     pod.Status.Phase == corev1.PodPending,
		Daemon:        podrules.OwnedByDaemonSet(pod),
		Reschedulable: podrules.Reschedulable(pod),
		EvictionCost:  evictionCost(pod),
	}
}

// Shape is everything about the pod that scheduling looks at, its volumes excepted.
func (t *Translator) Shape(pod *corev1.Pod) *model.Shape { return t.shapes.shared(t.shape(pod)) }

// shape reads what a pod asks. Whatever it looks at has to be in the key by which questions are remembered.
func (t *Translator) shape(pod *corev1.Pod) *model.Shape {
	s := &model.Shape{
		Requests:    t.podRequests(pod),
		Selector:    t.selector(pod.Spec.NodeSelector),
		Tolerations: tolerations(pod.Spec.Tolerations),
		HostPorts:   hostPorts(&pod.Spec),
	}
	if pod.Spec.Priority != nil {
		s.Priority = *pod.Spec.Priority
	}
	t.nodeAffinity(s, pod.Spec.Affinity)
	if !t.ignorePreferences {
		t.preferences(s, pod.Spec.Affinity)
	}
	t.podTopology(s, pod)
	return s
}

// podRequests is what the pod needs, itself included.
func (t *Translator) podRequests(pod *corev1.Pod) resource.Vector {
	v, ok := t.plainRequests(pod)
	if !ok {
		v = t.Vector(podresource.PodRequests(pod, podresource.PodResourcesOptions{UseStatusResources: true}))
	}
	v[resource.Pods] = 1
	return v
}

// plainRequests is the sum over the containers and the overhead, for pods where nothing else has a say and all amounts are
// whole: nearly all that wait.
func (t *Translator) plainRequests(pod *corev1.Pod) (resource.Vector, bool) {
	spec := &pod.Spec
	if len(spec.InitContainers) > 0 || spec.Resources != nil || podresource.IsPodResizeInfeasible(pod) {
		return nil, false
	}
	v := make(resource.Vector, resource.Nodes)
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if s := statusOf(&pod.Status, c.Name); s != nil && (s.Resources != nil || s.AllocatedResources != nil) {
			return nil, false
		}
		var ok bool
		if v, ok = t.accumulate(v, c.Resources.Requests); !ok {
			return nil, false
		}
	}
	return t.accumulate(v, spec.Overhead)
}

// accumulate adds list to v, unless some amount is not whole.
func (t *Translator) accumulate(v resource.Vector, list corev1.ResourceList) (resource.Vector, bool) {
	for name, q := range list {
		i := t.resources.Index(string(name))
		n, ok := exact(i, &q)
		if !ok {
			return nil, false
		}
		v = v.Set(i, v.At(i)+n)
	}
	return v, true
}

// hostPorts are the ports of the node that ordinary containers claim; the unspecified address stands for all.
func hostPorts(spec *corev1.PodSpec) []model.HostPort {
	var out []model.HostPort
	for i := range spec.Containers {
		for _, port := range spec.Containers[i].Ports {
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
	return out
}

// hostPort is the port of the node that a container claims, 0 for none. With the network of the node every port is one; the API
// server writes that into pods, but not into the templates of DaemonSets and of manifests.
func hostPort(spec *corev1.PodSpec, port *corev1.ContainerPort) int32 {
	if port.HostPort == 0 && spec.HostNetwork {
		return port.ContainerPort
	}
	return port.HostPort
}

func tolerations(list []corev1.Toleration) []model.Toleration {
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
		}
	}
	return out
}

// DeletionCost is what the owner of a pod says about how much the pod minds to go; 0 when nothing is said, or nothing that
// is a number.
func DeletionCost(pod *corev1.Pod) (float64, error) {
	text := pod.Annotations[podDeletionCostAnnotation]
	if text == "" {
		return 0, nil
	}
	cost, err := strconv.ParseFloat(text, 64)
	if err == nil && math.IsNaN(cost) {
		err = strconv.ErrSyntax
	}
	if err != nil {
		return 0, fmt.Errorf("reading %q as the deletion cost of pod %s/%s: %w", text, pod.Namespace, pod.Name, err)
	}
	return cost, nil
}

// evictionCost is clamp(1 + deletionCost/2^27 + priority/2^25, −10, 10). Source: disruption specification, candidates.
func evictionCost(pod *corev1.Pod) float64 {
	const deletionCostScale, priorityScale, limit = 1 << 27, 1 << 25, 10
	deletion, _ := DeletionCost(pod) // 0 where nobody can read it; disruption says so
	cost := 1.0 + deletion/deletionCostScale
	if pod.Spec.Priority != nil {
		cost += float64(*pod.Spec.Priority) / priorityScale
	}
	return min(max(cost, -limit), limit)
}

// reject says why a pending pod cannot be considered, and whether it asked for that itself: a pod that opts out of our
// nodes is left alone without an event. trouble is what is wrong with its volumes, or empty. Whatever else it looks at has
// to be in the key by which questions are remembered.
// Source: scheduling specification, pod validation.
func (t *Translator) reject(pod *corev1.Pod, trouble string) (why string, silent bool) {
	var problems []string
	if trouble != "" {
		problems = append(problems, trouble)
	}
	if key := v1.NodePoolLabelKey; t.excludes(pod, key) {
		silent = true
		problems = append(problems, "configured to not run on a Karpenter provisioned node (requirement="+key+" DoesNotExist)")
	}
	for key, value := range pod.Spec.NodeSelector {
		entry := v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
		if err := v1.ValidateRequirement(entry, t.labels); err != nil {
			problems = append(problems, err.Error())
		}
	}
	terms := requiredTerms(pod.Spec.Affinity)
	if len(terms) > 0 && !slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool { return !emptyTerm(term) }) {
		problems = append(problems, "required node affinity has only empty terms, which match no node")
	}
	for _, term := range terms {
		if len(term.MatchFields) > 0 {
			problems = append(problems, "node selector term with matchFields is not supported")
		}
		for _, e := range term.MatchExpressions {
			entry := v1.NodeSelectorRequirementWithMinValues{Key: e.Key, Operator: e.Operator, Values: e.Values}
			if err := v1.ValidateRequirement(entry, t.labels); err != nil {
				problems = append(problems, err.Error())
			}
		}
	}
	return strings.Join(sortedUnique(problems), "; "), silent
}
