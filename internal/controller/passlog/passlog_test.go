package passlog_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/controller/passlog"
)

// TestLinesOfAPassHaveItsID: lines of one pass have the same reconcileID, those of another pass another one, and those of no pass none.
func TestLinesOfAPassHaveItsID(t *testing.T) {
	var out bytes.Buffer
	passes, log := passlog.New(slog.New(slog.NewJSONHandler(&out, nil)))
	with := log.With("a", 1) // made before the pass
	id := func(l *slog.Logger) string {
		out.Reset()
		l.Info("x", "b", 2)
		var line struct {
			ReconcileID string
			B           int
		}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.B != 2 {
			t.Errorf("%v: %s", err, &out)
		}
		return line.ReconcileID
	}
	end := passes.Begin()
	first := id(log)
	if again := id(with); first == "" || again != first {
		t.Errorf("one pass has the IDs %q and %q", first, again)
	}
	end()
	if got := id(with); got != "" {
		t.Errorf("a line of no pass has the ID %q", got)
	}
	defer passes.Begin()()
	if second := id(log); second == "" || second == first {
		t.Errorf("the second pass has the ID %q, the first one %q", second, first)
	}
}
