package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func TestEventsAreCut(t *testing.T) {
	r, s, _ := newTestRecorder()
	t.Attr("covers", "N203")
	long := errors.New(strings.Repeat("x", 1<<20))
	r.Publish(FailedScheduling(podNamed("a"), long), InsufficientCapacity(&v1.NodeClaim{}, long), PodNotLaunched(podNamed("b"), "c", long))
	for _, sent := range s.sent {
		if _, got, _ := strings.Cut(sent, ": "); len(got) != condition.MaxMessageBytes || !strings.HasSuffix(got, "x...") {
			t.Errorf("a message of %d bytes is published, want %d", len(got), condition.MaxMessageBytes)
		}
	}
}

// failing is an error whose method panics.
type failing struct{}

func (*failing) Error() string { panic("no text") }

func TestLogFieldsAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	names, amounts := []string{}, map[string]string{}
	for i := range 25_000 {
		names = append(names, fmt.Sprintf("example.com/resource-%05d", i))
		amounts[names[i]] = "1"
	}
	var nothing *failing
	out := logLines(t, "info", func(l *slog.Logger) {
		l.With("with", long).WithGroup("group").Error(long, "text", long, "error", fmt.Errorf("pod: %s", long), "names", names, "requests", amounts,
			"structured", WithFields(errors.New("why"), slog.String("field", long)), "struct", struct{ Text string }{long}, "panic", nothing)
		l.Info("short", "names", names[:2], "stack", long)
	})
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || len(lines[0]) > 16*condition.MaxMessageBytes {
		t.Fatalf("%d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
	var first struct {
		Group struct {
			Names    []string          `json:"names"`
			Requests map[string]string `json:"requests"`
		} `json:"group"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if n := len(first.Group.Names); n < 30 || n > 40 || !slices.Equal(first.Group.Names, names[:n]) {
		t.Errorf("%d names are logged", n)
	}
	if n := len(first.Group.Requests); n < 30 || n > 40 || first.Group.Requests[names[0]] != "1" {
		t.Errorf("%d requests are logged", n)
	}
	if !strings.Contains(lines[1], `"names":["example.com/resource-00000","example.com/resource-00001"]`) || !strings.Contains(lines[1], long) {
		t.Errorf("a short list or a stack trace is changed: %.200s", lines[1])
	}
}
