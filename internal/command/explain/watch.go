package explain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/karpenter-anew/karpenter/internal/command"
)

// checkWatch reports flags that contradict --watch.
func (c *Command) checkWatch() error {
	switch {
	case c.Watch && c.Cluster.Snapshot != "":
		return errors.New("--watch is for a live cluster: a snapshot does not change")
	case c.Watch && c.Interval <= 0:
		return errors.New("--interval must be above 0s")
	}
	return nil
}

// watcher prints answers again when they change.
type watcher struct {
	interval time.Duration
	binary   command.Binary
	// answers and notes are what was printed last on standard output and standard error.
	answers, notes string
}

// run prints what once prints, and again whenever that differs, until the context ends. It fails if the first answer does; errors that follow are
// printed, and once is called again.
func (w *watcher) run(ctx context.Context, s command.Streams, once func(command.Streams) error) error {
	for first := true; ; first = false {
		var out, notes bytes.Buffer
		err := once(command.Streams{In: s.In, Out: &out, Err: &notes, Color: s.Color})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // a signal ended the request
		}
		if err != nil && !first {
			fmt.Fprintf(&notes, "karpenter %s: %v; retrying every %s\n", Name, err, w.interval)
		}
		if failed := w.print(s, out.String(), notes.String(), first); failed != nil {
			return failed
		}
		if err != nil && first {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.binary.After(w.interval):
		}
	}
}

// print prints what differs from what was printed last, with the time unless it is the first answer.
func (w *watcher) print(s command.Streams, answers, notes string, first bool) error {
	if notes != w.notes {
		w.notes = notes
		if _, err := io.WriteString(s.Err, notes); err != nil {
			return err
		}
	}
	if answers == w.answers || answers == "" {
		return nil
	}
	w.answers = answers
	if !first {
		answers = fmt.Sprintf("\n%s\n%s", w.binary.Now().Format(time.RFC3339), answers)
	}
	_, err := io.WriteString(s.Out, answers)
	return err
}
