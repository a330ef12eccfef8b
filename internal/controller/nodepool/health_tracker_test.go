package nodepool

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

func TestOutcomes(t *testing.T) {
	t.Attr("covers", "C188 C189 C190 C192 C194 L396")
	for name, c := range map[string]struct {
		sequence string // s: success, f: failure, each of another claim; r: the last one reported again
		want     health
	}{
		"nothing is known":                     {"", unknown},
		"one success":                          {"s", healthy},
		"one failure":                          {"f", healthy},
		"two failures":                         {"ff", unhealthy},
		"two failures and one success":         {"ffs", unhealthy},
		"the oldest is forgotten":              {"ffsss", healthy},
		"a failure reported twice counts once": {"fr", healthy},
		"a success reported twice counts once": {"ffsrr", unhealthy},
	} {
		t.Run(name, func(t *testing.T) {
			var o outcomes
			var last outcome
			for i, letter := range c.sequence {
				if letter != 'r' {
					last = outcome{claim: types.UID(fmt.Sprint(i)), failed: letter == 'f'}
				}
				before := fmt.Sprint(o)
				next := o.with(last)
				if fmt.Sprint(o) != before {
					t.Error("a dry run changed the memory")
				}
				o = next
			}
			if got := o.health(); got != c.want {
				t.Errorf("health %v, want %v", got, c.want)
			}
		})
	}
}

func TestTracker(t *testing.T) {
	t.Attr("covers", "C191 L396")
	var memory healthTracker
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() { memory.add("sick", "1", outcome{claim: types.UID(fmt.Sprint(i)), failed: true}) })
		wg.Go(func() { memory.add("well", "2", outcome{claim: types.UID(fmt.Sprint(i))}) })
	}
	wg.Wait()
	if memory.of("sick", "1").health() != unhealthy || memory.of("well", "2").health() != healthy {
		t.Error("NodePools are mixed up")
	}
	if memory.of("sick", "3").health() != unknown {
		t.Error("a recreated NodePool inherits")
	}
	memory.forget("sick")
	if memory.of("sick", "1").health() != unknown {
		t.Error("it was not forgotten")
	}
}

func TestThePoolTakesItsMemoryWithIt(t *testing.T) {
	t.Attr("covers", "W031")
	pool := fakecluster.Pool()
	w := fakecluster.New(t, pool)
	h := NewRegistrationHealth(w.Shared)
	h.tracker.add(pool.Name, pool.UID, outcome{claim: "a", failed: true})
	w.Delete(pool)
	w.Run(h, pool)
	if len(h.tracker.pools) != 0 {
		t.Errorf("%d pools are remembered", len(h.tracker.pools))
	}
}
