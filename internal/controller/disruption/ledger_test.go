package disruption

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/controller/bookkeeper"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// recorded makes the controllers record their decisions, and returns the ledger.
func (w *harness) recorded() *ledger.Ledger {
	w.Helper()
	l := ledger.New(w.deps.Clock.Now, 32<<20, nil)
	w.deps.Books = bookkeeper.New(bookkeeper.Deps{Ledger: l, Clock: w.deps.Clock, Client: w.deps.Client, Cloud: w.deps.Cloud, Metrics: w.deps.Metrics})
	begin := func(_ context.Context, run string) error {
		l.Begin(ledger.Start{Run: run}, nil, 1)
		return nil
	}
	f := bookkeeper.NewFollower(w.deps.Books, w.deps.Cloud, begin, slog.New(slog.DiscardHandler))
	if err := f.Register(fakeManager{w: w}); err != nil {
		w.Fatal(err)
	}
	w.begin(f.Start)
	return l
}

// records are those that a filter selects.
func (w *harness) records(l *ledger.Ledger, f ledger.Filter) []ledger.Record {
	w.Helper()
	lines, _, err := l.Read(f)
	if err != nil {
		w.Fatal(err)
	}
	out := make([]ledger.Record, len(lines))
	for i, line := range lines {
		if out[i], err = ledger.Decode(line); err != nil {
			w.Fatal(err)
		}
	}
	return out
}

func TestDecisionsAreRecorded(t *testing.T) {
	inBubble(t, "a replaced node: why it was removed, what replaced it, and what that saves until the replacement goes", func(w *harness) {
		book := w.recorded()
		l := w.oversized()
		defer w.run()()
		w.pass(2 * time.Minute)
		l.wantInstanceTypes("x1")
		var command ledger.Command
		for _, r := range w.records(book, ledger.Filter{Kinds: []ledger.Kind{ledger.KindDisruption}}) {
			if len(r.Disruption.Commands) > 0 {
				command = r.Disruption.Commands[0]
				if c := r.Disruption.Cost; c.Before != 8 || c.After != 1 || c.Unpriced != 0 {
					t.Errorf("the cost of the pass is %+v", c)
				}
			}
		}
		if command.Reason != "Underutilized" || command.Decision != "replace" || command.SavingsPerHour != 7 || len(command.Nodes) != 1 ||
			command.Nodes[0].Node != "a" || command.Nodes[0].InstanceType != "x8" || *command.Nodes[0].Price != 8 || len(command.Replacements) != 1 {
			t.Fatalf("the command is recorded as %+v", command)
		}
		var life []string
		for _, r := range w.records(book, ledger.Filter{Node: "a", Kinds: []ledger.Kind{ledger.KindNodeClaim, ledger.KindCommand}}) {
			switch {
			case r.NodeClaim != nil:
				life = append(life, string(r.NodeClaim.Event)+" "+r.NodeClaim.Reason)
				if r.NodeClaim.Event == ledger.Disrupted && r.NodeClaim.Command != command.ID {
					t.Errorf("it is disrupted by command %q", r.NodeClaim.Command)
				}
			case r.Command.ID != command.ID:
				t.Errorf("there is another command: %+v", r.Command)
			default:
				life = append(life, "command "+string(r.Command.Outcome))
			}
		}
		// The watch may be faster than the executor, or not.
		life = slices.DeleteFunc(life, until("command started"))
		slices.Sort(life)
		want := "command started, command succeeded, deleted , deleting , disrupted underutilized"
		if got := strings.Join(life, ", "); got != want {
			t.Errorf("the life of the node is\n%s, want\n%s", got, want)
		}
		savings := w.records(book, ledger.Filter{Kinds: []ledger.Kind{ledger.KindSaving}})
		if len(savings) != 1 || *savings[0].Saving.PerHour != 7 || savings[0].Saving.Command != command.ID || *savings[0].Saving.Launched[0].Price != 1 {
			t.Fatalf("savings: %+v", savings)
		}
		since := savings[0].Time
		w.pass(since.Add(time.Hour + 10*time.Second).Sub(w.deps.Clock.Now()))
		saved := w.metric("karpenter_disruption_savings_dollars_total", "nodepool=pool", "reason=underutilized")
		if math.Abs(saved-7) > 0.05 {
			t.Errorf("$%v are saved in an hour", saved)
		}
		w.wantMetric("karpenter_disruption_savings_rate_dollars_per_hour", 7, "nodepool=pool", "reason=underutilized")
		w.remove(w.claim(savings[0].Saving.Launched[0].Name))
		w.pass(time.Minute)
		savings = w.records(book, ledger.Filter{Kinds: []ledger.Kind{ledger.KindSaving}})
		if len(savings) < 2 || savings[1].Saving.End != ledger.EndedByReplacement || math.Abs(savings[1].Saving.Dollars-7) > 0.05 {
			t.Errorf("savings after the replacement was deleted: %+v", savings[1:])
		}
		w.wantMetric("karpenter_disruption_savings_rate_dollars_per_hour", 0)
	})
	inBubble(t, "nodes that are left alone are named once, and counted in each pass", func(w *harness) {
		book := w.recorded()
		l := w.live(ondemand(2))
		w.pool("pool", budget("100%"), underutilized)
		for _, name := range []string{"a", "b"} {
			l.of("pool", name, "x2")
			w.pod(name, "pod-"+name, asks(1900))
		}
		defer w.run()()
		w.pass(time.Minute)
		named, counted := 0, 0
		var hashes []string
		for _, r := range w.records(book, ledger.Filter{Kinds: []ledger.Kind{ledger.KindDisruption}}) {
			hashes = append(hashes, r.Disruption.Input)
			for _, left := range r.Disruption.LeftAlone {
				if left.Method == "drift" && left.Code == string(disrupt.NotDrifted) {
					named, counted = named+len(left.Nodes), counted+left.Count
				}
			}
		}
		if named != 2 || counted < 6 || counted%2 != 0 {
			t.Errorf("%d nodes are named, and %d counted", named, counted)
		}
		if n := len(hashes); hashes[n-1] != hashes[n-2] {
			t.Error("two passes without a change between them have different hashes")
		}
		w.pod("a", "more", asks(50))
		w.pass(15 * time.Second)
		all := w.records(book, ledger.Filter{Kinds: []ledger.Kind{ledger.KindDisruption}})
		if last := all[len(all)-1].Disruption; last.Input == hashes[len(hashes)-1] {
			t.Error("a pass after a change has the hash of the one before")
		}
	})
}

// until returns a function that reports whether an entry comes before the first one that is as named.
func until(name string) func(string) bool {
	reached := false
	return func(entry string) bool {
		reached = reached || entry == name
		return !reached
	}
}
