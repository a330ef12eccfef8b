package operator

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestChatterOfTheLibraryIsForDebugging(t *testing.T) {
	for level, want := range map[slog.Level][]string{
		slog.LevelInfo:  {"acquired lease"},
		slog.LevelDebug: {"Starting Controller", "acquired lease"},
	} {
		var out bytes.Buffer
		inner := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})
		log := slog.New(withoutChatter{inner}).With("controller", "x").WithGroup("g")
		log.Info("Starting Controller")
		log.Info("acquired lease")
		if n := strings.Count(out.String(), "\n"); n != len(want) {
			t.Errorf("at level %v: %d lines, want %v:\n%s", level, n, want, out.String())
		}
		for _, message := range want {
			if !strings.Contains(out.String(), message) {
				t.Errorf("at level %v: no line %q", level, message)
			}
		}
	}
}
