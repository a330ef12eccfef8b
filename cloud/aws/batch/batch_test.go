package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/aws/batch"
)

var window = batch.CreateFleet()

// Tests that sleep run in a bubble of testing/synctest, where sleeping takes no time.

// recorder is a call that records its requests, and answers each request with its index.
type recorder struct {
	mu    sync.Mutex
	calls []string
	took  time.Duration
}

func (r *recorder) call(_ context.Context, requests []string) []batch.Result[int] {
	time.Sleep(r.took)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf("%s×%d", requests[0], len(requests)))
	results := make([]batch.Result[int], len(requests))
	for i := range results {
		results[i].Value = i
	}
	return results
}

func itself(s string) string { return s }

func TestEqualRequestsShareACall(t *testing.T) {
	t.Attr("covers", "A280")
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		b := batch.New(window, itself, r.call)
		var all sync.WaitGroup
		var sum atomic.Int64
		start := time.Now()
		for i := range 12 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 30 * time.Millisecond)
				got, err := b.Do(t.Context(), []string{"x", "y", "y"}[i%3])
				if err != nil {
					t.Error(err)
				}
				sum.Add(int64(got))
			})
		}
		all.Wait()
		slices.Sort(r.calls)
		if diff := cmp.Diff([]string{"x×4", "y×8"}, r.calls); diff != "" {
			t.Errorf("calls (-want +got)\n%s", diff)
		}
		if got, want := time.Since(start), 11*30*time.Millisecond+35*time.Millisecond; got != want {
			t.Errorf("it took %s, want %s", got, want)
		}
		if sum.Load() != 6+28 {
			t.Error("results went to the wrong callers")
		}
		if _, err := b.Do(t.Context(), "x"); err != nil || len(r.calls) != 3 {
			t.Errorf("a later request joined an old window: %v, %v", r.calls, err)
		}
	})
}

// TestWindows pins how long requests gather.
func TestWindows(t *testing.T) {
	for _, test := range []struct {
		got       batch.Options
		idle, max time.Duration
		items     int
	}{
		{batch.CreateFleet(), 35 * time.Millisecond, time.Second, 1000},
		{batch.DescribeInstances(), 100 * time.Millisecond, time.Second, 500},
		{batch.TerminateInstances(), 100 * time.Millisecond, time.Second, 500},
	} {
		if test.got.Idle != test.idle || test.got.Max != test.max || test.got.Items != test.items {
			t.Errorf("%+v, want %+v", test.got, test)
		}
	}
}

func TestAWindowEnds(t *testing.T) {
	for name, test := range map[string]struct {
		options batch.Options
		every   time.Duration
		first   time.Duration
		calls   int
	}{
		"by quiet":  {window, 40 * time.Millisecond, 35 * time.Millisecond, 50},
		"by length": {window, 20 * time.Millisecond, time.Second, 1},
		"by count":  {batch.Options{Idle: time.Second, Max: time.Minute, Items: 5}, 10 * time.Millisecond, 40 * time.Millisecond, 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{}
				var waited []time.Duration
				test.options.Observe = func(_ int, d time.Duration) { waited = append(waited, d) }
				b := batch.New(test.options, itself, r.call)
				var all sync.WaitGroup
				for i := range 50 {
					all.Go(func() {
						time.Sleep(time.Duration(i) * test.every)
						if _, err := b.Do(t.Context(), "x"); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if len(r.calls) != test.calls || waited[0] != test.first {
					t.Errorf("%d calls, the first after %s; want %d, %s", len(r.calls), waited[0], test.calls, test.first)
				}
			})
		})
	}
}

func TestCallsAreMeasuredAndBounded(t *testing.T) {
	t.Attr("covers", "A327")
	synctest.Test(t, func(t *testing.T) {
		var running, most, sizes atomic.Int64
		options := window
		options.Parallel = 10
		options.Observe = func(size int, _ time.Duration) { sizes.Add(int64(size)) }
		b := batch.New(options, itself, func(_ context.Context, requests []string) []batch.Result[int] {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return make([]batch.Result[int], len(requests))
		})
		start := time.Now()
		var all sync.WaitGroup
		for i := range 400 {
			all.Go(func() {
				if _, err := b.Do(t.Context(), fmt.Sprint(i%40)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if most.Load() != 10 || sizes.Load() != 400 || time.Since(start) > 4*time.Second+time.Second {
			t.Errorf("%d calls at a time for %d requests in %s", most.Load(), sizes.Load(), time.Since(start))
		}
	})
}

func TestErrorsAndMissingResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		b := batch.New(window, func(string) string { return "" }, func(_ context.Context, _ []string) []batch.Result[int] {
			return []batch.Result[int]{{Value: 1}, {Err: broken}}
		})
		got := map[string]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				_, err := b.Do(t.Context(), "x")
				mu.Lock()
				defer mu.Unlock()
				got[fmt.Sprint(err)]++
			})
		}
		all.Wait()
		if diff := cmp.Diff(map[string]int{"<nil>": 1, "broken": 1, "error making call": 3}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// TestGivingUp checks that a caller that cancels, even the first one, does not affect the others.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var seen []any
		b := batch.New(window, itself, func(ctx context.Context, requests []string) []batch.Result[int] {
			time.Sleep(time.Second)
			seen = append(seen, ctx.Value(key{}), ctx.Err())
			return make([]batch.Result[int], len(requests))
		})
		var all sync.WaitGroup
		do := func(ctx context.Context, want error) {
			all.Go(func() {
				if _, err := b.Do(ctx, "x"); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			})
			synctest.Wait()
		}
		first, stopFirst := context.WithCancel(context.WithValue(t.Context(), key{}, "first"))
		second, stopSecond := context.WithCancel(t.Context())
		do(first, nil) // it has the answer by then
		do(second, context.Canceled)
		do(t.Context(), nil)
		stopFirst()
		stopSecond()
		all.Wait()
		if diff := cmp.Diff([]any{"first", nil}, seen); diff != "" {
			t.Errorf("the context of the call (-want +got)\n%s", diff)
		}
	})
}

// shelf answers for the IDs that it has, and records the calls.
type shelf struct {
	mu    sync.Mutex
	has   []string
	fails func(ids []string) error
	calls []string
}

func (s *shelf) many(_ context.Context, ids []string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, strings.Join(ids, ","))
	if s.fails != nil {
		if err := s.fails(ids); err != nil {
			return nil, err
		}
	}
	out := map[string]string{}
	for _, id := range ids {
		if slices.Contains(s.has, id) {
			out[id] = "the " + id
		}
	}
	return out, nil
}

// ask requests ids concurrently and returns the answers, by ID.
func ask(t *testing.T, s *shelf, ids ...string) map[string]string {
	b := batch.NewByID(batch.DescribeInstances(), s.many)
	out := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			value, ok, err := b.Do(t.Context(), id)
			mu.Lock()
			defer mu.Unlock()
			out[id] += fmt.Sprintf("[%s %t %v]", value, ok, err)
		})
	}
	all.Wait()
	return out
}

func TestIDsShareACall(t *testing.T) {
	t.Attr("covers", "A325")
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{has: []string{"a", "b"}}
		got := ask(t, s, "b", "a", "b")
		if diff := cmp.Diff(map[string]string{"a": "[the a true <nil>]", "b": "[the b true <nil>][the b true <nil>]"}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if !slices.Equal(s.calls, []string{"a,b"}) {
			t.Errorf("calls %v", s.calls)
		}
	})
}

func TestIDsWithoutAnswer(t *testing.T) {
	t.Attr("covers", "A326")
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{has: []string{"a"}}
		got := ask(t, s, "a", "gone")
		if diff := cmp.Diff(map[string]string{"a": "[the a true <nil>]", "gone": "[ false <nil>]"}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if !slices.Equal(s.calls, []string{"a,gone", "gone"}) {
			t.Errorf("calls %v", s.calls)
		}
		// One bad ID fails the batch, but not the other answers.
		bad := &shelf{has: []string{"a", "b"}, fails: func(ids []string) error {
			if slices.Contains(ids, "bad") {
				return errors.New("malformed")
			}
			return nil
		}}
		got = ask(t, bad, "a", "b", "bad")
		if diff := cmp.Diff(map[string]string{"a": "[the a true <nil>]", "b": "[the b true <nil>]", "bad": "[ false malformed]"}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		down := &shelf{fails: func([]string) error { return errors.New("down") }}
		got = ask(t, down, "a", "b")
		if diff := cmp.Diff(map[string]string{"a": "[ false down]", "b": "[ false down]"}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
