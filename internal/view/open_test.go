package view_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// process has the commands of a controller.
type process struct {
	commands []view.OpenCommand
	leads    bool
	changes  atomic.Uint64
}

func (p *process) Commands(context.Context) ([]view.OpenCommand, bool) { return p.commands, p.leads }
func (p *process) Changes() uint64                                     { return p.changes.Load() }

// decided is a ledger in which three commands were decided, of which one has ended, and plans were proposed.
func decided(t *testing.T) ledger.Records {
	t.Helper()
	now := noon()
	l := ledger.New(func() time.Time { return now }, 1<<20, nil)
	l.Begin(ledger.Start{Run: "1"}, nil, 1)
	command := func(id, node string) ledger.Command {
		return ledger.Command{ID: id, Reason: "Drifted", Decision: "replace", Nodes: []ledger.NodeClaimState{{Name: node, Node: node, NodePool: "web"}}}
	}
	l.Append(ledger.Record{Kind: ledger.KindDisruption, Disruption: &ledger.Disruption{Commands: []ledger.Command{command("gone", "n1"), command("ended", "n2"), command("open", "n3")}}})
	now = now.Add(time.Minute)
	l.Append(ledger.Record{Kind: ledger.KindCommand, Command: &ledger.CommandEvent{ID: "ended", Reason: "Drifted", Decision: "replace", Outcome: ledger.CommandSucceeded}})
	plan := func(name, phase, by, text string) {
		now = now.Add(time.Minute)
		l.Append(ledger.Record{Kind: ledger.KindPlan, Plan: &ledger.PlanEvent{
			Name: name, Phase: phase, Reason: "Drifted", Decision: "replace", Policy: "ask", By: by, Text: text,
			Nodes: []string{"node-1", ""}, NodeClaims: []string{"web-1", "web-2"}, NodePools: []string{"web", "web"},
		}})
	}
	plan("old", "Proposed", "", "")
	plan("new", "Proposed", "", "")
	plan("old", "Approved", "ann", "")
	plan("old", "Voided", "", "the node is gone")
	return ledger.Memory{Ledger: l}
}

func states(commands []view.Command) string {
	var out []string
	for _, c := range commands {
		if c.State != view.Proposed {
			out = append(out, c.ID+" "+string(c.State))
		}
	}
	return strings.Join(out, ", ")
}

// TestOpenCommandsAreThoseOfTheProcess: what the ledger has as open and the process has not is over, and what has ended in the ledger is not open.
func TestOpenCommandsAreThoseOfTheProcess(t *testing.T) {
	open := func(id string) view.OpenCommand {
		c := view.NewOpenCommand(ledger.Command{ID: id, Reason: "Drifted", Decision: "replace", Pods: 3, Nodes: []ledger.NodeClaimState{{Name: "c", Node: "n3", NodePool: "web"}}})
		due := noon().Add(15 * time.Second)
		c.Due = &due
		return c
	}
	p := &process{leads: true, commands: []view.OpenCommand{open("open"), open("ended"), open("newer")}}
	v := view.New(shop(t), decided(t), clock.RealClock{}).FollowCommands(p)
	moves, err := v.Moves(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if got := states(moves.Commands); got != "open waiting, newer waiting, ended succeeded" {
		t.Error(got)
	}
	for _, c := range moves.Commands {
		if c.State == view.Waiting && (c.Due == nil || c.Pods != 3 || !slices.Equal(c.Nodes, []string{"n3"}) || !slices.Equal(c.NodePools, []string{"web"})) {
			t.Errorf("%+v", c)
		}
	}
	p.leads = false
	if moves, err = v.Moves(t.Context(), time.Time{}); err != nil || states(moves.Commands) != "gone waiting, open waiting, ended succeeded" {
		t.Errorf("a process that does not decide: %s %v", states(moves.Commands), err)
	}
	before, _ := v.Revision(t.Context())
	same, _ := v.Revision(t.Context())
	p.changes.Add(1)
	if after, err := v.Revision(t.Context()); err != nil || same != before || after == before {
		t.Errorf("revisions %d, %d and after a change %d: %v", before, same, after, err)
	}
}

// TestPlansOfTheLedger: those that wait for a decision come first, the others as of their last record.
func TestPlansOfTheLedger(t *testing.T) {
	v := view.New(shop(t), decided(t), clock.RealClock{})
	moves, err := v.Moves(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if len(moves.Plans) != 2 || moves.Plans[0].Name != "new" || moves.Plans[0].Phase != "Proposed" || !slices.Equal(moves.Plans[0].Nodes, []string{"node-1", "web-2"}) ||
		!slices.Equal(moves.Plans[0].NodePools, []string{"web"}) {
		t.Fatalf("%+v", moves.Plans)
	}
	if old := moves.Plans[1]; old.Phase != "Voided" || old.By != "ann" || old.Why != "the node is gone" || old.Proposed == nil || !old.Changed.After(*old.Proposed) {
		t.Errorf("%+v", old)
	}
	if moves, err = v.Moves(t.Context(), noon().Add(4*time.Minute)); err != nil || len(moves.Plans) != 2 || moves.Plans[1].Phase != "Approved" {
		t.Errorf("at the moment of the approval: %+v %v", moves.Plans, err)
	}
	line, err := v.Timeline(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range line.Moments {
		if m.Kind == ledger.KindPlan {
			n++
		}
	}
	if n != 4 {
		t.Errorf("%d plans on the time line", n)
	}
}
