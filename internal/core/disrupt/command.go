package disrupt

import (
	"fmt"
	"slices"
	"strings"
)

// Delete is the decision of a command that replaces nothing.
const Delete = "delete"

// Command is a set of nodes to disrupt together.
type Command struct {
	Reason Reason
	// Type is the value of the consolidation_type label of metrics.
	Type       string
	Candidates []Candidate
}

// Decision is what happens to the nodes, in one word.
func (c Command) Decision() string { return Delete }

// Savings is what the command saves in dollars an hour.
func (c Command) Savings() float64 {
	sum := 0.0
	for _, candidate := range c.Candidates {
		sum += candidate.Price
	}
	return sum
}

// Pods is how many pods have to move.
func (c Command) Pods() int {
	n := 0
	for _, candidate := range c.Candidates {
		n += len(candidate.Moves)
	}
	return n
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

// Text describes the command, which the id tells from others, in one line for logs.
func (c Command) Text(id string) string {
	names := make([]string, len(c.Candidates))
	for i, candidate := range c.Candidates {
		names[i] = candidate.Node.Name
	}
	return fmt.Sprintf("%s/%s: %s: nodepools=[%s]: [%s] (savings: $%.2f)",
		c.Reason, id, c.Decision(), strings.Join(c.Pools(), ","), strings.Join(names, ", "), c.Savings())
}
