package manager

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Faults are what goes wrong, as probabilities for each request or call. The zero value is a perfect cluster.
type Faults struct {
	// Conflict, Throttle and Refuse are writes without an effect: 409, 429 and 500. Unavailable is a read that gets 503.
	Conflict, Throttle, Refuse, Unavailable float64
	// Lose is a write that has its effect, and whose answer is lost.
	Lose float64
	// Cut ends a watch when it is read, Expire refuses to start one because its revision is gone, and Stall lets a watch stand still.
	Cut, Expire, Stall float64
	// NoCapacity makes an offering run out for some minutes at a launch, CloudError fails a call of the cloud, and LostLaunch loses the answer of a
	// launch.
	NoCapacity, CloudError, LostLaunch float64
}

// Everything goes wrong at times.
func Everything() Faults {
	return Faults{
		Conflict: 0.02, Throttle: 0.01, Refuse: 0.01, Unavailable: 0.002, Lose: 0.01, Cut: 0.001, Expire: 0.1, Stall: 0.002,
		NoCapacity: 0.1, CloudError: 0.05, LostLaunch: 0.02,
	}
}

// chance draws what happens. Any goroutine may draw, so that a seed does not replay a run.
type chance struct {
	mu     sync.Mutex
	rand   *rand.Rand
	faults Faults
	off    bool
	counts map[string]int
}

func newChance(seed uint64, f Faults) *chance {
	return &chance{rand: rand.New(rand.NewPCG(seed, 0)), faults: f, counts: map[string]int{}} //nolint:gosec // a simulation
}

// happens draws whether a fault happens, and counts it. name is that of the fault.
func (c *chance) happens(name string, rate func(*Faults) float64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off || c.rand.Float64() >= rate(&c.faults) {
		return false
	}
	c.counts[name]++
	return true
}

// stop ends all faults, or begins them again.
func (c *chance) stop(off bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = off
}

// between draws a duration.
func (c *chance) between(least, most time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return least + time.Duration(c.rand.Int64N(int64(most-least)))
}

// below draws a number from 0 to n-1.
func (c *chance) below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.IntN(n)
}
