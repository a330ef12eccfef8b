package view

import (
	"cmp"
	"context"
	"slices"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// OpenCommand is a command that waits for its validation or is under way, as the process that carries it out knows it.
type OpenCommand struct {
	Command
	// NodeClaims are the names of those of its nodes.
	NodeClaims []string
}

// CommandReader has the commands of the process that decides.
type CommandReader interface {
	// Commands are those that wait or are under way, the oldest first. It is false for a process that does not decide now.
	Commands(ctx context.Context) ([]OpenCommand, bool)
	// Changes increases whenever they may have changed.
	Changes() uint64
}

// FollowCommands makes the views show the commands of a process instead of those that its ledger has as open. It is called before anything is
// asked.
func (v *Views) FollowCommands(r CommandReader) *Views {
	v.commands = r
	return v
}

// NewOpenCommand is a command that was decided, with what records say of it.
func NewOpenCommand(c ledger.Command) OpenCommand {
	past := pastCommand{Command: Command{ID: c.ID, State: Waiting, Nodes: []string{}, Replacements: []string{}}}
	past.describe(c)
	return OpenCommand{Command: past.Command, NodeClaims: past.claims}
}

func (v *Views) openCommands(ctx context.Context) ([]OpenCommand, bool) {
	if v.commands == nil {
		return nil, false
	}
	return v.commands.Commands(ctx)
}

// withOpen replaces the commands that the ledger has as open by those that are.
func withOpen(known []pastCommand, open []OpenCommand) []pastCommand {
	ended := map[string]bool{}
	out := slices.DeleteFunc(known, func(c pastCommand) bool {
		over := c.State != Waiting && c.State != UnderWay
		ended[c.ID] = ended[c.ID] || over
		return !over
	})
	for _, c := range open {
		if !ended[c.ID] {
			out = append(out, pastCommand{Command: c.Command, claims: c.NodeClaims})
		}
	}
	return out
}

// maxPlans is how many DisruptionPlans are listed.
const maxPlans = 100

// plans are the DisruptionPlans of the ledger up to the moment.
func (m *moment) plans() []Plan {
	byName := map[string]*Plan{}
	for i := range m.records {
		e := m.records[i].Plan
		if e == nil {
			continue
		}
		at := m.records[i].Time.UTC()
		p := byName[e.Name]
		if p == nil {
			p = &Plan{Name: e.Name, Nodes: []string{}, NodePools: []string{}}
			byName[e.Name] = p
		}
		p.Phase, p.Reason, p.Decision, p.Policy, p.Changed = e.Phase, e.Reason, e.Decision, e.Policy, at
		p.By, p.Why = cmp.Or(e.By, p.By), cmp.Or(e.Text, e.Why)
		if e.Phase == string(opsv1alpha1.PlanProposed) {
			p.Proposed = &at
		}
		if names := nodesOf(e); len(names) > 0 {
			p.Nodes = names
		}
		if len(e.NodePools) > 0 {
			p.NodePools = slices.Compact(slices.Sorted(slices.Values(e.NodePools)))
		}
	}
	out := []Plan{}
	for _, p := range byName {
		out = append(out, *p)
	}
	undecided := func(p Plan) int {
		if p.Phase == string(opsv1alpha1.PlanProposed) {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b Plan) int {
		return cmp.Or(cmp.Compare(undecided(a), undecided(b)), b.Changed.Compare(a.Changed), cmp.Compare(a.Name, b.Name))
	})
	return slices.Clip(out[:min(len(out), maxPlans)])
}

// nodesOf are the names of a plan's Nodes, or of the NodeClaims of those without one.
func nodesOf(e *ledger.PlanEvent) []string {
	out := slices.Clone(e.Nodes)
	for i, claim := range e.NodeClaims {
		if i >= len(out) {
			out = append(out, claim)
			continue
		}
		out[i] = cmp.Or(out[i], claim)
	}
	return out
}
