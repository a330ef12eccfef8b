package translate

import (
	"encoding/binary"
	"slices"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// specCache caches translated pod specs by the fields that determine them.
//
// Problem: the pods of a workload arrive one by one with equal specs; translating one costs ten times as much as storing it.
// Approach: the fields that shape and reject read are written into a key, without interpretation, and the key finds the
// translation of an earlier pod with the same fields. Invariant: every field that shape and reject read is in the key. Different
// keys may find the same shape. Cost: writing the key and one look-up; entries are dropped once their shape is garbage collected.
type specCache struct {
	mu    sync.Mutex
	known sweptMap[string, *cachedSpec]
}

// cachedSpec is the translation of pods with equal fields, without their volumes.
type cachedSpec struct {
	shape weak.Pointer[model.Shape]
	// judged is set once problems and silent hold the result of reject.
	problems          string
	validated, silent bool
	// ignored are the preferences that the shape lacks.
	ignored string
}

func newSpecCache() *specCache {
	return &specCache{known: newSweptMap[string](func(q *cachedSpec) bool { return collected(q.shape) })}
}

// keySpace is a sufficient length for the keys of most pods.
const keySpace = 512

// podSpec is a translated pod spec without volumes and, for a pending pod, why it is rejected and which preferences are ignored.
type podSpec struct {
	shape    *model.Shape
	problems string
	silent   bool
	ignored  string
}

// of returns the translated spec of a pod.
func (x *podSpecs) of(pod *corev1.Pod, waits bool) podSpec {
	var space [keySpace]byte
	key, cut := x.appendKey(space[:0], pod)
	return x.withKey(key, cut, pod, waits, nil)
}

// withKey returns the translated spec of a pod with the given key, from the cache if it is there. cut and parts are as for shapeFrom.
func (x *podSpecs) withKey(key []byte, cut int, pod *corev1.Pod, waits bool, parts *specParts) podSpec {
	whole := key
	key = shortKey(key)
	a, judged := x.cache.find(key)
	if a.shape != nil {
		if now := x.offered(a.shape); now != a.shape {
			a.shape = now
			x.cache.put(key, &cachedSpec{shape: weak.Make(now), validated: judged, problems: a.problems, silent: a.silent, ignored: a.ignored})
		}
	}
	switch {
	case a.shape == nil:
		shape, ignored := x.shapeFrom(parts, whole, cut, pod)
		a = podSpec{shape: x.shapes.shared(shape), ignored: ignored.String()}
	case !waits:
		return podSpec{shape: a.shape}
	case judged:
		return a
	}
	if waits {
		result := x.reject(parts, whole, cut, pod)
		a.problems, a.silent = result.problems, result.silent
	}
	x.cache.put(key, &cachedSpec{shape: weak.Make(a.shape), validated: waits, problems: a.problems, silent: a.silent, ignored: a.ignored})
	if !waits {
		a.ignored = ""
	}
	return a
}

// find returns the cached spec, without a shape if there is none, and whether it was validated for a pending pod.
func (x *specCache) find(key []byte) (a podSpec, judged bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.known.entries[string(key)]
	if known == nil {
		return podSpec{}, false
	}
	return podSpec{known.shape.Value(), known.problems, known.silent, known.ignored}, known.validated
}

func (x *specCache) put(key []byte, q *cachedSpec) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known.put(string(key), q)
}

// appendKey appends the fields that determine the translated spec: first those that demand reads, then, from cut on, those that rules reads.
// Every list is preceded by its length.
func (x *podSpecs) appendKey(b []byte, pod *corev1.Pod) (key []byte, cut int) {
	b = appendDemandKey(b, pod)
	return x.appendRulesKey(b, pod), len(b)
}

func appendDemandKey(b []byte, pod *corev1.Pod) []byte {
	spec := &pod.Spec
	b = appendFlags(b, podresource.IsPodResizeInfeasible(pod), spec.Resources != nil)
	b = appendContainers(b, spec, spec.Containers, &pod.Status)
	b = appendContainers(b, spec, spec.InitContainers, &pod.Status)
	if spec.Resources != nil {
		b = appendResources(b, spec.Resources.Requests)
		status := &pod.Status
		b = appendFlags(b, status.Resources != nil, status.AllocatedResources != nil)
		b = appendResources(b, status.AllocatedResources)
		if status.Resources != nil {
			b = appendResources(b, status.Resources.Requests)
		}
	}
	return appendResources(b, spec.Overhead)
}

func (x *podSpecs) appendRulesKey(b []byte, pod *corev1.Pod) []byte {
	spec := &pod.Spec
	b = appendString(b, pod.Namespace)
	priority := int32(0)
	if spec.Priority != nil {
		priority = *spec.Priority
	}
	b = binary.AppendVarint(b, int64(priority))
	b = appendFlags(b, spec.Affinity != nil)
	b = appendFeatures(b, x.neededFeatures(spec))
	b = appendLabels(b, spec.NodeSelector)
	b = binary.AppendUvarint(b, uint64(len(spec.Tolerations)))
	for i := range spec.Tolerations {
		tol := &spec.Tolerations[i]
		b = appendString(appendString(b, tol.Key), string(tol.Operator))
		b = appendString(appendString(b, tol.Value), string(tol.Effect))
	}
	for i := range spec.TopologySpreadConstraints {
		if c := &spec.TopologySpreadConstraints[i]; !x.ignorePreferences || !soft(c) {
			b = appendSpread(append(b, 's'), c, pod.Labels)
		}
	}
	b = append(b, 0) // no spread
	if spec.Affinity != nil {
		b = x.appendAffinity(b, pod)
	}
	return b
}

func appendContainers(b []byte, spec *corev1.PodSpec, list []corev1.Container, status *corev1.PodStatus) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for i := range list {
		c := &list[i]
		s := statusOf(status, c.Name)
		b = appendFlags(b, isSidecar(c), s != nil && s.AllocatedResources != nil, s != nil && s.Resources != nil && s.Resources.Requests != nil)
		b = appendResources(b, c.Resources.Requests)
		if s != nil {
			b = appendResources(b, s.AllocatedResources)
			if s.Resources != nil {
				b = appendResources(b, s.Resources.Requests)
			}
		}
		for j := range c.Ports {
			if p := &c.Ports[j]; hostPort(spec, p) != 0 {
				b = appendString(appendString(binary.AppendVarint(b, int64(hostPort(spec, p))), p.HostIP), string(p.Protocol))
			}
		}
		b = binary.AppendVarint(b, 0) // no port
	}
	return b
}

func statusOf(status *corev1.PodStatus, name string) *corev1.ContainerStatus {
	for _, list := range [...][]corev1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// appendResources appends amounts in the order of their names. Most lists have CPU and memory only: two look-ups are faster than
// iterating over a map.
func appendResources(b []byte, list corev1.ResourceList) []byte {
	if len(list) == 0 {
		return append(b, 0)
	}
	cpu, hasCPU := list[corev1.ResourceCPU]
	memory, hasMemory := list[corev1.ResourceMemory]
	if hasCPU && hasMemory && len(list) == 2 {
		b = appendAmount(append(b, 2), corev1.ResourceCPU, &cpu)
		return appendAmount(b, corev1.ResourceMemory, &memory)
	}
	var space [8]corev1.ResourceName
	names := space[:0]
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range names {
		q := list[name]
		b = appendAmount(b, name, &q)
	}
	return b
}

func appendAmount(b []byte, name corev1.ResourceName, q *apiresource.Quantity) []byte {
	b = appendString(b, string(name))
	if n, ok := q.AsInt64(); ok {
		return binary.AppendVarint(append(b, 'n'), n)
	}
	if n, ok := exact(resource.CPU, q); ok {
		return binary.AppendVarint(append(b, 'm'), n)
	}
	return appendString(append(b, 's'), q.String())
}

func appendSpread(b []byte, c *corev1.TopologySpreadConstraint, labels map[string]string) []byte {
	b = appendString(appendString(binary.AppendVarint(b, int64(c.MaxSkew)), c.TopologyKey), string(c.WhenUnsatisfiable))
	b = appendSelector(b, c.LabelSelector)
	b = appendFlags(b, c.MinDomains != nil, c.NodeAffinityPolicy != nil, c.NodeTaintsPolicy != nil)
	if c.MinDomains != nil {
		b = binary.AppendVarint(b, int64(*c.MinDomains))
	}
	if c.NodeAffinityPolicy != nil {
		b = appendString(b, string(*c.NodeAffinityPolicy))
	}
	if c.NodeTaintsPolicy != nil {
		b = appendString(b, string(*c.NodeTaintsPolicy))
	}
	return appendOwn(b, c.MatchLabelKeys, labels)
}

// appendOwn appends label keys with the pod's values of them, if it has any.
func appendOwn(b []byte, keys []string, labels map[string]string) []byte {
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, key := range keys {
		value, ok := labels[key]
		b = appendString(appendFlags(appendString(b, key), ok), value)
	}
	return b
}

func appendSelector(b []byte, s *metav1.LabelSelector) []byte {
	b = appendFlags(b, s != nil)
	if s == nil {
		return b
	}
	b = appendLabels(b, s.MatchLabels)
	b = binary.AppendUvarint(b, uint64(len(s.MatchExpressions)))
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		b = appendStrings(appendString(appendString(b, e.Key), string(e.Operator)), e.Values)
	}
	return b
}

func (x *podSpecs) appendAffinity(b []byte, pod *corev1.Pod) []byte {
	a, labels := pod.Spec.Affinity, pod.Labels
	b = appendFlags(b, a.NodeAffinity != nil, a.PodAffinity != nil, a.PodAntiAffinity != nil)
	if node := a.NodeAffinity; node != nil {
		required := node.RequiredDuringSchedulingIgnoredDuringExecution
		b = appendFlags(b, required != nil)
		if required != nil {
			b = appendRequired(b, required.NodeSelectorTerms, followsDaemonSet(pod))
		}
		b = x.appendPreferences(b, node.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if near := a.PodAffinity; near != nil {
		b = appendPodTerms(b, near.RequiredDuringSchedulingIgnoredDuringExecution, labels)
		b = x.appendWeightedPodTerms(b, near.PreferredDuringSchedulingIgnoredDuringExecution, labels)
	}
	if far := a.PodAntiAffinity; far != nil {
		b = appendPodTerms(b, far.RequiredDuringSchedulingIgnoredDuringExecution, labels)
		b = x.appendWeightedPodTerms(b, far.PreferredDuringSchedulingIgnoredDuringExecution, labels)
	}
	return b
}

// appendPreferences appends preferences. If preferences are ignored, only those on the NodePool label matter.
func (x *podSpecs) appendPreferences(b []byte, list []corev1.PreferredSchedulingTerm) []byte {
	if x.ignorePreferences && !x.concernsNodePools(list) {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(list)))
	for i := range list {
		b = appendTerm(binary.AppendVarint(b, int64(list[i].Weight)), &list[i].Preference)
	}
	return b
}

// concernsNodePools reports whether some preference is on the NodePool label.
func (x *podSpecs) concernsNodePools(list []corev1.PreferredSchedulingTerm) bool {
	for i := range list {
		expressions := list[i].Preference.MatchExpressions
		for j := range expressions {
			if slices.Contains(x.nodePoolKeys, expressions[j].Key) {
				return true
			}
		}
	}
	return false
}

// appendRequired appends terms of required node affinity, of the fields only whether there are any if the pod follows a DaemonSet.
func appendRequired(b []byte, terms []corev1.NodeSelectorTerm, daemon bool) []byte {
	b = binary.AppendUvarint(appendFlags(b, daemon), uint64(len(terms)))
	for i := range terms {
		term := terms[i]
		if daemon {
			b = appendFlags(b, len(term.MatchFields) > 0)
			term.MatchFields = nil
		}
		b = appendTerm(b, &term)
	}
	return b
}

func appendTerm(b []byte, term *corev1.NodeSelectorTerm) []byte {
	for _, list := range [...][]corev1.NodeSelectorRequirement{term.MatchExpressions, term.MatchFields} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for i := range list {
			b = appendStrings(appendString(appendString(b, list[i].Key), string(list[i].Operator)), list[i].Values)
		}
	}
	return b
}

func appendPodTerms(b []byte, terms []corev1.PodAffinityTerm, labels map[string]string) []byte {
	b = binary.AppendUvarint(b, uint64(len(terms)))
	for i := range terms {
		b = appendPodTerm(b, &terms[i], labels)
	}
	return b
}

func (x *podSpecs) appendWeightedPodTerms(b []byte, terms []corev1.WeightedPodAffinityTerm, labels map[string]string) []byte {
	if x.ignorePreferences {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(terms)))
	for i := range terms {
		b = appendPodTerm(binary.AppendVarint(b, int64(terms[i].Weight)), &terms[i].PodAffinityTerm, labels)
	}
	return b
}

func appendPodTerm(b []byte, term *corev1.PodAffinityTerm, labels map[string]string) []byte {
	b = appendSelector(appendString(b, term.TopologyKey), term.LabelSelector)
	b = appendSelector(appendStrings(b, term.Namespaces), term.NamespaceSelector)
	return appendOwn(appendOwn(b, term.MatchLabelKeys, labels), term.MismatchLabelKeys, labels)
}
