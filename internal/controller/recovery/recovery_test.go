package recovery_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/controller/recovery"
)

// explode panics on behalf of a test; its name is in the stack.
func explode() { panic("the shelf is empty") }

func TestCallReturnsAPanicWithItsStack(t *testing.T) {
	err := recovery.Call(func() error { explode(); return nil })
	var p *recovery.Panic
	if !errors.As(err, &p) || err.Error() != "panic: the shelf is empty" {
		t.Fatalf("got %v, want a panic", err)
	}
	if !strings.HasPrefix(p.Stack, "panic(") || !strings.Contains(p.Stack, "explode") {
		t.Errorf("the stack does not start with the panic, or lacks its function:\n%s", p.Stack)
	}
	if err := recovery.Call(func() error { return errors.New("no") }); err == nil || err.Error() != "no" {
		t.Errorf("got %v, want the error of the function", err)
	}
}

// TestAPanicOfAGoroutineReachesItsCaller: with the stack of the goroutine, and after the other calls have ended.
func TestAPanicOfAGoroutineReachesItsCaller(t *testing.T) {
	ended := make(chan int, 3)
	err := recovery.Call(func() error {
		parallel.ForEach([]int{1, 2, 3}, 3, func(i int) error {
			if i == 2 {
				explode()
			}
			ended <- i
			return nil
		})
		return errors.New("the panic was lost")
	})
	var p *recovery.Panic
	if !errors.As(err, &p) || !strings.Contains(p.Stack, "explode") {
		t.Errorf("got %v, want the panic of the goroutine", err)
	}
	if len(ended) != 2 {
		t.Errorf("%d other calls ended, want 2", len(ended))
	}
}

// passes makes passes over the objects until one succeeds that leaves out nothing but bad objects, and returns how many there were.
func passes(t interface{ Fatalf(string, ...any) }, q *recovery.Quarantine, all []recovery.Item, bad map[string]bool, now time.Time) int {
	for n := 1; n <= 20*len(all)+20; n++ {
		out := q.Out(now)
		var in []recovery.Item
		fails, missing := false, 0
		for _, i := range all {
			if _, left := out[i.ID]; left {
				if !bad[i.ID] {
					missing++
				}
				continue
			}
			in = append(in, i)
			fails = fails || bad[i.ID]
		}
		if fails {
			q.Panicked(in, now)
			continue
		}
		q.Succeeded(in)
		if missing == 0 && !q.Searching() {
			return n
		}
	}
	t.Fatalf("objects that do not cause panics are still left out")
	return 0
}

func items(n int) []recovery.Item {
	out := make([]recovery.Item, n)
	for i := range out {
		out[i] = recovery.Item{ID: fmt.Sprintf("pod-%d", i), Created: int64(i)}
	}
	return out
}

// TestEveryCauseIsFoundAndNothingElseIsLeftOut: whatever number of objects makes passes panic.
func TestEveryCauseIsFoundAndNothingElseIsLeftOut(t *testing.T) {
	now := time.Unix(1000, 0)
	rapid.Check(t, func(t *rapid.T) {
		all := items(rapid.IntRange(1, 40).Draw(t, "objects"))
		bad := map[string]bool{}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, len(all)-1)).Draw(t, "bad") {
			bad[all[i].ID] = true
		}
		q := recovery.NewQuarantine()
		passes(t, q, all, bad, now)
		if out := q.Out(now); len(out) != len(bad) {
			t.Fatalf("%d are left out, want the %d bad ones", len(out), len(bad))
		}
	})
	q := recovery.NewQuarantine()
	if n := passes(t, q, items(1000), map[string]bool{"pod-990": true}, now); n > 25 {
		t.Errorf("it took %d passes to find one cause among 1000 objects, want 25 at most", n)
	}
}

func TestACauseIsLeftOutForLongerEachTime(t *testing.T) {
	now := time.Unix(1000, 0)
	q := recovery.NewQuarantine()
	all, bad := items(8), map[string]bool{"pod-3": true}
	passes(t, q, all, bad, now)
	for _, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		if until := q.Out(now)["pod-3"]; until.Sub(now) != want {
			t.Fatalf("it is left out for %s, want %s", until.Sub(now), want)
		}
		now = now.Add(want)
		if len(q.Out(now)) != 0 {
			t.Fatal("it does not return")
		}
		if left := q.Panicked(all, now); len(left) != 1 || left[0] != "pod-3" {
			t.Fatalf("a known cause panics again, and %v are left out", left)
		}
	}
	now = now.Add(time.Hour)
	q.Succeeded(all)
	if left := q.Panicked(all, now); len(left) != 0 {
		t.Errorf("a single panic after a success leaves out %v", left)
	}
	q.Keep(func(string) bool { return false })
	if len(q.Out(now)) != 0 || q.Searching() {
		t.Error("objects that are gone are remembered")
	}
}
