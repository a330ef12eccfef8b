package provisioning

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// outlooksOf runs passes that take no time for pods of these shapes, one after each pause, and returns what they expect. The pods wait
// for their nodes all the time.
func outlooksOf(t *testing.T, pause time.Duration, shapes []*model.Shape) (out []outlook) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, s := NewBatcher(clock.RealClock{}, time.Second, 10*time.Second), newSeries(10*time.Second)
		var mu sync.Mutex
		var waiting []arrival
		var told sync.WaitGroup
		told.Go(func() {
			for i, shape := range shapes {
				mu.Lock()
				waiting = append(waiting, arrival{shape, time.Now()})
				mu.Unlock()
				b.Trigger(string(rune('a' + i)))
				time.Sleep(pause) // of the bubble's clock: no real time passes
			}
		})
		for start := time.Now(); time.Since(start) < 2*time.Minute; {
			if b.Wait(t.Context()) {
				mu.Lock()
				out = append(out, s.outlook(b.lastWindow(), waiting))
				mu.Unlock()
			}
		}
		told.Wait()
	})
	return out
}

func TestBatchesTellWhatToExpect(t *testing.T) {
	const s = time.Second
	web, worker := &model.Shape{Priority: 1}, &model.Shape{Priority: 2}
	others := func(n int) (out []*model.Shape) {
		for i := range n {
			out = append(out, &model.Shape{Priority: int32(i)})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		pause  time.Duration
		shapes []*model.Shape
		want   []outlook
	}{
		{"a batch that reaches its maximum is followed by more", s / 2, slices.Repeat([]*model.Shape{web}, 23), []outlook{growing, alone}},
		{"so it is with pods of any shape", s / 2, others(23), []outlook{growing, alone}},
		{"a batch that closed after a long wait ends the series", 3 * s / 2, slices.Repeat([]*model.Shape{web}, 12), []outlook{alone, growing, ending}},
		{"but not that of other pods", 3 * s / 2, others(12), []outlook{alone, growing, alone}},
		{"the third batch in a row is followed by more", 4 * s, slices.Repeat([]*model.Shape{web}, 4), []outlook{alone, alone, growing, growing}},
		{"batches of other pods are not", 4 * s, others(4), []outlook{alone, alone, alone, alone}},
		{
			"two workloads that grow in turns are two series", 4 * s, slices.Repeat([]*model.Shape{web, worker}, 3),
			[]outlook{alone, alone, alone, alone, growing, growing},
		},
		{"batches far apart have nothing to do with each other", 11 * s, slices.Repeat([]*model.Shape{web}, 4), []outlook{alone, alone, alone, alone}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outlooksOf(t, c.pause, c.shapes); !slices.Equal(got, c.want) {
				t.Errorf("outlooks %v, want %v", got, c.want)
			}
		})
	}
}

func TestHalfOfABatchDecides(t *testing.T) {
	web, worker := &model.Shape{Priority: 1}, &model.Shape{Priority: 2}
	for _, c := range []struct {
		name         string
		web, workers int
		want         outlook
	}{
		{"more than half has come before", 3, 2, growing},
		{"half has come before", 2, 2, growing},
		{"less than half has come before", 2, 3, alone},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, now, closed := newSeries(10*time.Second), time.Unix(1, 0), window{arrived: true}
			for range 2 {
				s.outlook(closed, []arrival{{web, now}})
				now = now.Add(time.Second)
			}
			third := append(slices.Repeat([]arrival{{web, now}}, c.web), slices.Repeat([]arrival{{worker, now}}, c.workers)...)
			if got := s.outlook(closed, third); got != c.want {
				t.Errorf("outlook %v, want %v", got, c.want)
			}
		})
	}
}

// TestSeriesForgetShapes: a controller that runs for months sees many workloads.
func TestSeriesForgetShapes(t *testing.T) {
	s, now := newSeries(10*time.Second), time.Unix(1, 0)
	for range 100 {
		s.outlook(window{arrived: true}, []arrival{{&model.Shape{}, now}})
		now = now.Add(5 * time.Second)
	}
	if len(s.shapes) > 3 {
		t.Errorf("%d shapes are kept, want those of the last ten seconds", len(s.shapes))
	}
}
