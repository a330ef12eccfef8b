package manager

import (
	"flag"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

var (
	seed  = flag.Uint64("seed", 1, "what faults and users are drawn from")
	days  = flag.Float64("days", 0.25, "simulated days, each with six hours of rest at the end")
	every = flag.Duration("every", 4*time.Minute, "the mean time between two actions of users")
	logs  = flag.Bool("logs", false, "print the log of the controllers")
)

func TestMain(m *testing.M) {
	// The loggers of libraries are global, and may be set once only, before a goroutine uses them.
	ctrllog.SetLogger(logr.Discard())
	klog.SetLoggerWithOptions(logr.Discard(), klog.ContextualLogger(true))
	// The last handler of errors limits their rate by a global time, which is not that of a bubble.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	os.Exit(m.Run())
}

const (
	// settleBound is how long everything may take to come to rest after the last fault, and restBound how long nothing may have moved then.
	settleBound = 40 * time.Minute
	restBound   = 5 * time.Minute
)

func handler() slog.Handler {
	if *logs {
		return slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})
	}
	return slog.DiscardHandler
}

// TestDays: a cluster with two replicas lives for days, and each day comes to rest.
func TestDays(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Settings{Seed: *seed, Faults: Everything(), Log: handler()})
		if err != nil {
			t.Fatal(err)
		}
		defer time.Sleep(time.Minute) // what waits for a retry ends: a bubble fails if a goroutine stays
		defer c.Stop()
		if err := c.begin(); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for left := *days; left > 0; left-- {
			day := time.Duration(min(left, 1) * 24 * float64(time.Hour))
			if err := c.use(day*3/4, *every); err != nil {
				t.Fatal(err)
			}
			comeToRest(t, c, day/4)
		}
		for _, v := range c.Violations() {
			t.Error(v)
		}
		report(t, c, time.Since(begin))
	})
	t.Logf("%s of real time", time.Since(began).Round(100*time.Millisecond))
}

// comeToRest ends faults, and checks that the cluster comes to rest and stays there.
func comeToRest(t *testing.T, c *Cluster, quiet time.Duration) {
	t.Helper()
	if err := c.calm(); err != nil {
		t.Fatal(err)
	}
	for since := time.Now(); ; {
		time.Sleep(time.Minute)
		open, moved := c.look()
		if len(open) == 0 && time.Since(moved) > restBound {
			break
		}
		if time.Since(since) > settleBound {
			t.Errorf("not at rest: %v, and the last NodeClaim came or went %s ago", open, time.Since(moved))
			return
		}
	}
	_, before := c.look()
	requests := c.traffic.sum()
	c.log.rest(true)
	time.Sleep(quiet)
	c.log.rest(false)
	if _, after := c.look(); after.After(before) {
		t.Errorf("a NodeClaim came or went %s before the end of a quiet time", time.Since(after))
	}
	for _, line := range c.log.unquiet() {
		t.Errorf("logged while nothing failed: %s", line)
	}
	t.Logf("at rest: %.1f requests a minute, %d goroutines", float64(c.traffic.sum()-requests)/quiet.Minutes(), runtime.NumGoroutine())
	c.chance.stop(false)
	lifetime := expireAfter
	if err := c.expire(&lifetime); err != nil {
		t.Fatal(err)
	}
}

// report prints what happened.
func report(t *testing.T, c *Cluster, simulated time.Duration) {
	t.Helper()
	nodeHours, peak := c.nodes()
	t.Logf("%s simulated, %.0f node-hours, %d nodes at most, %d instances launched, %d requests, %d times another holder of the lease",
		simulated, nodeHours, peak, c.datacenter.launched, c.traffic.sum(), c.leaders.changes)
	counts := c.Counts()
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[name], name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.log.lines)) {
		t.Logf("%6d logged: %s", c.log.lines[name], name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.traffic.total)) {
		t.Logf("%8d %s", c.traffic.total[name], name)
	}
}
