package disrupt

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// The decisions.
const (
	// Delete is the decision of a command that replaces nothing.
	Delete = "delete"
	// Replace is that of a command that launches replacements first.
	Replace = "replace"
	// terminateFirst is that of a command whose node is replaced only once it is gone.
	terminateFirst = "terminate-first"
	// reboot is that of a command that reboots its node.
	reboot = "reboot"
	// NoOp is that of a command without nodes.
	NoOp = "no-op"
)

// Command is a set of nodes to disrupt together.
type Command struct {
	Reason Reason
	// Type is the value of the consolidation_type label of metrics.
	Type       string
	Candidates []Candidate
	// Replacements are launched first. Static is set when one NodeClaim from the template of a static pool is.
	Replacements []solve.NodeClaim
	Static       bool
	// Whole is set when either all nodes are disrupted or none, because PodGroups join them.
	Whole bool
	// Reboot is set when the node is rebooted in place: it is neither replaced nor deleted.
	Reboot bool
	// TerminateFirst is why the node is terminated although its pods, or its static pool, need another one, in the words of metrics; empty for
	// other commands. The node is replaced as nodes for pending pods, or for the pool, are launched.
	TerminateFirst string
	// First are the UIDs of pods that the simulation tried before all others.
	First map[string]bool
	// Placements are the places of pods on existing nodes.
	Placements []solve.Placement
}

// Decision is the kind of the command, in one word.
func (c Command) Decision() string {
	switch {
	case len(c.Candidates) == 0:
		return NoOp
	case c.Reboot:
		return reboot
	case c.TerminateFirst != "":
		return terminateFirst
	case c.Launches() > 0:
		return Replace
	}
	return Delete
}

// Launches is how many nodes are launched.
func (c Command) Launches() int {
	if c.Static {
		return 1
	}
	return len(c.Replacements)
}

// Cost is the present cost of the nodes in dollars per hour.
func (c Command) Cost() float64 {
	sum := 0.0
	for _, candidate := range c.Candidates {
		sum += zeroIfNaN(candidate.Price)
	}
	return sum
}

// disruptionCost is the sum of the disruption costs of the nodes.
func (c Command) disruptionCost() float64 {
	sum := 0.0
	for _, candidate := range c.Candidates {
		sum += candidate.DisruptionCost
	}
	return sum
}

// Savings are the savings of the command in dollars per hour, if every launch is as cheap as possible. A node that is terminated first, or
// that belongs to a static pool, is replaced by one like it.
func (c Command) Savings() float64 {
	if c.Reboot || c.TerminateFirst != "" || c.Static {
		return 0
	}
	sum := c.Cost()
	for _, claim := range c.Replacements {
		if !math.IsInf(claim.Price, 0) && !math.IsNaN(claim.Price) {
			sum -= claim.Price
		}
	}
	return sum
}

// Pods is how many pods have to move.
func (c Command) Pods() int {
	n := 0
	for _, candidate := range c.Candidates {
		n += len(candidate.PodsToMove)
	}
	return n
}

// destinations are where the pods of the command's nodes go, by UID: the ID of a node, or solve.NewNode.
func (c Command) destinations() map[string]string {
	to := map[string]string{}
	for _, at := range c.Placements {
		for _, pod := range at.Pods {
			to[pod.UID] = at.Node.ID
		}
	}
	for _, claim := range c.Replacements {
		for _, pod := range claim.Pods {
			to[pod.UID] = solve.NewNode
		}
	}
	out := map[string]string{}
	for _, candidate := range c.Candidates {
		for _, pod := range candidate.PodsToMove {
			if id, ok := to[pod.UID]; ok {
				out[pod.UID] = id
			}
		}
	}
	return out
}

// IDs are the IDs of the command's nodes, in its order.
func (c Command) IDs() []string {
	ids := make([]string, len(c.Candidates))
	for i, candidate := range c.Candidates {
		ids[i] = candidate.Node.ID
	}
	return ids
}

// Pools are the names of the pools that the command touches, sorted.
func (c Command) Pools() []string {
	var names []string
	for _, candidate := range c.Candidates {
		names = append(names, candidate.Node.Pool)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Text describes the command, which id identifies, in one line for logs.
func (c Command) Text(id string) string {
	return fmt.Sprintf("%s/%s: %s: nodepools=[%s]: %s (savings: $%.2f)",
		c.Reason, id, c.Decision(), strings.Join(c.Pools(), ","), c.effect(), c.Savings())
}

// effect renders the removed nodes and the replacements.
func (c Command) effect() string {
	names := make([]string, len(c.Candidates))
	for i, candidate := range c.Candidates {
		names[i] = candidate.Node.Name
	}
	text := "[" + strings.Join(names, ", ") + "]"
	switch n := c.Launches(); n {
	case 0:
	case 1:
		text += " -> [1 replacement]"
	default:
		text += fmt.Sprintf(" -> [%d replacements]", n)
	}
	return text
}

// TextFor describes the command to the owner of one of its nodes.
func (c Command) TextFor(node string) string {
	if len(c.Candidates) == 1 {
		return c.Decision() + ": " + c.effect()
	}
	return fmt.Sprintf("%s: [%s] (part of %d-node consolidation)", c.Decision(), node, len(c.Candidates))
}
