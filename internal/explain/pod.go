package explain

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/internal/simulation/report"
)

// State is the state of a pod.
type State string

// The states of a pod.
const (
	// Bound pods are on a node.
	Bound State = "Bound"
	// Finished pods need no node any more.
	Finished State = "Finished"
	// Idle pods are on no node, and Karpenter ignores them.
	Idle State = "Idle"
	// Nominated pods are pending and fit a node that exists or is being launched.
	Nominated State = "Nominated"
	// Pending pods are pending; a node would be launched for them, or scheduling is retried.
	Pending State = "Pending"
	// Refused pods are unschedulable.
	Refused State = "Refused"
)

// Pod is the answer about a pod.
type Pod struct {
	// Version is that of the schema, Kind is Pod.
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Bound is the node of a pod that is on one.
	Bound *Place `json:"bound,omitempty"`
	Drain
	// Fate is what would be done for the pod now.
	Fate report.Fate `json:"fate"`
}

// AboutPod explains a pod.
func AboutPod(ctx context.Context, q Question, namespace, name string) (Pod, error) {
	pod, ok := find[*corev1.Pod](q.Objects, namespace, name)
	if !ok {
		return Pod{}, noPod(q.Objects, namespace, name)
	}
	result, err := simulation.Run(ctx, q.Objects, q.Cloud, q.Options)
	if err != nil {
		return Pod{}, err
	}
	a := Pod{
		Version: Version, Kind: "Pod", Namespace: namespace, Name: name,
		Fate: report.NewFates(result).Of(namespace + "/" + name),
	}
	if pod.Spec.NodeName != "" {
		at := placeOf(q.Objects, pod.Spec.NodeName)
		a.Bound = &at
	}
	switch a.State = StateOf(pod, a.Fate.Outcome); a.State {
	case Bound:
		a.Drain, _ = drainsOf(q).of(pod)
	case Nominated:
		if a.Fate.Waits == "" && a.Fate.Placement.Node != "" {
			a.Fate.Waits = unbound(pod)
		}
	}
	return a, nil
}

// unbound says why its scheduler has not bound a pod that fits on a node, as the pod says it; empty for pods that it has not marked.
func unbound(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		text := "kube-scheduler"
		if name := pod.Spec.SchedulerName; name != "" && name != corev1.DefaultSchedulerName {
			text = fmt.Sprintf("scheduler %q", name)
		}
		text += " has marked it as " + c.Reason
		if !c.LastTransitionTime.IsZero() {
			text += " since " + c.LastTransitionTime.UTC().Format(time.RFC3339)
		}
		text += ", and retries when nodes or pods change"
		if message := strings.TrimSpace(c.Message); message != "" {
			text += "; it said: " + message
		}
		return text
	}
	return ""
}

// StateOf is the state of a pod with an outcome of the simulation.
func StateOf(pod *corev1.Pod, outcome report.Outcome) State {
	switch {
	case podrules.Terminal(pod):
		return Finished
	case pod.Spec.NodeName != "":
		return Bound
	}
	switch outcome {
	case report.Placed:
		return Nominated
	case report.Launched, report.Later:
		return Pending
	case report.Refused, report.Invalid:
		return Refused
	default:
		return Idle
	}
}

// Text implements Answer.
func (a Pod) Text() string {
	head := fmt.Sprintf("Pod %s/%s ", a.Namespace, a.Name)
	switch a.State {
	case Finished:
		return head + "has finished\n"
	case Bound:
		return head + "is on " + a.Bound.String() + "\n" + a.Drain.text("  ", 1, 1, a.Fate)
	case Nominated:
		head += "is pending and fits a node\n"
	case Pending:
		head += "is pending\n"
	case Refused:
		head += "is pending and unschedulable\n"
	case Idle:
		head += "is on no node\n"
	}
	return head + a.Fate.Text("  ")
}
