package metering

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// watched is a pod, and what is still to be told of how it came to run.
type watched struct {
	pod *corev1.Pod
	// unbound and unstarted say that the pod was seen before it was bound, or while it was pending, and that it has not been
	// bound, or has not started, since.
	unbound, unstarted bool
}

// see takes note of the pod as it is now. What it has been waiting for and has come to pass becomes a sample; what will not
// come to pass any more is forgotten.
func (w *watched) see(pod *corev1.Pod, d Deps, now time.Time) {
	if w.pod == nil {
		w.unbound = pod.Spec.NodeName == "" && !podrules.Terminal(pod)
		w.unstarted = pod.Status.Phase == corev1.PodPending && !isReady(pod)
	}
	w.pod = pod
	times, _ := d.Waits.Get(string(pod.UID))
	if w.unbound && pod.Spec.NodeName != "" {
		at := changedAt(pod, corev1.PodScheduled, now)
		d.Metrics.Pods.BoundDuration.Observe(since(pod.CreationTimestamp.Time, at))
		if !times.PlacedHealthy.IsZero() {
			d.Metrics.Pods.ProvisioningBoundDuration.Observe(since(times.PlacedHealthy, at))
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

// bound reports whether a pod has a node, or is said to have been given one.
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

// changedAt is when a condition became True, and now if it does not say.
func changedAt(pod *corev1.Pod, name corev1.PodConditionType, now time.Time) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == name && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return now
}

// housed is a pod with what is to be told of it, and its node if that is known.
type housed struct {
	watched
	node *corev1.Node
}

// everyPod are the pods that exist.
func (o *occupancy) everyPod() []housed {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]housed, 0, len(o.pods))
	for _, w := range o.pods {
		h := housed{watched: *w}
		if at, known := o.nodes[w.pod.Spec.NodeName]; known {
			h.node = at.node
		}
		out = append(out, h)
	}
	return out
}

// waitingPods are those of which something is still to be told: few, as a rule.
func (o *occupancy) waitingPods() []watched {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []watched
	for _, w := range o.pods {
		if w.unbound || w.unstarted {
			out = append(out, *w)
		}
	}
	return out
}

// showPods gives the gauges of pods their series.
func (o *occupancy) showPods(m *observe.Metrics) {
	m.Pods.State.AddSource(func(add observe.AddSeries) {
		for _, h := range o.everyPod() {
			add(1, stateLabels(h)...)
		}
	})
	ages := func(gauge *observe.GaugeFuncVec, from func(watched) time.Time) {
		gauge.AddSource(func(add observe.AddSeries) {
			now := o.Clock.Now()
			for _, w := range o.waitingPods() {
				if then := from(w); !then.IsZero() {
					add(since(then, now), w.pod.Name, w.pod.Namespace)
				}
			}
		})
	}
	ages(m.Pods.UnstartedTime, func(w watched) time.Time { return when(w.unstarted, w.pod.CreationTimestamp.Time) })
	ages(m.Pods.UnboundTime, func(w watched) time.Time { return when(w.unbound, w.pod.CreationTimestamp.Time) })
	ages(m.Pods.ProvisioningUnstartedTime, func(w watched) time.Time {
		times, _ := o.Waits.Get(string(w.pod.UID))
		return when(w.unstarted, times.PlacedHealthy)
	})
	ages(m.Pods.ProvisioningUnboundTime, func(w watched) time.Time {
		times, _ := o.Waits.Get(string(w.pod.UID))
		return when(w.unbound, times.PlacedHealthy)
	})
	ages(m.Pods.ProvisioningSchedulingUndecidedTime, func(w watched) time.Time {
		times, _ := o.Waits.Get(string(w.pod.UID))
		return when(times.Decided.IsZero() && !bound(w.pod), times.Seen)
	})
}

// when is the time if it is so, and no time otherwise.
func when(so bool, then time.Time) time.Time {
	if !so {
		return time.Time{}
	}
	return then
}

// stateLabels are the values of the labels of karpenter_pods_state, in the order of its definition.
func stateLabels(h housed) []string {
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

// ownerLink is the path of a pod's first owner, and empty without one.
func ownerLink(pod *corev1.Pod) string {
	if len(pod.OwnerReferences) == 0 {
		return ""
	}
	owner := pod.OwnerReferences[0]
	return "/apis/" + owner.APIVersion + "/namespaces/" + pod.Namespace + "/" + strings.ToLower(owner.Kind) + "s/" + owner.Name
}
