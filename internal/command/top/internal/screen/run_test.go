package screen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/karpenter-anew/karpenter/internal/document"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// printOptions print to a buffer, with these variables of the environment as NAME=VALUE.
func printOptions(source view.Source, out io.Writer, env ...string) Options {
	return Options{Source: source, In: strings.NewReader(""), Out: out, Clock: noon, Interval: time.Second, Env: func(name string) (string, bool) {
		for _, one := range env {
			if value, ok := strings.CutPrefix(one, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}}
}

func TestOnceIsPlainText(t *testing.T) {
	for name, env := range map[string][]string{"once": nil, "once-narrow": {"COLUMNS=60"}, "once-wide": {"COLUMNS=180", "CLICOLOR_FORCE=1", "TERM=xterm-256color", "COLORTERM=truecolor"}} {
		var out bytes.Buffer
		o := printOptions(&fakeSource{nodes: 30, unknown: []string{"The ledger is not known."}}, &out, env...)
		o.Filter, o.Sort = "web", "price"
		if err := Print(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
		if strings.ContainsRune(out.String(), '\x1b') {
			t.Errorf("%s has escape sequences", name)
		}
	}
}

func TestOnceShowsEachView(t *testing.T) {
	for _, name := range Views() {
		var out bytes.Buffer
		o := printOptions(&fakeSource{nodes: 3}, &out)
		o.View = name
		if err := Print(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		golden(t, "once-view-"+name, out.String())
	}
}

func TestOnceReportsErrors(t *testing.T) {
	broken := errors.New("broken")
	for want, change := range map[string]func(*Options){
		"broken": func(o *Options) { o.Source = &fakeSource{err: broken} },
		`unknown view "pods": known are nodes, pending, moves, cost, pools`: func(o *Options) { o.View = "pods" },
		`the view moves has no column "HEIGHT"`:                             func(o *Options) { o.View, o.Sort = "moves", "-height" },
	} {
		o := printOptions(&fakeSource{nodes: 3}, io.Discard)
		change(&o)
		if err := Print(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v instead of %s", err, want)
		}
	}
}

func TestJSONHasTheDocuments(t *testing.T) {
	var out bytes.Buffer
	o := printOptions(&fakeSource{nodes: 3}, &out)
	if err := PrintDocuments(t.Context(), o, document.JSON); err != nil {
		t.Fatal(err)
	}
	var all struct {
		Version, Kind string
		Items         []view.Head
	}
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, item := range all.Items {
		kinds = append(kinds, item.Kind)
	}
	if got := all.Version + " " + all.Kind + " " + strings.Join(kinds, " "); got != "v1 List Fleet Pending Moves Cost Pools" {
		t.Errorf("the document has %s", got)
	}
	out.Reset()
	o.View = "cost"
	if err := PrintDocuments(t.Context(), o, document.JSON); err != nil {
		t.Fatal(err)
	}
	var cost view.Cost
	if err := json.Unmarshal(out.Bytes(), &cost); err != nil || cost.Kind != "Cost" || cost.Bound == nil {
		t.Errorf("%v, %+v", err, cost)
	}
}

// screen is what a program writes to its terminal; seen is called with all of it so far.
type screen struct {
	bytes.Buffer
	seen func(all string)
}

func (s *screen) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	s.seen(s.String())
	return n, err
}

// runOnTerminal runs the program with a terminal that is described by the environment, until it has written a text, and then presses q.
func runOnTerminal(t *testing.T, until string, env ...string) string {
	t.Helper()
	keys, press := io.Pipe()
	defer func() { _ = keys.Close() }()
	pressed := false
	out := &screen{seen: func(all string) {
		if !pressed && strings.Contains(all, until) {
			pressed = true
			go func() { _, _ = press.Write([]byte("q")) }()
		}
	}}
	source := &fakeSource{nodes: 20, changes: make(chan uint64, 1)}
	source.changes <- 1
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	o := printOptions(source, out, env...)
	o.In = keys
	if err := run(ctx, o, tea.WithWindowSize(100, 30)); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("the program did not end; it wrote %q", out.String())
	}
	return out.String()
}

func TestTheProgramShowsNodesAndQuits(t *testing.T) {
	out := runOnTerminal(t, "ip-10-0-0-10", "TERM=xterm-256color", "TTY_FORCE=1")
	for _, want := range []string{"\x1b[?1049h", "\x1b[?1049l", "\x1b[32m"} { // enters and leaves the alternate screen, writes green
		if !strings.Contains(out, want) {
			t.Errorf("%q is not part of the output %q", want, out)
		}
	}
}

func TestTheProgramHasNoColorsWhereTheyAreNotWanted(t *testing.T) {
	for _, value := range []string{"1", "yes", "anything"} {
		out := runOnTerminal(t, "ip-10-0-0-10", "TERM=xterm-256color", "COLORTERM=truecolor", "TTY_FORCE=1", "NO_COLOR="+value)
		for _, color := range []string{"\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[1;31m", "\x1b[38;", "\x1b[48;"} {
			if strings.Contains(out, color) {
				t.Errorf("with NO_COLOR=%s, the output has %q", value, color)
			}
		}
	}
}

func TestADumbTerminalIsNotInteractive(t *testing.T) {
	o := printOptions(&fakeSource{}, io.Discard, "TERM=dumb")
	if o.Interactive() {
		t.Error("a frame would be drawn over the other on a terminal that cannot move its cursor")
	}
}
