package shrink

import (
	"context"
	"testing"
)

func numbered(n int) (out []map[string]any) {
	for i := range n {
		out = append(out, map[string]any{"kind": "A", "spec": map[string]any{"number": int64(i)}})
	}
	return out
}

func TestKeepsWhatFails(t *testing.T) {
	small := Documents(t.Context(), numbered(20), 1000, func(documents []map[string]any) bool {
		for _, d := range documents {
			if spec, ok := d["spec"].(map[string]any); ok && spec["number"] == int64(7) {
				return true
			}
		}
		return false
	})
	if len(small) != 1 {
		t.Errorf("%d documents are left", len(small))
	}
}

func TestEndsWithItsTriesAndItsTime(t *testing.T) {
	calls := 0
	count := func([]map[string]any) bool {
		calls++
		return false
	}
	Documents(t.Context(), numbered(20), 5, count)
	if calls != 5 {
		t.Errorf("%d of 5 tries were made", calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls = 0
	small := Documents(ctx, numbered(20), 1000, func([]map[string]any) bool {
		calls++
		cancel()
		return true
	})
	if calls != 1 || len(small) != 10 {
		t.Errorf("%d tries after the end, %d documents are left", calls-1, len(small))
	}
}
