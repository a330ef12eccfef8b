package check

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// podGroup is a PodGroup with what a plan does with its pods.
type podGroup struct {
	name string
	// object is nil if there is no such PodGroup.
	object *schedulingv1beta1.PodGroup
	// running are bound and stay, waiting are named by the plan, placed are those of waiting that the plan places.
	running, waiting, placed []*corev1.Pod
}

// groupOf names the group of a pod; empty if it has none.
func groupOf(pod *corev1.Pod) string {
	if pod.Spec.SchedulingGroup == nil || pod.Spec.SchedulingGroup.PodGroupName == nil {
		return ""
	}
	return pod.Namespace + "/" + *pod.Spec.SchedulingGroup.PodGroupName
}

// findGroups collects the groups of all pods.
func (j *judge) findGroups() {
	j.groups = map[string]*podGroup{}
	objects := map[string]*schedulingv1beta1.PodGroup{}
	for _, o := range j.Objects {
		if group, ok := o.(*schedulingv1beta1.PodGroup); ok {
			objects[group.Namespace+"/"+group.Name] = group
		}
	}
	of := func(pod *corev1.Pod) *podGroup {
		name := groupOf(pod)
		if name == "" {
			return nil
		}
		if j.groups[name] == nil {
			j.groups[name] = &podGroup{name: name, object: objects[name]}
		}
		return j.groups[name]
	}
	named := map[types.UID]bool{}
	for i, uids := range j.answers() {
		for _, pod := range j.podsOf(uids) {
			named[pod.UID] = true
			if g := of(pod); g != nil {
				g.waiting = append(g.waiting, pod)
				if i >= 2 { // behind those that are refused and ignored
					g.placed = append(g.placed, pod)
				}
			}
		}
	}
	for _, pod := range j.pods {
		finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if g := of(pod); g != nil && !named[pod.UID] && pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && !finished {
			g.running = append(g.running, pod)
		}
	}
}

// minCount is how many pods of the group have to run.
func (g *podGroup) minCount() int {
	if gang := g.object.Spec.SchedulingPolicy.Gang; gang != nil {
		return int(gang.MinCount)
	}
	return 1
}

// considered reports whether kube-scheduler would try to place the pods of the group.
func (g *podGroup) considered() bool {
	if g.object == nil || len(g.running)+len(g.waiting) < g.minCount() {
		return false
	}
	all := slices.Concat(g.running, g.waiting)
	spec := &g.object.Spec
	return !slices.ContainsFunc(all, func(pod *corev1.Pod) bool {
		return ptr.Deref(pod.Spec.Priority, 0) != ptr.Deref(spec.Priority, 0) || pod.Spec.SchedulerName != all[0].Spec.SchedulerName ||
			string(ptr.Deref(pod.Spec.PreemptionPolicy, corev1.PreemptLowerPriority)) != string(ptr.Deref(spec.PreemptionPolicy, schedulingv1beta1.PreemptLowerPriority))
	})
}

// podGroups checks that the pods of each group are placed together or not at all.
func (j *judge) podGroups() {
	for _, g := range j.groups {
		switch together := len(g.running) + len(g.placed); {
		case len(g.placed) == 0:
		case !g.considered():
			j.fail("%d pods of group %s are placed, which kube-scheduler does not consider", len(g.placed), g.name)
		case together < g.minCount():
			j.fail("%d pods of group %s run or are placed, which needs %d", together, g.name, g.minCount())
		default:
			j.oneDomain(g)
		}
	}
}

// oneDomain checks that all pods of a group with a topology constraint are on nodes with the same value of its label.
func (j *judge) oneDomain(g *podGroup) {
	constraints := g.object.Spec.SchedulingConstraints
	if constraints == nil || len(constraints.Topology) == 0 {
		return
	}
	key := constraints.Topology[0].Key
	values := map[string]bool{}
	for _, at := range j.sites {
		if !slices.ContainsFunc(at.pods(), func(pod *corev1.Pod) bool { return groupOf(pod) == g.name }) {
			continue
		}
		value, decided := at.decided(key)
		if !decided {
			j.fail("a pod of group %s is on %s, of which the value of %s is not certain", g.name, at.name, key)
		}
		values[value] = true
	}
	if len(values) > 1 {
		j.fail("the pods of group %s are on nodes with different values of %s: %v", g.name, key, slices.Sorted(maps.Keys(values)))
	}
}

// excused reports whether a pod is refused because of its group: kube-scheduler does not consider it, or some other pod of it fits nowhere.
func (j *judge) excused(pod *corev1.Pod, fits func(*corev1.Pod) bool) bool {
	g := j.groups[groupOf(pod)]
	if g == nil || len(g.placed) > 0 {
		return false
	}
	if !g.considered() {
		return true
	}
	return slices.ContainsFunc(g.waiting, func(other *corev1.Pod) bool { return !fits(other) })
}
