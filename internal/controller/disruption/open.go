package disruption

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// Step is what a command waits for.
type Step string

// The steps of commands, in their order.
const (
	// Validating commands wait until they are due.
	Validating Step = "validation"
	// Marking commands mark their nodes and create their replacements.
	Marking Step = "marks"
	// Launching commands wait until their replacements are initialized.
	Launching Step = "launch"
	// Deleting commands delete their NodeClaims.
	Deleting Step = "deletion"
)

// OpenCommand is a command that waits for its validation or is under way.
type OpenCommand struct {
	// Command is what was decided; prices of nodes are missing where no decisions are recorded.
	ledger.Command
	// Step is what it waits for, Waits the names of the NodeClaims that it waits for, if these are known.
	Step  Step
	Waits []string
	// Launched are the names of the replacements that were created.
	Launched []string
	// Decided is when it was proposed, Due when it is validated, Started when it was found valid; zero until then.
	Decided, Due, Started time.Time
	// Plan is the name of the approved DisruptionPlan that it is from; empty for none.
	Plan string
}

// WaitsFor says what a command waits for.
func (c OpenCommand) WaitsFor() string {
	names := ""
	if len(c.Waits) > 0 {
		names = ": " + strings.Join(c.Waits, ", ")
	}
	switch c.Step {
	case Validating:
		return "validation"
	case Marking:
		return "nodes to be marked, and replacements to be created"
	case Launching:
		return "replacements to be initialized" + names
	case Deleting:
		return "NodeClaims to be deleted" + names
	}
	return ""
}

// Commands are the commands that wait or are under way, the oldest first. The lock of the queue is held while it is copied. It can be called at any
// time.
func (c *Controller) Commands(ctx context.Context) []OpenCommand {
	all := c.queue.all()
	out := make([]OpenCommand, len(all))
	for i, cmd := range all {
		out[i] = OpenCommand{
			Command: c.planner.recorded(ctx, cmd), Step: cmd.step, Waits: cmd.waits, Launched: cmd.launched,
			Decided: cmd.decided, Due: cmd.due, Started: cmd.started, Plan: cmd.approvedBy,
		}
		switch {
		case cmd.started.IsZero():
			out[i].Step = Validating
		case cmd.step == "":
			out[i].Step = Marking
		}
	}
	return out
}

// CommandChanges increases whenever Commands may have changed.
func (c *Controller) CommandChanges() uint64 {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return c.queue.changes
}

// all are all commands in the order in which they were proposed.
func (q *queue) all() []command {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]command, 0, len(q.commands))
	for _, c := range q.commands {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b command) int { return cmp.Compare(a.serial, b.serial) })
	return out
}

// follow records what a command that is carried out waits for.
func (q *queue) follow(id string, step Step, waits []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c, ok := q.commands[id]
	if !ok || c.step == step && slices.Equal(c.waits, waits) {
		return
	}
	c.step, c.waits = step, waits
	q.commands[id] = c
	q.changes++
}

// claimNames are the names of the NodeClaims of candidates.
func claimNames(candidates []disrupt.Candidate) []string {
	out := make([]string, len(candidates))
	for i, c := range candidates {
		out[i] = c.Node.ClaimName
	}
	return out
}
