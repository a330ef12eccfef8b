package disruption

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// command is a set of nodes to disrupt, from its proposal to its end.
type command struct {
	id     string
	method disrupt.Method
	plan   disrupt.Command
	// serial is the place of the command among all that were proposed.
	serial uint64
	// decided is when the command was proposed, due when it is validated.
	decided, due time.Time
	// started is when it passed validation; zero while it waits.
	started time.Time
	// launched are the names of the replacement NodeClaims. begun is set once they are written and the nodes are marked.
	launched        []string
	launchesWritten bool
	// reservation allows the creation of a NodeClaim of a static pool; nil for none.
	reservation *grant
	// approvedBy is the name of the approved DisruptionPlan that the command is from; empty for commands without one.
	approvedBy string
	// step is what a command that has started does, and waits the names of the NodeClaims that it waits for.
	step  Step
	waits []string
}

// simulated reports whether the command was found by simulation.
func (c command) simulated() bool {
	return c.method.Simulates != disrupt.NoSimulation && !c.plan.Reboot
}

// launchesFrom are the pools of the replacements.
func (c command) launchesFrom() []string {
	var out []string
	for _, claim := range c.plan.Replacements {
		out = append(out, claim.Pool)
	}
	if c.plan.Static {
		out = append(out, c.plan.Candidates[0].Node.Pool)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// queue owns the commands, by id. It is safe for concurrent use; commands that it hands out are copies.
type queue struct {
	mu       sync.Mutex
	commands map[string]command
	// changes counts changes of commands.
	changes uint64
}

func newQueue() *queue { return &queue{commands: map[string]command{}} }

// put adds or replaces a command.
func (q *queue) put(c command) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.commands[c.id] = c
	q.changes++
}

// drop removes a command.
func (q *queue) drop(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.commands, id)
	q.changes++
}

// nextDue is when the next waiting command is to be validated.
func (q *queue) nextDue() (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var next time.Time
	found := false
	writing := q.isWriting()
	for _, c := range q.commands {
		if writing && c.simulated() {
			continue
		}
		if c.started.IsZero() && (!found || c.due.Before(next)) {
			next, found = c.due, true
		}
	}
	return next, found
}

// writing reports whether a command is being started: until its nodes are marked and its replacements are created, simulations of
// other commands would be wrong, or depend on how fast it is written. Reboots move no pods.
func (q *queue) writing() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.isWriting()
}

func (q *queue) isWriting() bool {
	for _, c := range q.commands {
		if !c.started.IsZero() && !c.launchesWritten && !c.plan.Reboot {
			return true
		}
	}
	return false
}

// underway are the commands that wait, or have not marked their nodes yet: the snapshot does not show their effects. Reboots move no pods.
func (q *queue) underway() []disrupt.Command {
	return q.list(func(c command) bool { return !c.launchesWritten && !c.plan.Reboot })
}

// validated are the underway commands that have been validated: pods cannot move to their nodes.
func (q *queue) validated() []disrupt.Command {
	return q.list(func(c command) bool { return !c.launchesWritten && !c.started.IsZero() && !c.plan.Reboot })
}

func (q *queue) list(keep func(command) bool) []disrupt.Command {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []command
	for _, c := range q.commands {
		if keep(c) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b command) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.serial, b.serial)) })
	out := make([]disrupt.Command, len(list))
	for i, c := range list {
		out[i] = c.plan
	}
	return out
}

// due are the waiting commands that are due for validation, oldest first.
func (q *queue) due(now time.Time) []command {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []command
	for _, c := range q.commands {
		if c.started.IsZero() && !c.due.After(now) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b command) int {
		return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.serial, b.serial))
	})
	return out
}

// nodes are the IDs of the nodes in commands other than the one named.
func (q *queue) nodes(except string) map[string]bool {
	return q.collect(func(c command) bool { return c.id != except })
}

// approved are the names of the plans of commands in the queue.
func (q *queue) approved() map[string]bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := map[string]bool{}
	for _, c := range q.commands {
		if c.approvedBy != "" {
			out[c.approvedBy] = true
		}
	}
	return out
}

// running are the IDs of the nodes in commands that are being carried out: their marks must not be removed.
func (q *queue) running() map[string]bool {
	return q.collect(func(c command) bool { return !c.started.IsZero() })
}

func (q *queue) collect(keep func(command) bool) map[string]bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := map[string]bool{}
	for _, c := range q.commands {
		if !keep(c) {
			continue
		}
		for _, id := range c.plan.IDs() {
			out[id] = true
		}
	}
	return out
}

// The bounds of the timeout of a command, and the time that each candidate in the queue adds to it.
const (
	timeoutPerCandidate    = 80 * time.Millisecond
	minTimeout, maxTimeout = 10 * time.Minute, time.Hour
)

// commandTimeout is the timeout of a command while the queue has this number of candidates.
func commandTimeout(candidates int) time.Duration {
	return min(max(time.Duration(candidates)*timeoutPerCandidate, minTimeout), maxTimeout)
}
