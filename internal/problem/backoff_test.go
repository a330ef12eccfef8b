package problem

import (
	"testing"
	"time"
)

// TestBackoffsAreReproducible: the same failures give the same backoffs, and different nodes are not retried together.
func TestBackoffsAreReproducible(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	ends := func(name string) (out []time.Duration) {
		b := NewBackoffs()
		for now := start; len(out) < 8; {
			b.Fail(name, now)
			b.Fail(name, now.Add(time.Second)) // during the backoff: ignored
			end := b.NextEnd(now)
			out = append(out, end.Sub(now))
			now = end
		}
		return out
	}
	first, again, other := ends("node-a"), ends("node-a"), ends("node-b")
	differ := false
	for i, delay := range first {
		if delay != again[i] {
			t.Errorf("failure %d: a delay of %s, then of %s", i+1, delay, again[i])
		}
		differ = differ || delay != other[i]
		low := min(MinBackoff<<i, MaxBackoff)
		if high := min(low+low/5, low+MaxBackoff); delay < low || delay > high {
			t.Errorf("failure %d: a delay of %s, want %s to %s", i+1, delay, low, high)
		}
	}
	if !differ {
		t.Errorf("two nodes have the same delays: %v", first)
	}
}
