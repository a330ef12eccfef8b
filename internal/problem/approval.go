package problem

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

// ChangeOf is what a command changes, as policies look at it. risk is the number of pods that are evicted without protection.
func ChangeOf(c disrupt.Command, risk int) policy.Change {
	return policy.Change{Cost: SavingsOf(c), Nodes: len(c.Candidates), Risk: risk}
}

// SavingsOf are the savings of a command in dollars per hour; NaN if a price is not known.
func SavingsOf(c disrupt.Command) float64 {
	if c.Static || c.TerminateFirst != "" || c.Reboot {
		return 0 // a node for a node of the same pool
	}
	for _, candidate := range c.Candidates {
		if !(candidate.Price > 0) {
			return math.NaN()
		}
	}
	for _, claim := range c.Replacements {
		if math.IsInf(claim.Price, 0) {
			return math.NaN()
		}
	}
	return c.Savings()
}

// Leaving are the pods on the node of a candidate that a command evicts, among all pods on it.
func Leaving(c disrupt.Candidate, pods []*corev1.Pod) []*corev1.Pod {
	moving := make(map[string]bool, len(c.PodsToMove))
	for _, pod := range c.PodsToMove {
		moving[pod.UID] = true
	}
	var out []*corev1.Pod
	for _, pod := range pods {
		if moving[string(pod.UID)] {
			out = append(out, pod)
		}
	}
	return out
}

// Unprotected reports whether nothing protects a pod that is evicted: no PodDisruptionBudget selects it, or its annotation against disruption is
// overridden.
func Unprotected(pod *corev1.Pod, budgets podrules.Budgets, now time.Time) bool {
	return !budgets.Select(pod) || podrules.DoNotDisrupt(pod, now).Active()
}
