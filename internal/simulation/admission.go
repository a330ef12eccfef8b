package simulation

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Unadmitted says what the API server would change about pods of manifests when they are created, and a simulation does not: LimitRanges are
// not applied, and the classes that pods name are not among all objects.
func Unadmitted(manifests, all []client.Object) []string {
	described := map[string]bool{
		id("PriorityClass", "system-cluster-critical"): true, id("PriorityClass", "system-node-critical"): true,
	}
	ranges := map[string][]*corev1.LimitRange{}
	for _, o := range slices.Concat(all, manifests) {
		switch o := o.(type) {
		case *schedulingv1.PriorityClass:
			described[id("PriorityClass", o.Name)] = true
		case *nodev1.RuntimeClass:
			described[id("RuntimeClass", o.Name)] = true
		case *corev1.LimitRange:
			ranges[o.Namespace] = append(ranges[o.Namespace], o)
		}
	}
	notes := map[string]bool{}
	for _, o := range manifests {
		spec, ok := podSpecOf(o)
		if !ok {
			continue
		}
		if name := spec.PriorityClassName; name != "" && spec.Priority == nil && !described[id("PriorityClass", name)] {
			notes[fmt.Sprintf("PriorityClass %q is not in the input: its pods count as having priority 0", name)] = true
		}
		if name := spec.RuntimeClassName; name != nil && !described[id("RuntimeClass", *name)] {
			notes[fmt.Sprintf("RuntimeClass %q is not in the input: the overhead, the node selector and the tolerations that it may give to pods are not counted", *name)] = true
		}
		for _, r := range ranges[o.GetNamespace()] {
			if completes(r, spec) {
				notes[fmt.Sprintf("LimitRange \"%s/%s\" is not applied: containers get no requests or limits from it, as they would from the API server", r.Namespace, r.Name)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(notes))
}

func id(kind, name string) string { return kind + " " + name }

// completes reports whether the defaults of a LimitRange would become requests of a container.
func completes(r *corev1.LimitRange, spec *corev1.PodSpec) bool {
	for _, item := range r.Spec.Limits {
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		for _, defaults := range []corev1.ResourceList{item.Default, item.DefaultRequest} {
			for name := range defaults {
				if slices.ContainsFunc(slices.Concat(spec.Containers, spec.InitContainers), func(c corev1.Container) bool {
					_, requested := c.Resources.Requests[name]
					_, limited := c.Resources.Limits[name]
					return !requested && !limited
				}) {
					return true
				}
			}
		}
	}
	return false
}

// podSpecOf is that of a pod which is not on a node yet, or of the pods of a workload.
func podSpecOf(o client.Object) (*corev1.PodSpec, bool) {
	switch o := o.(type) {
	case *corev1.Pod:
		return &o.Spec, o.Spec.NodeName == ""
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec, true
	case *appsv1.ReplicaSet:
		return &o.Spec.Template.Spec, true
	case *appsv1.StatefulSet:
		return &o.Spec.Template.Spec, true
	case *appsv1.DaemonSet:
		return &o.Spec.Template.Spec, true
	case *batchv1.Job:
		return &o.Spec.Template.Spec, true
	case *corev1.ReplicationController:
		if o.Spec.Template != nil {
			return &o.Spec.Template.Spec, true
		}
	}
	return nil, false
}
