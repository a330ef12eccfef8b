package disruption

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// open shows the commands that wait or are under way.
func (w *harness) open() string {
	w.Helper()
	var out []string
	for _, c := range w.running.Commands(w.Context()) {
		names := strings.Join(c.Waits, ",")
		for _, launched := range c.Launched {
			names = strings.ReplaceAll(names, launched, "REPLACEMENT")
		}
		text := fmt.Sprintf("%s %s of %s: %s %s", c.Reason, c.Decision, c.Command.Nodes[0].Node, c.Step, names)
		if c.Started.IsZero() != (c.Step == Validating) || c.Decided.IsZero() || c.ID == "" {
			w.Errorf("%+v", c)
		}
		out = append(out, strings.TrimSpace(text))
	}
	return strings.Join(out, "; ")
}

func TestOpenCommands(t *testing.T) {
	inBubble(t, "a command that waits is due at the moment when it is validated", func(w *harness) {
		w.oversized()
		defer w.run()()
		for w.open() == "" {
			w.pass(100 * time.Millisecond)
		}
		if got := w.open(); got != "Underutilized replace of a: validation" {
			t.Errorf("waiting: %s", got)
		}
		before := w.running.CommandChanges()
		due := w.running.Commands(t.Context())[0].Due
		if left := time.Until(due); left <= 0 || left > 15*time.Second {
			t.Errorf("validated in %s", left)
		}
		w.pass(time.Until(due) - time.Millisecond)
		if got := w.open(); got != "Underutilized replace of a: validation" || w.running.CommandChanges() != before {
			t.Errorf("just before it is due: %s", got)
		}
		w.pass(2 * time.Millisecond)
		if got := w.open(); strings.Contains(got, "validation") || w.running.CommandChanges() == before {
			t.Errorf("just after it is due: %s", got)
		}
	})
	inBubble(t, "a command under way waits for its replacement, and is over when the NodeClaim is deleted", func(w *harness) {
		w.replacing(time.Minute)
		w.pass(30 * time.Second)
		if got := w.open(); got != "Drifted replace of a: launch REPLACEMENT" {
			t.Errorf("launching: %s", got)
		}
		if got := w.running.Commands(t.Context())[0].WaitsFor(); !strings.HasPrefix(got, "replacements to be initialized: pool-") {
			t.Errorf("launching: %s", got)
		}
		before := w.running.CommandChanges()
		w.pass(10 * time.Second)
		if w.running.CommandChanges() != before {
			t.Error("nothing has changed, and a change is counted")
		}
		w.pass(time.Minute)
		if got := w.open(); got != "" || w.running.CommandChanges() == before {
			t.Errorf("after the deletion: %s", got)
		}
	})
}
