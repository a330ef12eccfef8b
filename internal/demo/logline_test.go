package demo

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestPrettyLine(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{
			"a JSON line", `{"time":"2026-01-02T03:04:05.6Z","level":"INFO","logger":"controller","message":"launched nodeclaim","commit":"abc",` +
				`"reconcileID":"1","NodeClaim":{"name":"a"},"Pod":{"name":"b","namespace":"default"},"requests":{"cpu":"1"},"zone":"z"}`,
			` INFO  controller: launched nodeclaim NodeClaim=a Pod=default/b requests={"cpu":"1"} zone=z`,
		},
		{"plain text stays", "panic: oh\n", "panic: oh"},
		{"an array stays", `["x"]`, `["x"]`},
	} {
		if got := PrettyLine([]byte(c.line)); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q does not end with %q", c.name, got, c.want)
		}
	}
}

func TestLastLines(t *testing.T) {
	var passed bytes.Buffer
	l := &LogTail{Next: &passed}
	for _, part := range []string{"one\ntw", "o\n", "three\nunfinished"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("wrote %d bytes of %q: %v", n, part, err)
		}
	}
	if got := string(bytes.Join(l.Tail(2), []byte("|"))); got != "two|three" {
		t.Errorf("last lines %q, want two|three", got)
	}
	if got := passed.String(); got != "one\ntwo\nthree\n" {
		t.Errorf("passed on %q", got)
	}
	for range 3 * keptLines {
		if _, err := l.Write([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
	}
	if kept := len(l.Tail(1 << 30)); kept > 2*keptLines {
		t.Errorf("%d lines are kept", kept)
	}
}

func TestSpotlightShowsTheLinesOfItsScene(t *testing.T) {
	var out bytes.Buffer
	s := NewSpotlight(NewProgress(&out, time.Now()), []string{"deleted node"})
	for _, line := range []string{
		`{"message":"deleted node","Node":{"name":"a"},"provider-id":"x"}`, `{"message":"tainted node","Node":{"name":"b"}}`, `panic: oh`,
	} {
		if n, err := s.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("%q: %d, %v", line, n, err)
		}
	}
	if got := out.String(); !strings.HasSuffix(got, "log: deleted node Node=a\n") || strings.Contains(got, "tainted") {
		t.Errorf("shown:\n%s", got)
	}
	if s.Count("deleted node") != 1 || s.Count("tainted node") != 0 {
		t.Errorf("counted %v", s.seen)
	}
}

func TestPollEndsWhenSomethingIsBroken(t *testing.T) {
	asked := 0
	err := Poll(t.Context(), time.Hour, "nothing", func() (bool, error) {
		asked++
		return false, fmt.Errorf("%w: three at once", ErrBroken)
	})
	if asked != 1 || !errors.Is(err, ErrBroken) {
		t.Errorf("asked %d times, error %v", asked, err)
	}
}

func TestProgressIsQuietWhenNothingChanges(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out, time.Now())
	for range 5 {
		p.Counts(Counts{Pending: 3})
	}
	p.Line("done")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "3 pending") || !strings.HasSuffix(lines[1], "done") {
		t.Errorf("output:\n%s", out.String())
	}
}

func TestFigures(t *testing.T) {
	f := figures{catalog: "generic", pods: 100, nodes: 4, pricePerH: 1.97634, cluster: 4 * time.Second, nodesGone: 25200 * time.Millisecond}
	got := f.String()
	for _, want := range []string{"100 pods on 4 nodes", "$1.9763/h (generic)", "cluster 4.0 s", "nodes gone 25.2 s"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "\n") {
		t.Errorf("more than one line: %q", got)
	}
}
