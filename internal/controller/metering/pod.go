package metering

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// podState is a pod, and which of its durations are not recorded yet.
type podState struct {
	pod *corev1.Pod
	// unbound is set if the pod was seen before it was bound and is not bound since, unstarted if it was seen pending and has not
	// started since.
	unbound, unstarted bool
}

// update takes a new version of the pod and records the durations that ended with it.
func (w *podState) update(pod *corev1.Pod, d Deps, now time.Time) {
	if w.pod == nil {
		w.unbound = pod.Spec.NodeName == "" && !podrules.Terminal(pod)
		w.unstarted = pod.Status.Phase == corev1.PodPending && !isReady(pod)
	}
	w.pod = pod
	times, _ := d.PodLatency.Get(string(pod.UID))
	if w.unbound && pod.Spec.NodeName != "" {
		at := changedAt(pod, corev1.PodScheduled, now)
		d.Metrics.Pods.BoundDuration.WithLabelValues(usesDevices(pod)).Observe(since(pod.CreationTimestamp.Time, at))
		if !times.PlacedHealthy.IsZero() {
			d.Metrics.Pods.ProvisioningBoundDuration.WithLabelValues(usesDevices(pod)).Observe(since(times.PlacedHealthy, at))
		}
		w.unbound = false
	}
	if w.unstarted && isReady(pod) {
		at := changedAt(pod, corev1.PodReady, now)
		d.Metrics.Pods.StartupDuration.Observe(since(pod.CreationTimestamp.Time, at))
		if !times.PlacedHealthy.IsZero() {
			d.Metrics.Pods.ProvisioningStartupDuration.Observe(since(times.PlacedHealthy, at))
		}
		w.unstarted = false
	}
	if podrules.Terminal(pod) {
		w.unbound, w.unstarted = false, false
	}
}

// usesDevices is the value of the label dynamic_resources.
func usesDevices(pod *corev1.Pod) string { return strconv.FormatBool(translate.UsesDevices(&pod.Spec)) }

// bound reports whether a pod has a node, or the condition PodScheduled.
func bound(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" || isTrue(pod, corev1.PodScheduled)
}

func isReady(pod *corev1.Pod) bool { return isTrue(pod, corev1.PodReady) }

func isTrue(pod *corev1.Pod, name corev1.PodConditionType) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == name {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// changedAt is when a condition became True, or now if that is unknown.
func changedAt(pod *corev1.Pod, name corev1.PodConditionType, now time.Time) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == name && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return now
}

// podOnNode is the state of a pod, and its node if that is known.
type podOnNode struct {
	podState
	node *corev1.Node
}

// everyPod returns the pods that exist.
func (o *nodes) everyPod() []podOnNode {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]podOnNode, 0, len(o.pods))
	for _, w := range o.pods {
		h := podOnNode{podState: *w}
		if at, known := o.byName[w.pod.Spec.NodeName]; known {
			h.node = at.node
		}
		out = append(out, h)
	}
	return out
}

// waitingPods returns the pods that are not bound or not started: usually few.
func (o *nodes) waitingPods() []podState {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []podState
	for _, w := range o.pods {
		if w.unbound || w.unstarted {
			out = append(out, *w)
		}
	}
	return out
}

// exposePods adds the series of pods to their gauges.
func (o *nodes) exposePods(m *observe.Metrics) {
	m.Pods.State.AddSource(func(add observe.AddSeries) {
		for _, h := range o.everyPod() {
			add(1, stateLabels(h)...)
		}
	})
	ages := func(gauge *observe.GaugeFuncVec, from func(podState) time.Time, labels ...func(*corev1.Pod) string) {
		gauge.AddSource(func(add observe.AddSeries) {
			now := o.Clock.Now()
			for _, w := range o.waitingPods() {
				then := from(w)
				if then.IsZero() {
					continue
				}
				values := []string{w.pod.Name, w.pod.Namespace}
				for _, label := range labels {
					values = append(values, label(w.pod))
				}
				add(since(then, now), values...)
			}
		})
	}
	ages(m.Pods.UnstartedTime, func(w podState) time.Time { return when(w.unstarted, w.pod.CreationTimestamp.Time) })
	ages(m.Pods.UnboundTime, func(w podState) time.Time { return when(w.unbound, w.pod.CreationTimestamp.Time) }, usesDevices)
	ages(m.Pods.ProvisioningUnstartedTime, func(w podState) time.Time {
		times, _ := o.PodLatency.Get(string(w.pod.UID))
		return when(w.unstarted, times.PlacedHealthy)
	})
	ages(m.Pods.ProvisioningUnboundTime, func(w podState) time.Time {
		times, _ := o.PodLatency.Get(string(w.pod.UID))
		return when(w.unbound, times.PlacedHealthy)
	}, usesDevices)
	ages(m.Pods.ProvisioningSchedulingUndecidedTime, func(w podState) time.Time {
		times, _ := o.PodLatency.Get(string(w.pod.UID))
		return when(times.Decided.IsZero() && !bound(w.pod), times.Seen)
	})
}

// when is the time if the condition holds, and zero otherwise.
func when(holds bool, then time.Time) time.Time {
	if !holds {
		return time.Time{}
	}
	return then
}

// stateLabels are the values of the labels of karpenter_pods_state, in the order of its definition.
func stateLabels(h podOnNode) []string {
	of := func(label string) string {
		if h.node == nil {
			return ""
		}
		return h.node.Labels[label]
	}
	pod := h.pod
	return []string{
		pod.Name, pod.Namespace, ownerLink(pod), pod.Spec.NodeName, strconv.FormatBool(pod.Spec.NodeName != ""),
		of(v1.NodePoolLabelKey), of(corev1.LabelTopologyZone), of(corev1.LabelArchStable), of(v1.CapacityTypeLabelKey),
		of(corev1.LabelInstanceTypeStable), string(pod.Status.Phase), strconv.FormatBool(isReady(pod)),
		strconv.FormatBool(of(v1.NodePoolLabelKey) != ""),
	}
}

// ownerLink is the path of the first owner of a pod; empty without one.
func ownerLink(pod *corev1.Pod) string {
	if len(pod.OwnerReferences) == 0 {
		return ""
	}
	owner := pod.OwnerReferences[0]
	return "/apis/" + owner.APIVersion + "/namespaces/" + pod.Namespace + "/" + strings.ToLower(owner.Kind) + "s/" + owner.Name
}
