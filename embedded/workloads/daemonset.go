package workloads

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

// daemonSets keeps a pod of each DaemonSet on each node that it is for.
func daemonSets(v *view.View) error {
	sets, err := view.List[appsv1.DaemonSet](v)
	if err != nil {
		return err
	}
	nodes, err := view.List[corev1.Node](v)
	if err != nil {
		return err
	}
	pods, err := podsByOwner(v)
	if err != nil {
		return err
	}
	for _, s := range sets {
		if s.DeletionTimestamp != nil {
			continue
		}
		if err := daemonSet(v, s, nodes, pods[s.UID]); err != nil {
			return err
		}
	}
	return nil
}

func daemonSet(v *view.View, s *appsv1.DaemonSet, nodes []*corev1.Node, pods []*corev1.Pod) error {
	hash, err := templateHash(&s.Spec.Template)
	if err != nil {
		return err
	}
	kept := history{s, appsv1.SchemeGroupVersion.WithKind("DaemonSet"), &s.Spec.Template, appsv1.ControllerRevisionHashLabelKey, s.Spec.RevisionHistoryLimit}
	if _, err := kept.record(v, hash, func(_, hash string) bool {
		return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return isOf(pod, hash) })
	}); err != nil {
		return err
	}
	on := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		name := targetNode(pod)
		on[name] = append(on[name], pod)
	}
	status := appsv1.DaemonSetStatus{ObservedGeneration: s.Generation, CollisionCount: s.Status.CollisionCount}
	var outdated []*corev1.Pod
	for _, node := range nodes {
		here := on[node.Name]
		delete(on, node.Name)
		pod := daemonPod(s, node.Name, hash)
		if !runsOn(pod, node) {
			status.NumberMisscheduled += count(here, active)
			if err := deleteAll(v, filter(here, active)); err != nil {
				return err
			}
			continue
		}
		status.DesiredNumberScheduled++
		switch current := filter(here, active); {
		case len(here) == 0:
			if err := v.Create(pod); err != nil {
				return err
			}
		case len(current) > 0:
			outdated = append(outdated, observeDaemon(&status, current[0], hash)...)
		default:
			// A pod that is over goes before its successor comes.
			if err := deleteAll(v, filter(here, func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil })); err != nil {
				return err
			}
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	changed := s.DeepCopy()
	changed.Status = status
	if err := writeStatus(v, changed, s.Status, status); err != nil {
		return err
	}
	if s.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType && len(outdated) > 0 && status.NumberUnavailable == 0 {
		return v.Delete(outdated[0], nil)
	}
	return nil
}

// observeDaemon counts the pod of a node, and returns it if it is of another template.
func observeDaemon(status *appsv1.DaemonSetStatus, pod *corev1.Pod, hash string) (outdated []*corev1.Pod) {
	if pod.Spec.NodeName != "" {
		status.CurrentNumberScheduled++
	}
	if ready(pod) {
		status.NumberReady++
		status.NumberAvailable++
	}
	if !isOf(pod, hash) {
		return []*corev1.Pod{pod}
	}
	status.UpdatedNumberScheduled++
	return nil
}

// targetNode is the name of the node that a pod of a DaemonSet is for.
func targetNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, f := range term.MatchFields {
				if f.Key == "metadata.name" && len(f.Values) == 1 {
					return f.Values[0]
				}
			}
		}
	}
	return ""
}

// daemonPod is the pod of a DaemonSet for a node, with the tolerations that the DaemonSet controller adds.
func daemonPod(s *appsv1.DaemonSet, node, hash string) *corev1.Pod {
	pod := newPod(s, appsv1.SchemeGroupVersion.WithKind("DaemonSet"), &s.Spec.Template, "")
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = hash
	spec := &pod.Spec
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	here := []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}
	affinity := spec.Affinity.NodeAffinity
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil || len(affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms) == 0 {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchFields = append(terms[i].MatchFields, here...)
	}
	for key, effect := range map[string]corev1.TaintEffect{
		corev1.TaintNodeNotReady: corev1.TaintEffectNoExecute, corev1.TaintNodeUnreachable: corev1.TaintEffectNoExecute,
		corev1.TaintNodeDiskPressure: corev1.TaintEffectNoSchedule, corev1.TaintNodeMemoryPressure: corev1.TaintEffectNoSchedule,
		corev1.TaintNodePIDPressure: corev1.TaintEffectNoSchedule, corev1.TaintNodeUnschedulable: corev1.TaintEffectNoSchedule,
	} {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect})
	}
	slices.SortStableFunc(spec.Tolerations, func(a, b corev1.Toleration) int { return slices.Compare([]string{a.Key}, []string{b.Key}) })
	return pod
}

// runsOn: the node matches the affinity of the pod of a DaemonSet, and the pod tolerates its taints, as those that will soon go.
func runsOn(pod *corev1.Pod, node *corev1.Node) bool {
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !matches {
		return false
	}
	return !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || taint.Key == corev1.TaintNodeNotReady {
			return false
		}
		return !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(&t, &taint) })
	})
}

// tolerates is the rule of tolerations with the operators Exists and Equal.
func tolerates(t *corev1.Toleration, taint *corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == corev1.TolerationOpExists || t.Key != "" && t.Value == taint.Value
}
