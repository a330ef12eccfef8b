package translate

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Pool translates a NodePool with the instance types that it may launch.
func (t *Translator) Pool(pool *v1.NodePool, types catalog.Catalog) *model.Pool {
	p := &model.Pool{
		Name:         pool.Name,
		Requirements: t.labels.poolRequirements(pool),
		Taints:       taints(pool.Spec.Template.Spec.Taints),
		Limits:       map[int]int64{},
		Catalog:      types,
	}
	if pool.Spec.Weight != nil {
		p.Weight = *pool.Spec.Weight
	}
	for name, q := range pool.Spec.Limits {
		i := t.amounts.resources.Index(string(name))
		p.Limits[i] = amount(i, &q)
	}
	return p
}

// poolRequirements are those of every node of the pool.
func (l labelTerms) poolRequirements(pool *v1.NodePool) requirement.Set {
	return cloud.Requirements(pool.Spec.Template.Spec.Requirements, l.rules).And(l.selector(poolLabels(pool)))
}

// poolLabels are the labels of every node of the pool.
func poolLabels(pool *v1.NodePool) map[string]string {
	labels := maps.Clone(pool.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1.NodePoolLabelKey] = pool.Name
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
		labels[v1.NodeClassLabelKey(ref.Group, ref.Kind)] = ref.Name
	}
	return labels
}

// DaemonSet translates a DaemonSet with the pod that will appear on a new node: the newest live pod if there is one, else that of the
// template. Affinity is the template's in both cases where it has any, because live pods are pinned to a node by name.
// Source: scheduling specification, DaemonSets.
func (t *Translator) DaemonSet(set *appsv1.DaemonSet, newest *corev1.Pod) *model.DaemonSet {
	template := &set.Spec.Template
	pod := &corev1.Pod{Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Labels = set.Namespace, template.Labels
	DefaultRequests(&pod.Spec)
	pod.Spec.Priority = builtInPriority(template.Spec.PriorityClassName)
	if newest != nil {
		pod = newest.DeepCopy()
		pod.Spec.NodeName = ""
		if terms := requiredAffinity(template.Spec.Affinity); terms != nil {
			setRequiredAffinity(&pod.Spec, terms)
			pod.OwnerReferences = nil // a name of a node is that of the template
		}
	}
	return &model.DaemonSet{
		Namespace: set.Namespace, Name: set.Name, UID: string(set.UID), Created: set.CreationTimestamp.UnixNano(),
		Shape: t.Shape(pod), Labels: t.podLabels(pod), UsesDevices: UsesDevices(&pod.Spec),
	}
}

// builtInPriority is the priority of a class that every cluster has, or nil. What a template says itself does not count: the API server
// sets the priority of pods by their class.
func builtInPriority(class string) *int32 {
	priority, ok := map[string]int32{
		"system-node-critical": systemNodeCritical, "system-cluster-critical": systemClusterCritical,
	}[class]
	if !ok {
		return nil
	}
	return &priority
}

// The priorities of the classes that every cluster has. Source: Kubernetes documentation, pod priority and preemption.
const (
	systemNodeCritical    = 2_000_001_000
	systemClusterCritical = 2_000_000_000
)

func requiredAffinity(a *corev1.Affinity) *corev1.NodeSelector {
	if a == nil || a.NodeAffinity == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func setRequiredAffinity(spec *corev1.PodSpec, terms *corev1.NodeSelector) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = terms.DeepCopy()
}

// DefaultRequests copies limits into missing requests, as the API server does for pods that are created.
func DefaultRequests(spec *corev1.PodSpec) {
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			for name, q := range list[i].Resources.Limits {
				if _, ok := list[i].Resources.Requests[name]; ok {
					continue
				}
				if list[i].Resources.Requests == nil {
					list[i].Resources.Requests = corev1.ResourceList{}
				}
				list[i].Resources.Requests[name] = q
			}
		}
	}
}
