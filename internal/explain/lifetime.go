package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// Lifetime is what ends a node, or keeps it from being of use, whatever the reasons for disruption say. Times are null for never or unknown.
type Lifetime struct {
	// Expires is when the NodeClaim is deleted because of its expireAfter; Expired is set from then on.
	Expires *time.Time `json:"expires"`
	Expired bool       `json:"expired,omitempty"`
	// TerminationGracePeriod is how long its drain may take; nothing limits that without one.
	TerminationGracePeriod string `json:"terminationGracePeriod,omitempty"`
	// Deleting is since when the node is being deleted, and Ends when its terminationGracePeriod ends the drain, whatever pods are left.
	Deleting *time.Time `json:"deleting,omitempty"`
	Ends     *time.Time `json:"ends,omitempty"`
	// Holding is the first of its pods that cannot be evicted now, in words.
	Holding string `json:"holding,omitempty"`
	// Reboot is null if none is under way.
	Reboot *Reboot `json:"reboot,omitempty"`
	// UnderWay is the reason for which the controller is disrupting the node.
	UnderWay string `json:"underWay,omitempty"`
	// NotReady is since when the Node is not ready, and NotReadyBecause what its condition says. Repaired is set if unhealthy nodes are repaired.
	NotReady        *time.Time `json:"notReady,omitempty"`
	NotReadyBecause string     `json:"notReadyBecause,omitempty"`
	Repaired        bool       `json:"repaired,omitempty"`
}

// lifetimeOf is that of a node with a NodeClaim; nil for others.
func lifetimeOf(s *analysis, n *model.Node) *Lifetime {
	claim, ok := s.claims[n.ClaimName]
	if !ok {
		return nil
	}
	out := &Lifetime{Repaired: s.Options.NodeRepair}
	if at := n.Disruption.Expires(); !at.IsZero() {
		out.Expires, out.Expired = known(at), !at.After(s.Options.Now)
	}
	if grace := claim.Spec.TerminationGracePeriod; grace != nil {
		out.TerminationGracePeriod = grace.Duration.String()
	}
	out.UnderWay = s.underWay[n.ID]
	node, joined := find[*corev1.Node](s.Objects, "", n.NodeName)
	if out.Deleting, out.Ends = deletion(claim, node); out.Deleting != nil {
		out.drain(s, n)
	} else {
		out.Reboot = rebootOf(s, n, claim)
	}
	if !joined {
		return out
	}
	if i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }); i >= 0 {
		if c := node.Status.Conditions[i]; c.Status != corev1.ConditionTrue {
			out.NotReady, out.NotReadyBecause = known(c.LastTransitionTime.Time), strings.TrimSpace(c.Reason+" "+c.Message)
		}
	}
	return out
}

// deletion is since when a node is being deleted, and when its terminationGracePeriod ends the drain; nil for not, or never. The claim or the node
// may be nil.
func deletion(claim *v1.NodeClaim, node *corev1.Node) (since, ends *time.Time) {
	switch {
	case claim != nil && claim.DeletionTimestamp != nil:
		since = known(claim.DeletionTimestamp.Time)
	case node != nil && node.DeletionTimestamp != nil:
		since = known(node.DeletionTimestamp.Time)
	}
	if since == nil || claim == nil {
		return since, nil
	}
	if at, err := time.Parse(time.RFC3339, claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey]); err == nil {
		ends = known(at)
	} else if grace := claim.Spec.TerminationGracePeriod; grace != nil && claim.DeletionTimestamp != nil {
		ends = known(claim.DeletionTimestamp.Add(grace.Duration))
	}
	return since, ends
}

// drain adds what the drain of a node that is being deleted waits for.
func (l *Lifetime) drain(s *analysis, n *model.Node) {
	if o := heldBy(s, n); o != nil {
		l.Holding = o.Message
	}
}

// heldBy is the first of the pods of a node that cannot be evicted now, as an obstacle; nil if all can.
func heldBy(s *analysis, n *model.Node) *Obstacle {
	found := problem.InspectPods(n, s.view.Pods[n.NodeName], s.view.PDBs, s.view.PDBLimits, s.Options.Now)
	if !found.Blocked {
		return nil
	}
	shown := s.obstacle(found.Obstacle)
	return &shown
}

// addDrain adds to the obstacle of a node that is being deleted what its drain waits for, and what would end that: waiting does not always.
func addDrain(s *analysis, shown *Obstacle, n *model.Node) {
	held := heldBy(s, n)
	if held == nil {
		return
	}
	shown.Pods, shown.PodDisruptionBudgets = held.Pods, held.PodDisruptionBudgets
	shown.Help = held.Help + " The drain also continues once the pod has ended"
	node, _ := find[*corev1.Node](s.Objects, "", n.NodeName)
	if _, ends := deletion(s.claims[n.ClaimName], node); ends != nil {
		shown.Help += ", and ends with the terminationGracePeriod of the node."
	} else {
		shown.Help += ". A terminationGracePeriod of the NodePool limits the drains of nodes that it launches from then on."
	}
}

// text is a line for each fact.
func (l *Lifetime) text() string {
	var b strings.Builder
	at := func(t *time.Time) string { return t.Format(time.RFC3339) }
	if l.NotReady != nil {
		repair := "it is repaired only with the feature gate NodeRepair"
		if l.Repaired {
			repair = "see Unhealthy for its repair"
		}
		because := ""
		if l.NotReadyBecause != "" {
			because = " (" + l.NotReadyBecause + ")"
		}
		fmt.Fprintf(&b, "  Not ready since %s%s: %s\n", at(l.NotReady), because, repair)
	}
	switch {
	case l.Deleting != nil:
		fmt.Fprintf(&b, "  Being deleted since %s", at(l.Deleting))
		if l.Ends != nil {
			fmt.Fprintf(&b, ", at the latest until %s, when its terminationGracePeriod ends\n", at(l.Ends))
		} else {
			b.WriteString(": without a terminationGracePeriod, it stays until its pods are gone\n")
		}
		if l.Holding != "" {
			b.WriteString("    its drain waits: " + l.Holding + "\n")
		}
		return b.String()
	case l.Reboot != nil:
		b.WriteString(l.Reboot.text())
	case l.UnderWay != "":
		fmt.Fprintf(&b, "  The controller is disrupting it already (%s)\n", l.UnderWay)
	}
	switch {
	case l.Expires == nil:
	case l.Expired:
		fmt.Fprintf(&b, "  Expired at %s: its deletion starts at once%s\n", at(l.Expires), l.expiry())
	default:
		fmt.Fprintf(&b, "  Expires at %s: its deletion starts then%s\n", at(l.Expires), l.expiry())
	}
	return b.String()
}

// expiry says what delays a deletion by expireAfter, and what does not.
func (l *Lifetime) expiry() string {
	if l.TerminationGracePeriod != "" {
		return ", whatever budgets and annotations of the node say; its terminationGracePeriod limits the drain to " + l.TerminationGracePeriod
	}
	return ", whatever budgets and annotations of the node say; without a terminationGracePeriod, pods with karpenter.sh/do-not-disrupt and PodDisruptionBudgets hold the drain"
}
