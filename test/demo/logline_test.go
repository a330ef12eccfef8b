package main

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
		if got := prettyLine([]byte(c.line)); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q does not end with %q", c.name, got, c.want)
		}
	}
}

func TestLastLines(t *testing.T) {
	var passed bytes.Buffer
	l := &lastLines{next: &passed}
	for _, part := range []string{"one\ntw", "o\n", "three\nunfinished"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("wrote %d bytes of %q: %v", n, part, err)
		}
	}
	if got := string(bytes.Join(l.tail(2), []byte("|"))); got != "two|three" {
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
	if kept := len(l.tail(1 << 30)); kept > 2*keptLines {
		t.Errorf("%d lines are kept", kept)
	}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-pods=0"}, {"-pods=-3"}, {"-pods=1000000"}, {"-pods=many"}, {"-scene=comedy"}, {"stray"}} {
		if _, err := parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
	s, err := parse([]string{"-pods=7", "-catalog=aws/us-east-1"}, &bytes.Buffer{})
	if err != nil || s.pods != 7 || s.catalog != "aws/us-east-1" || s.stay {
		t.Errorf("settings %+v, error %v", s, err)
	}
}

func TestUnknownSceneListsTheScenes(t *testing.T) {
	_, err := parse([]string{"-scene=comedy"}, &bytes.Buffer{})
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, want := range []string{`"comedy"`, "consolidation, drift, expiry, repair"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

func TestSceneOf(t *testing.T) {
	for _, name := range []string{"", "consolidation", "drift", "expiry", "repair"} {
		s, err := parse([]string{"-scene=" + name}, &bytes.Buffer{})
		if err != nil {
			t.Errorf("scene %q: %v", name, err)
		} else if one := sceneOf(s); one.name != name || one.perform == nil {
			t.Errorf("scene %q is played as %q", name, one.name)
		}
	}
}

func TestSpotlightShowsTheLinesOfItsScene(t *testing.T) {
	var out bytes.Buffer
	s := newSpotlight(newProgress(&out, time.Now()), []string{"deleted node"})
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
	if s.count("deleted node") != 1 || s.count("tainted node") != 0 {
		t.Errorf("counted %v", s.seen)
	}
}

func TestPollEndsWhenSomethingIsBroken(t *testing.T) {
	asked := 0
	err := poll(t.Context(), time.Hour, "nothing", func() (bool, error) {
		asked++
		return false, fmt.Errorf("%w: three at once", errBroken)
	})
	if asked != 1 || !errors.Is(err, errBroken) {
		t.Errorf("asked %d times, error %v", asked, err)
	}
}

func TestProgressIsQuietWhenNothingChanges(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, time.Now())
	for range 5 {
		p.counts(counts{pending: 3})
	}
	p.line("done")
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
