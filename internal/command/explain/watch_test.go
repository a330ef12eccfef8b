package explain

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/command"
)

// reading is what the cluster answers at one time.
type reading struct {
	out, notes string
	err        error
}

// watched runs a watcher over readings, then ends it. The clock has a second for each reading, and the watcher never waits.
func watched(t *testing.T, readings ...reading) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begin, read := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), 0
	w := watcher{interval: time.Second, binary: command.Binary{
		Now: func() time.Time { return begin.Add(time.Duration(read) * time.Second) },
		After: func(d time.Duration) <-chan time.Time {
			if d != time.Second {
				t.Errorf("the pause is %s", d)
			}
			if read == len(readings) {
				cancel()
				return nil
			}
			over := make(chan time.Time, 1)
			over <- begin
			return over
		},
	}}
	var out, notes bytes.Buffer
	err = w.run(ctx, command.Streams{Out: &out, Err: &notes}, func(s command.Streams) error {
		r := readings[read]
		read++
		_, _ = io.WriteString(s.Out, r.out)
		_, _ = io.WriteString(s.Err, r.notes)
		return r.err
	})
	return out.String(), notes.String(), err
}

// TestWatchPrintsWhatChanges: equal answers and notes are printed once, and an error of a later reading ends nothing.
func TestWatchPrintsWhatChanges(t *testing.T) {
	stdout, stderr, err := watched(t,
		reading{"pending\n", "settings: a\n", nil}, reading{"pending\n", "settings: a\n", nil}, reading{"", "", errors.New("refused")},
		reading{"", "", errors.New("refused")}, reading{"pending\n", "settings: b\n", nil}, reading{"bound\n", "settings: b\n", nil})
	if want := "pending\n\n2026-01-02T03:04:06Z\nbound\n"; stdout != want || err != nil {
		t.Errorf("%q, %v, want %q", stdout, err, want)
	}
	if want := "settings: a\nkarpenter explain: refused; retrying every 1s\nsettings: b\n"; stderr != want {
		t.Errorf("standard error is %q, want %q", stderr, want)
	}
}

// TestWatchFailsAtFirst: an object that does not exist, or a cluster that does not answer, is no reason to wait.
func TestWatchFailsAtFirst(t *testing.T) {
	stdout, stderr, err := watched(t, reading{"some\n", "settings: a\n", errors.New("not found")})
	if stdout != "some\n" || stderr != "settings: a\n" || err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("%q, %q, %v", stdout, stderr, err)
	}
}
