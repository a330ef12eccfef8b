package manager

import (
	"flag"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
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
	seed      = flag.Uint64("seed", 1, "what faults and users are drawn from")
	days      = flag.Float64("days", 0.03, "simulated days, each with users for three quarters and rest for one")
	every     = flag.Duration("every", 4*time.Minute, "the mean time between two actions of users")
	handovers = flag.Duration("handovers", 10*time.Minute, "the simulated time in which replicas come and go")

	logs = flag.Bool("logs", false, "print the log of the controllers")
)

func TestMain(m *testing.M) {
	// The loggers of libraries are global, and may be set once only, before a goroutine uses them.
	ctrllog.SetLogger(logr.Discard())
	klog.SetLoggerWithOptions(logr.Discard(), klog.ContextualLogger(true))
	// The last handler of errors limits their rate by a global time, which is not that of a bubble.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300)
	}
	os.Exit(m.Run())
}

const (
	// settleBound is how long everything may take to come to rest after the last fault, and restBound how long nothing may have moved then.
	settleBound = 40 * time.Minute
	restBound   = 5 * time.Minute
	// aftermath is how long conditions and events that tell of what happened may follow.
	aftermath = 15 * time.Minute
	// restRequests is how many requests there may be in an hour at rest, beside the lease and watches that end after some minutes. Discovery is asked for
	// once a minute, to see whether VerticalPodAutoscalers are served. There may be restOfNode more for each node: events are repeated, on the Node and
	// on the NodeClaim. A short time may have one repetition of all nodes more than its share, which is atOnce for each.
	restRequests, restOfNode, atOnce = 120, 6, 2
	// mostMore is how many more goroutines there may be at rest than at the start: informers begin when they are needed.
	mostMore = 100
)

func handler() slog.Handler {
	if *logs {
		return slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})
	}
	return slog.DiscardHandler
}

// TestDays: a cluster with two replicas lives for days, and each day comes to rest.
func TestDays(t *testing.T) {
	live(t, Settings{}, func(t *testing.T, c *Cluster) {
		for left := *days; left > 0; left-- {
			day := time.Duration(min(left, 1) * 24 * float64(time.Hour))
			c.use(t, day*3/4, habits{every: *every, disturb: 8})
			comeToRest(t, c, day/4)
		}
	})
}

// TestHandovers: replicas end, in order or not, and lose the API server or the lease, as soon as the last has recovered.
func TestHandovers(t *testing.T) {
	live(t, Settings{}, func(t *testing.T, c *Cluster) {
		c.use(t, *handovers, habits{every: time.Minute, disturb: 60})
		comeToRest(t, c, time.Minute)
	})
}

// TestSimulatedProvider: the cloud provider kwok, with the controller that lets Nodes join.
func TestSimulatedProvider(t *testing.T) {
	live(t, Settings{Simulated: true}, func(t *testing.T, c *Cluster) {
		c.use(t, *handovers, habits{every: time.Minute, disturb: 20})
		comeToRest(t, c, time.Minute)
	})
}

// live runs a cluster in a bubble, which fails if a goroutine is left. Sleeping takes no real time there: it lets simulated time pass.
func live(t *testing.T, settings Settings, happen func(*testing.T, *Cluster)) {
	settings.Seed, settings.Faults, settings.Log = *seed, Everything(), handler()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(settings)
		if err != nil {
			t.Fatal(err)
		}
		defer time.Sleep(time.Minute) // what waits for a retry ends
		defer c.Stop()
		if err := c.begin(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // both replicas have started
		begin, goroutines := time.Now(), runtime.NumGoroutine()
		happen(t, c)
		if n := runtime.NumGoroutine(); n > goroutines+mostMore {
			t.Errorf("%d goroutines at rest, %d at the start", n, goroutines)
		}
		for _, v := range c.Violations() {
			t.Error(v)
		}
		report(t, c, time.Since(begin))
	})
	t.Logf("%s of real time", time.Since(began).Round(100*time.Millisecond))
}

// comeToRest ends faults, and checks that the cluster comes to rest and stays there. It sleeps for simulated time, as live does.
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
	time.Sleep(aftermath)
	_, before := c.look()
	requests := c.traffic.snapshot()
	c.log.rest(true)
	time.Sleep(quiet)
	c.log.rest(false)
	if _, after := c.look(); after.After(before) {
		t.Errorf("a NodeClaim came or went %s before the end of a quiet time", time.Since(after))
	}
	for _, line := range c.log.unquiet() {
		t.Errorf("logged while nothing failed: %s", line)
	}
	others, all := c.traffic.since(requests)
	sum := 0
	for _, n := range others {
		sum += n
	}
	if nodes := float64(c.nodeCount()); float64(sum) > (restRequests+restOfNode*nodes)*quiet.Hours()+atOnce*nodes {
		t.Errorf("%d requests in %s at rest: %v", sum, quiet.Round(time.Second), others)
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("at rest for %s: %.1f requests a minute, of which %v concern neither the lease nor watches; %d goroutines, %d MiB live",
		quiet.Round(time.Second), float64(all)/quiet.Minutes(), others, runtime.NumGoroutine(), memory.HeapAlloc>>20)
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
	_, requests := c.traffic.since(nil)
	t.Logf("%s simulated, %.0f node-hours, %d nodes at most, %d instances launched, %d requests, %d times another holder of the lease",
		simulated, nodeHours, peak, c.datacenter.total(), requests, c.leaders.holders())
	for _, counts := range []map[string]int{c.Counts(), c.log.counts(), c.traffic.snapshot()} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			t.Logf("%8d %s", counts[name], name)
		}
	}
}
