package observe

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// BalancedScore is the score of an approved Balanced move.
type BalancedScore struct {
	// Score is compared with Threshold; K is the parameter of the threshold.
	Score, Threshold float64
	K                int
	// Savings and Disruption are shares of the pool's totals, from 0 to 1.
	Savings, Disruption float64
}

// String is the score as events write it, with shares as percentages.
func (s BalancedScore) String() string {
	return fmt.Sprintf("score %.2f >= threshold %.2f (k: %d, savings %.1f%%, disruption %.1f%%)",
		s.Score, s.Threshold, s.K, 100*s.Savings, 100*s.Disruption)
}

// subject is the object of an event, with the values that its events need.
type subject struct {
	object runtime.Object
	uid    types.UID
	kind   string
}

// subjects are the Node and the NodeClaim, whichever exist.
func subjects(node *corev1.Node, claim *v1.NodeClaim) []subject {
	var out []subject
	if node != nil {
		out = append(out, subject{node, node.UID, "Node"})
	}
	if claim != nil {
		out = append(out, subject{claim, claim.UID, "NodeClaim"})
	}
	return out
}

// onBoth makes the same event for the Node and the NodeClaim. The UID of each comes first in its dedupe values.
func onBoth(node *corev1.Node, claim *v1.NodeClaim, reason, message string, dedupe ...string) []Event {
	var out []Event
	for _, s := range subjects(node, claim) {
		out = append(out, NormalEvent(s.object, reason, message, append([]string{string(s.uid)}, dedupe...)...))
	}
	return out
}

// DisruptionBlocked reports why a node is not a candidate for disruption. kind is the same for causes that differ in names only: another
// kind of cause is published at once, another name is a repetition. Node or claim may be nil.
func DisruptionBlocked(node *corev1.Node, claim *v1.NodeClaim, kind, cause string) []Event {
	return onBoth(node, claim, "DisruptionBlocked", capitalize(cause), kind)
}

// RepairRefused is DisruptionBlocked for causes whose text is published as it is.
func RepairRefused(node *corev1.Node, claim *v1.NodeClaim, kind, cause string) []Event {
	return onBoth(node, claim, "DisruptionBlocked", cause, kind)
}

// NodePoolDisruptionBlocked reports that the budgets of a pool allow no disruption for a reason.
func NodePoolDisruptionBlocked(pool *v1.NodePool, reason string) Event {
	message := fmt.Sprintf("No allowed disruptions for disruption reason %s due to blocking budget", reason)
	return NormalEvent(pool, "DisruptionBlocked", message, string(pool.UID), reason).within(time.Minute)
}

// NodePoolDisruptionClosed reports that an operations policy allows no disruption of a pool for a reason.
func NodePoolDisruptionClosed(pool *v1.NodePool, reason, why string) Event {
	return NormalEvent(pool, "DisruptionBlocked", why, string(pool.UID), reason).within(time.Minute)
}

// DisruptionLaunching reports that a disruption waits for its replacement.
func DisruptionLaunching(replacement *v1.NodeClaim, reason string) Event {
	return NormalEvent(replacement, "DisruptionLaunching", "Launching NodeClaim: "+capitalize(reason), string(replacement.UID), reason)
}

// DisruptionWaitingReadiness reports that a replacement is not initialized yet.
func DisruptionWaitingReadiness(replacement *v1.NodeClaim) Event {
	return NormalEvent(replacement, "DisruptionWaitingReadiness", "Waiting on readiness to continue disruption", string(replacement.UID))
}

// DisruptionTerminating reports that a candidate is being deleted. Node or claim may be nil.
func DisruptionTerminating(node *corev1.Node, claim *v1.NodeClaim, reason string) []Event {
	var out []Event
	for _, s := range subjects(node, claim) {
		message := fmt.Sprintf("Disrupting %s: %s", s.kind, capitalize(reason))
		out = append(out, NormalEvent(s.object, "DisruptionTerminating", message, string(s.uid), reason))
	}
	return out
}

// Unconsolidatable reports why consolidation skips a node. Node or claim may be nil.
func Unconsolidatable(node *corev1.Node, claim *v1.NodeClaim, cause string) []Event {
	out := onBoth(node, claim, "Unconsolidatable", capitalize(cause))
	for i := range out {
		out[i] = out[i].within(15 * time.Minute)
	}
	return out
}

// ConsolidationCandidate names a consolidation command; savings in dollars per hour. Node or claim may be nil.
func ConsolidationCandidate(node *corev1.Node, claim *v1.NodeClaim, command string, savings float64) []Event {
	return onBoth(node, claim, "ConsolidationCandidate",
		fmt.Sprintf("Consolidation candidate: %s (savings: $%.2f)", command, savings), command)
}

// ConsolidationRejected reports that a command failed validation; reason is budget, scheduling, churn or unknown. Node or claim may be
// nil.
func ConsolidationRejected(node *corev1.Node, claim *v1.NodeClaim, command, reason string, savings float64) []Event {
	return onBoth(node, claim, "ConsolidationRejected",
		fmt.Sprintf("Consolidation rejected: %s, reason: %s (savings: $%.2f)", command, reason, savings), command, reason)
}

// ConsolidationApproved reports that a Balanced pool approved a move of one node. Node or claim may be nil.
func ConsolidationApproved(node *corev1.Node, claim *v1.NodeClaim, score BalancedScore) []Event {
	return onBoth(node, claim, "ConsolidationApproved", score.String())
}

// NodePoolConsolidationApproved reports that a Balanced pool approved its share of a move of several nodes.
func NodePoolConsolidationApproved(pool *v1.NodePool, score BalancedScore) Event {
	return NormalEvent(pool, "ConsolidationApproved", score.String(), string(pool.UID))
}

// capitalize makes the first letter upper case.
func capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
