package simulation

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/problem"
)

// WaitingGroup is a gang that fits on existing nodes, and that kube-scheduler has not placed there.
type WaitingGroup struct {
	// ID is namespace/name of the PodGroup.
	ID string
	// Since is when kube-scheduler marked the last of its pods as unschedulable.
	Since time.Time
	// NewNodesAfter is how long that may last before new nodes are launched for all of its pods.
	NewNodesAfter time.Duration
}

// waitingGroups are the gangs of which the plan places all pods on nodes that have started, sorted by ID. kube-scheduler needs no Karpenter for
// them, and their pods are pending all the same. Gangs of manifests, which it has not seen, are not among them.
func (w *clusterObjects) waitingGroups(r Result) []WaitingGroup {
	onNodes, starting := problem.PlacedGroups(r.Plan, r.Problem)
	since := map[string]time.Time{}
	if len(onNodes) > 0 {
		since = w.unschedulableSince()
	}
	var out []WaitingGroup
	for id := range onNodes {
		g, known := r.Problem.PodGroups.Get(id)
		if starting[id] || !known || g.MinCount < 2 {
			continue
		}
		of := WaitingGroup{ID: id, NewNodesAfter: problem.StrandedAfter}
		for _, pod := range r.Problem.Pods {
			if at := since[pod.UID]; r.Problem.GroupOf(pod) == id && at.After(of.Since) {
				of.Since = at
			}
		}
		if !of.Since.IsZero() {
			out = append(out, of)
		}
	}
	slices.SortFunc(out, func(a, b WaitingGroup) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// unschedulableSince is when kube-scheduler marked pods as unschedulable, by UID.
func (w *clusterObjects) unschedulableSince() map[string]time.Time {
	out := map[string]time.Time{}
	for _, pod := range w.pods {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				out[string(pod.UID)] = c.LastTransitionTime.UTC()
			}
		}
	}
	return out
}

// WaitingPods are the pods of gangs that fit on existing nodes and that kube-scheduler has not placed there, by namespace/name.
func (r Result) WaitingPods() map[string]WaitingGroup {
	if len(r.WaitingGroups) == 0 {
		return nil
	}
	groups, out := map[string]WaitingGroup{}, map[string]WaitingGroup{}
	for _, g := range r.WaitingGroups {
		groups[g.ID] = g
	}
	for _, pod := range r.Problem.Pods {
		if g, waits := groups[r.Problem.GroupOf(pod)]; waits {
			out[pod.ID()] = g
		}
	}
	return out
}
