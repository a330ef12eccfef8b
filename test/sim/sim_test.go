package sim

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seed      = flag.Uint64("seed", 1, "the first seed")
	seeds     = flag.Int("seeds", 1, "how many seeds")
	hours     = flag.Float64("hours", 0.06, "simulated hours with faults, before those of rest")
	quiet     = flag.Duration("quiet", 5*time.Minute, "simulated time in which nothing may move, at the end")
	set       = flag.String("set", "Types=24 MaxPods=60 Every=20s", "faults and properties of the cluster, by field: \"LostLaunch=0.3 Static=4\"")
	first     = flag.Bool("first", false, "end a seed at its first violation")
	happening = flag.String("incident", "", "the incident whose events happen, by its name")

	shrink   = flag.Bool("shrink", false, "reduce the choices of the seed to those that its first violation needs, and print the case")
	shrinkTo = flag.String("shrinkto", "", "the file that gets the case; empty for standard output")
	most     = flag.Int("shrinkruns", 400, "how many runs a reduction may take")
	file     = flag.String("case", "", "a file with a case that is run instead of those of testdata")

	logs = flag.Bool("logs", false, "print the log of the controllers")
)

// TestMain: a simulation allocates much and keeps little.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(600)
	}
	os.Exit(m.Run())
}

// everything goes wrong at times.
func everything() Faults {
	return Faults{
		MinCall: time.Millisecond, MaxCall: 20 * time.Millisecond, MinLag: time.Millisecond, MaxLag: 100 * time.Millisecond,
		Conflict: 0.02, Throttle: 0.01, Refuse: 0.01, Lose: 0.01, Crash: 0.002,
		Handover: 0.001, MaxOverlap: 2 * time.Second, Relist: 0.01, Stall: 0.005, MaxStall: 5 * time.Second, Duplicate: 0.02, ClockJump: 0.001, MaxJump: 20 * time.Second, MaxListLag: 20 * time.Second,
		NoCapacity: 0.1, CloudError: 0.05, LostLaunch: 0.02,
		LostReboot: 0.1, RefuseReboot: 0.05, NoReturn: 0.05,
	}
}

// TestInvariants: whatever goes wrong, the invariants hold, and the cluster comes to rest when it stops.
func TestInvariants(t *testing.T) {
	steps, restarts, launched, nodeHours, simulated, faults := 0, 0, 0, 0.0, 0.0, map[string]int{}
	violations := 0
	for s := *seed; s < *seed+uint64(*seeds); s++ { //nolint:gosec // a number of seeds
		c := mustRun(t, simulation{seed: s, set: *set, hours: *hours, quiet: *quiet, first: *first, incident: incidentOf(t, *happening)})
		for _, v := range c.Violations {
			t.Errorf("seed %d: %s\nreplay: make sim SEED=%d SEEDS=1 HOURS=%v SET='%s'", s, v, s, *hours, *set)
		}
		simulated += c.Hours
		violations += len(c.Violations)
		steps, restarts, launched, nodeHours = steps+c.World.Trace.Steps, restarts+c.Restarts, launched+c.Datacenter.Launched(), nodeHours+c.NodeHours
		for name, n := range c.Faults.Counts {
			faults[name] += n
		}
	}
	t.Logf("%d seeds, simulated %.2f h, %d steps, %.0f node-hours, %d launches, %d restarts, %d violations", *seeds, simulated, steps, nodeHours, launched, restarts, violations)
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		t.Logf("%6d %s", faults[name], name)
	}
	if launched == 0 || nodeHours == 0 {
		t.Error("nothing happened")
	}
}

// TestInvariantsAreDocumented: docs/reliability.md says what each invariant is.
func TestInvariantsAreDocumented(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\.violated\("([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			if found++; !strings.Contains(string(page), name[1]) {
				t.Errorf("docs/reliability.md does not mention the invariant %q", name[1])
			}
		}
	}
	if found < 40 {
		t.Errorf("found %d invariants only", found)
	}
}

// TestSameSeed: two runs of a seed take the same steps and make the same writes, on one processor and on four.
func TestSameSeed(t *testing.T) {
	processors := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(processors)
	steps, launched := 0, 0
	for n := *seed; n < *seed+uint64(*seeds); n++ { //nolint:gosec // a number of seeds
		s := simulation{seed: n, set: *set, hours: *hours / 2, quiet: *quiet, recorded: true}
		runtime.GOMAXPROCS(1)
		a := mustRun(t, s)
		runtime.GOMAXPROCS(4)
		b := mustRun(t, s)
		steps, launched = steps+a.World.Trace.Steps, launched+a.Datacenter.Launched()
		if a.World.Trace.Hash() != b.World.Trace.Hash() {
			t.Errorf("seed %d: %s", n, firstDifference(a.World.Trace, b.World.Trace))
		}
	}
	t.Logf("%d seeds twice, %d steps and %d launches each time", *seeds, steps, launched)
}

// firstDifference shows where two runs part.
func firstDifference(a, b *Trace) string {
	for i := range min(len(a.Lines), len(b.Lines)) {
		if a.Lines[i] != b.Lines[i] {
			show := func(lines []string) string { return strings.Join(lines[max(0, i-4):min(len(lines), i+14)], "\n") }
			return fmt.Sprintf("step %d differs:\n%s\n\nthe second time:\n%s", i, show(a.Lines), show(b.Lines))
		}
	}
	return fmt.Sprintf("one run has %d steps, the other %d", len(a.Lines), len(b.Lines))
}
