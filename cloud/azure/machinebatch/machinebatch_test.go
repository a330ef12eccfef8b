package machinebatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/machinebatch"
)

// sent is a request, with the time since the start of the test.
type sent struct {
	after time.Duration
	names string
	batch []machineapi.InBatch
	body  *aksmachine.Body
}

// sender records what is sent.
type sender struct {
	began  time.Time
	answer func(context.Context, []machineapi.InBatch) error

	mu   sync.Mutex
	sent []sent
}

// CreateBatch implements machinebatch.Sender.
func (s *sender) CreateBatch(ctx context.Context, batch []machineapi.InBatch, body any) error {
	var names []string
	for _, m := range batch {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	s.mu.Lock()
	s.sent = append(s.sent, sent{time.Since(s.began), strings.Join(names, " "), batch, body.(*aksmachine.Body)})
	s.mu.Unlock()
	if s.answer != nil {
		return s.answer(ctx, batch)
	}
	return nil
}

// all are the requests in the order in which they were sent.
func (s *sender) all() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// requests are the names of each request, sorted.
func (s *sender) requests() []string {
	var out []string
	for _, r := range s.all() {
		out = append(out, r.names)
	}
	slices.Sort(out)
	return out
}

// world is a batcher with a sender, in simulated time.
type world struct {
	*sender
	*machinebatch.Batcher
	end context.CancelFunc

	callers sync.WaitGroup
	results sync.Map // errors by name
}

// simulate runs a test with batches of at most three, which close after one quiet second, or after five.
func simulate(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{sender: &sender{began: time.Now()}}
		w.Batcher = machinebatch.New(machinebatch.Options{Sender: w.sender, Idle: time.Second, Max: 5 * time.Second, Size: 3, Clock: clock.RealClock{}})
		ctx, cancel := context.WithCancel(t.Context())
		w.end = cancel
		done := make(chan struct{})
		go func() { defer close(done); _ = w.Start(ctx) }()
		test(t, w)
		cancel()
		w.callers.Wait()
		<-done
	})
}

// request requests an AKSMachine in the background.
func (w *world) request(ctx context.Context, name string, body *aksmachine.Body) {
	w.callers.Go(func() { w.results.Store(name, w.Create(ctx, name, body)) })
	synctest.Wait()
}

// result is the error of a request that has ended.
func (w *world) result(t *testing.T, name string) error {
	t.Helper()
	value, ok := w.results.Load(name)
	if !ok {
		t.Fatalf("%s still waits", name)
	}
	err, _ := value.(error)
	return err
}

// body is a body that a test changes.
func body(change ...func(*aksmachine.Body)) *aksmachine.Body {
	out := &aksmachine.Body{Zones: []string{"1"}, Properties: aksmachine.Properties{Hardware: aksmachine.Hardware{VMSize: "small"}}}
	for _, c := range change {
		c(out)
	}
	return out
}

func tagged(value string) func(*aksmachine.Body) {
	return func(b *aksmachine.Body) { b.Properties.Tags = map[string]string{"tag": value} }
}

func in(zone string) func(*aksmachine.Body) {
	return func(b *aksmachine.Body) { b.Zones = []string{zone} }
}

func ultra(b *aksmachine.Body) { b.Properties.Hardware.UltraSSDEnabled = true }

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// TestWhatABatchShares checks that tags do not split batches, zones only with ultra disks, and everything else always.
func TestWhatABatchShares(t *testing.T) {
	t.Attr("covers", "Z160 Z231")
	for name, test := range map[string]struct {
		first, second *aksmachine.Body
		shared        bool
	}{
		"same":                      {body(), body(), true},
		"tags":                      {body(tagged("a")), body(tagged("b")), true},
		"zones":                     {body(in("1")), body(in("2")), true},
		"no zone":                   {body(in("1")), body(func(b *aksmachine.Body) { b.Zones = []string{} }), true},
		"zones with ultra disks":    {body(ultra, in("1")), body(ultra, in("2")), false},
		"one zone with ultra disks": {body(ultra), body(ultra, tagged("b")), true},
		"size":                      {body(), body(func(b *aksmachine.Body) { b.Properties.Hardware.VMSize = "large" }), false},
		"priority":                  {body(), body(func(b *aksmachine.Body) { b.Properties.Priority = "Spot" }), false},
		"labels":                    {body(), body(func(b *aksmachine.Body) { b.Properties.Kubernetes.NodeLabels = map[string]string{"a": "b"} }), false},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, w *world) {
				w.request(t.Context(), "one", test.first)
				w.request(t.Context(), "two", test.second)
				w.callers.Wait()
				if test.shared {
					want(t, w.requests(), "one two")
				} else {
					want(t, w.requests(), "one", "two")
				}
				for _, request := range w.all() {
					if request.body.Properties.Tags != nil || request.body.Zones == nil || len(request.body.Zones) > 0 != test.first.Properties.Hardware.UltraSSDEnabled {
						t.Errorf("sent %+v", request.body)
					}
					for _, m := range request.batch {
						source := map[string]*aksmachine.Body{"one": test.first, "two": test.second}[m.Name]
						if !slices.Equal(m.Zones, source.Zones) || m.Tags["tag"] != source.Properties.Tags["tag"] {
							t.Errorf("sent %+v", m)
						}
					}
				}
			})
		})
	}
}

func TestBatchesCloseWhenNothingComes(t *testing.T) {
	t.Attr("covers", "Z161")
	simulate(t, func(t *testing.T, w *world) {
		w.request(t.Context(), "one", body())
		time.Sleep(900 * time.Millisecond)
		w.request(t.Context(), "two", body(ultra)) // any request is one
		w.callers.Wait()
		if at := w.all()[0].after; len(w.all()) != 2 || at != 1900*time.Millisecond {
			t.Errorf("%d requests, the first after %s", len(w.all()), at)
		}
		w.request(t.Context(), "three", body())
		w.callers.Wait()
		if at := w.all()[2].after; at != 2900*time.Millisecond {
			t.Errorf("the next request is sent after %s", at)
		}
	})
}

func TestBatchesCloseAfterAWhile(t *testing.T) {
	t.Attr("covers", "Z161")
	simulate(t, func(t *testing.T, w *world) {
		for i := range 8 {
			w.request(t.Context(), fmt.Sprint(i), body(func(b *aksmachine.Body) { b.Properties.Hardware.VMSize = fmt.Sprint(i % 4) }))
			time.Sleep(800 * time.Millisecond)
		}
		w.callers.Wait()
		if at := w.all()[0].after; at != 5*time.Second {
			t.Errorf("the first request is sent after %s", at)
		}
		// The next batch has its own five seconds, and closes one second after the last request.
		if at := w.all()[len(w.all())-1].after; at != 6600*time.Millisecond {
			t.Errorf("the last request is sent after %s", at)
		}
	})
}

// TestBatchesAreNeverTooLarge checks that a full batch is sent at once, with the others, and what comes meanwhile is in the next one.
func TestBatchesAreNeverTooLarge(t *testing.T) {
	t.Attr("covers", "Z161 Z228")
	simulate(t, func(t *testing.T, w *world) {
		hold := make(chan struct{})
		w.answer = func(context.Context, []machineapi.InBatch) error { <-hold; return nil }
		w.request(t.Context(), "other", body(ultra))
		for i := range 7 {
			w.request(t.Context(), fmt.Sprint(i), body())
		}
		want(t, w.requests(), "0 1 2", "3 4 5", "other")
		if at := w.all()[2].after; at != 0 {
			t.Errorf("sent after %s", at)
		}
		close(hold)
		w.callers.Wait()
		want(t, w.requests(), "0 1 2", "3 4 5", "6", "other")
	})
	simulate(t, func(t *testing.T, w *world) {
		for i := range 50 { // all at once
			w.callers.Go(func() { _ = w.Create(t.Context(), fmt.Sprint(i), body()) })
		}
		w.callers.Wait()
		for _, request := range w.all() {
			if len(request.batch) > 3 {
				t.Errorf("a batch has %d", len(request.batch))
			}
		}
	})
}

func TestACallerThatComesAgainWaitsForTheSame(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		w.request(ctx, "one", body())
		cancel()
		synctest.Wait()
		w.request(t.Context(), "one", body())
		w.request(t.Context(), "two", body())
		w.callers.Wait()
		want(t, w.requests(), "one two")
		if err := w.result(t, "one"); err != nil {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestCallersMayLeave(t *testing.T) {
	t.Attr("covers", "Z229")
	simulate(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		w.request(ctx, "one", body())
		w.request(t.Context(), "two", body())
		cancel()
		synctest.Wait()
		if err := w.result(t, "one"); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		w.callers.Wait()
		want(t, w.requests(), "one two")
		if err := w.result(t, "two"); err != nil {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestShutdown checks that nothing is sent any more, and that no caller waits.
func TestShutdown(t *testing.T) {
	t.Attr("covers", "Z161 Z230")
	simulate(t, func(t *testing.T, w *world) {
		w.answer = func(ctx context.Context, _ []machineapi.InBatch) error { <-ctx.Done(); return ctx.Err() }
		for _, name := range []string{"sent 1", "sent 2", "sent 3"} {
			w.request(t.Context(), name, body())
		}
		w.request(t.Context(), "one", body())
		w.request(t.Context(), "two", body(ultra))
		w.end()
		synctest.Wait()
		w.request(t.Context(), "late", body())
		w.callers.Wait()
		want(t, w.requests(), "sent 1 sent 2 sent 3")
		for _, name := range []string{"one", "two", "late"} {
			if err := w.result(t, name); !errors.Is(err, machinebatch.ErrShuttingDown) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := w.result(t, "sent 1"); !errors.Is(err, context.Canceled) || errors.Is(err, machinebatch.ErrShuttingDown) {
			t.Errorf("the error of what was sent is %v", err)
		}
	})
}

func TestCallersWaitForTheStart(t *testing.T) {
	b := machinebatch.New(machinebatch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Create(ctx, "one", body()); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestAPanicIsAnErrorOfEach(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.answer = func(context.Context, []machineapi.InBatch) error { panic("out of range") }
		w.request(t.Context(), "one", body())
		w.request(t.Context(), "two", body())
		w.callers.Wait()
		for _, name := range []string{"one", "two"} {
			if err := w.result(t, name); err == nil || !strings.Contains(err.Error(), "out of range") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
