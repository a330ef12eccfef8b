package loop_test

import (
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/controller/loop"
)

func TestMemo(t *testing.T) {
	start := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	m := loop.NewMemo[string, int](time.Minute)
	m.Put("a", 1, start)
	m.Put("b", 2, start.Add(30*time.Second))
	for _, c := range []struct {
		key  string
		at   time.Duration
		want int
		rest time.Duration
	}{{"a", 0, 1, time.Minute}, {"a", 59 * time.Second, 1, time.Second}, {"a", time.Minute, 0, 0}, {"b", time.Minute, 2, 30 * time.Second}, {"c", 0, 0, 0}} {
		got, rest := m.GetWithRest(c.key, start.Add(c.at))
		if _, ok := m.Get(c.key, start.Add(c.at)); got != c.want || rest != c.rest || ok != (c.rest > 0) {
			t.Errorf("%s after %v: %d for %v", c.key, c.at, got, rest)
		}
	}
	m.Drop("b")
	if _, ok := m.Get("b", start); ok {
		t.Error("b was not dropped")
	}
}
