package sim

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	scene      = flag.String("exhaust", "", "the scene whose schedules are explored; all of them if it is \"all\", and none if it is empty")
	depth      = flag.Int("depth", 50, "how many choices of a run are explored")
	deviations = flag.Int("deviations", 1, "how many choices of a run may differ from the usual order")
	verify     = flag.Bool("verify", false, "run on where a state is known, and check that it goes on as the first time")
	limit      = flag.Duration("limit", 0, "how long a scene is explored; 0 for no limit")
)

// explored is a run of a scene with a plan.
type explored struct {
	*explorer

	violation, broken string
	steps             int
	took              time.Duration
	trace             *Trace
}

// run runs a scene with a plan. known ends it early; nil does not.
func (x *exploration) run(t *testing.T, plan []Choice, depth int, known func(int, Point) bool) (out explored) {
	t.Helper()
	e := &explorer{alphabet: &x.alphabet, depth: depth, plan: map[Choice]bool{}, seen: map[string]int{}, known: known}
	for _, c := range plan {
		e.plan[c] = true
	}
	if known == nil {
		e.known = func(int, Point) bool { return false }
	}
	began := time.Now()
	out.explorer = e
	synctest.Test(t, func(t *testing.T) {
		settings := Settings{explorer: e, Recorded: *logs, Writes: *logs}
		c, err := x.cluster(settings)
		if c != nil {
			defer c.Stop()
		}
		if err == nil {
			err = x.live(c, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		out.steps, out.trace = c.World.Trace.Steps, c.World.Trace
		if len(c.Violations) > 0 {
			out.violation, out.broken = c.Violations[0], c.Broken[0]
		}
	})
	out.took = time.Since(began)
	return out
}

// live lets the time pass, and explores.
func (x *exploration) live(c *Cluster, e *explorer) error {
	c.explored = c.API.Registry.Revision()
	e.state, e.crash = c.state, func() { c.Process.Crash() }
	e.on = true
	defer func() { e.on = false }()
	check := c.World.check
	c.World.check = func() {
		check()
		if invariant, details := x.step(c); invariant != "" {
			c.invariants.violated(invariant, "%s", details)
		}
	}
	x.begin(c)
	if err := c.Run(x.time); err != nil || e.stopped || len(c.Violations) > 0 {
		return err
	}
	if invariant, details := x.end(c); invariant != "" {
		c.invariants.violated(invariant, "%s", details)
	}
	return nil
}

// search explores the schedules of a scene, those with fewer deviations first.
type search struct {
	scene *exploration
	depth int
	until time.Time

	// visited are the states that were reached.
	visited                   map[uint64]reached
	runs, cut, steps, deepest int
	// found is the first violation, and at the choice after which it happened.
	found *Case
	at    int
	// compared counts the pairs of states that followed on equal ones, with verify.
	verify   bool
	compared int
}

// reached is a state.
type reached struct {
	// at is the lowest point at which it was reached, and next the state at the next point if nothing deviates; 0 if there is none.
	at   int
	next uint64
}

// level is what was explored with one number of deviations.
type level struct {
	plans, left int
}

// explore runs all plans with up to so many deviations. It stops at the first violation.
func (s *search) explore(t *testing.T, most int) (levels []level, frontier int) {
	t.Helper()
	s.visited = map[uint64]reached{}
	plans := [][]Choice{nil}
	for d := 0; d <= most && len(plans) > 0; d++ {
		var next [][]Choice
		at := level{plans: len(plans)}
		for i, plan := range plans {
			if s.found != nil || !s.until.IsZero() && time.Now().After(s.until) {
				at.left = len(plans) - i
				break
			}
			next = append(next, s.visit(t, plan)...)
		}
		levels = append(levels, at)
		if plans = next; at.left > 0 || s.found != nil {
			break
		}
	}
	return levels, len(plans)
}

// visit runs a plan, and returns those that deviate from it once more, after its last deviation, in states that are new.
func (s *search) visit(t *testing.T, plan []Choice) (next [][]Choice) {
	t.Helper()
	r := s.scene.run(t, plan, s.depth, s.known)
	s.runs++
	s.steps += r.steps
	s.deepest = max(s.deepest, len(r.points))
	if len(r.taken) != len(plan) {
		t.Fatalf("%s: of the choices %v only %v were met: the simulation is not deterministic", s.scene.name, plan, r.taken)
	}
	if r.violation != "" {
		s.found = &Case{About: []string{fmt.Sprintf("%.160s", r.violation)}, Scene: s.scene.name, Depth: s.depth, Violated: r.broken, Choices: append([]Choice{}, plan...)}
		s.at = r.last
		return nil
	}
	points := r.points
	if r.stopped {
		s.cut++
		points = points[:len(points)-1]
	}
	from := r.last
	if s.verify {
		s.compare(t, plan, points[from:])
	}
	for i, p := range points[from:] {
		before, known := s.visited[p.State]
		if known && before.at <= from+i {
			continue
		}
		now := reached{at: from + i}
		if from+i+1 < len(points) {
			now.next = points[from+i+1].State
		}
		s.visited[p.State] = now
		for _, action := range p.Options {
			next = append(next, append(slices.Clone(plan), p.choice(action)))
		}
	}
	return next
}

// compare checks that equal states are followed by equal ones.
func (s *search) compare(t *testing.T, plan []Choice, points []Point) {
	t.Helper()
	for i, p := range points[:max(0, len(points)-1)] {
		if before, known := s.visited[p.State]; known && before.next != 0 {
			if s.compared++; before.next != points[i+1].State {
				t.Errorf("%s with %v: the state at %s is known, but the next one, at %s, differs", s.scene.name, plan, p, points[i+1])
				return
			}
		}
	}
}

// known: what follows a state that was reached with no more deviations and no later is explored already, or will be.
func (s *search) known(at int, p Point) bool {
	before, known := s.visited[p.State]
	return known && before.at <= at && !s.verify
}

// TestExhaust explores the scene that -exhaust names.
func TestExhaust(t *testing.T) {
	if *scene == "" {
		return
	}
	t.Logf("%-14s %5s %10s %8s %8s %8s %8s %8s %8s  %s", "SCENE", "DEPTH", "DEVIATIONS", "RUNS", "STATES", "CUT", "DEEPEST", "STEPS", "SECONDS", "EXPLORED")
	met := false
	for i := range explorations {
		x := &explorations[i]
		if *scene != "all" && *scene != x.name {
			continue
		}
		met = true
		s := &search{scene: x, depth: *depth, verify: *verify}
		began := time.Now()
		if *limit > 0 {
			s.until = began.Add(*limit)
		}
		levels, frontier := s.explore(t, *deviations)
		t.Logf("%-14s %5d %10d %8d %8d %8d %8d %8d %8.0f  %s", x.name, s.depth, len(levels)-1, s.runs, len(s.visited), s.cut, s.deepest, s.steps, time.Since(began).Seconds(), s.said(levels, frontier))
		if s.verify {
			t.Logf("%d states followed on known ones, and were compared", s.compared)
		}
		if s.found != nil {
			t.Errorf("an invariant does not hold. The case, for -case=FILE:\n%s", s.found)
		}
	}
	if !met {
		t.Fatalf("no scene is named %q", *scene)
	}
}

// said says what was explored, and what was not.
func (s *search) said(levels []level, frontier int) string {
	var parts []string
	for d, l := range levels {
		if l.left == 0 {
			parts = append(parts, fmt.Sprintf("all %d with %d", l.plans, d))
		} else {
			parts = append(parts, fmt.Sprintf("%d of %d with %d", l.plans-l.left, l.plans, d))
		}
	}
	out := strings.Join(parts, ", ")
	switch {
	case s.found != nil:
		return fmt.Sprintf("%s: VIOLATION: %s, by a deviation at choice %d", out, s.found.Violated, s.at)
	case frontier == 0:
		return out + ": nothing left"
	}
	return out + fmt.Sprintf(": %d schedules with one more are left", frontier)
}

// TestSchedule prints the steps and choices of the usual order of the scene that -exhaust names. It does nothing without -logs.
func TestSchedule(t *testing.T) {
	if !*logs {
		return
	}
	r := explorationOf(t, *scene).run(t, nil, *depth, nil)
	for _, line := range r.trace.Lines {
		fmt.Fprintln(os.Stderr, line)
	}
	for n, p := range r.points {
		t.Logf("%3d %016x %s", n+1, p.State, p)
	}
}

func explorationOf(t *testing.T, name string) *exploration {
	t.Helper()
	at := slices.IndexFunc(explorations, func(x exploration) bool { return x.name == name })
	if at < 0 {
		t.Fatalf("no scene is named %q", name)
	}
	return &explorations[at]
}

// TestExplorations: the invariants hold in all schedules of the scenes with one deviation among their first choices. make sim EXHAUST=all
// goes on from there.
func TestExplorations(t *testing.T) {
	for name, depth := range map[string]int{"one-pod": 7, "consolidation": 1, "drain": 1, "stale-ready": 2} {
		t.Run(name, func(t *testing.T) {
			s := &search{scene: explorationOf(t, name), depth: depth}
			s.explore(t, 1)
			if s.found != nil {
				t.Errorf("an invariant does not hold. The case, for -case=FILE:\n%s", s.found)
			}
			if s.deepest != depth || s.runs < depth {
				t.Errorf("%d runs, %d choices deep: want %d or more, and %d", s.runs, s.deepest, depth, depth)
			}
		})
	}
}

// TestEqualStatesGoOnEqually: what follows on a state that was reached twice is the same, so that it has to be explored once.
func TestEqualStatesGoOnEqually(t *testing.T) {
	s := &search{scene: explorationOf(t, "one-pod"), depth: 50, verify: true, visited: map[uint64]reached{}}
	s.visit(t, nil)
	for _, c := range []Choice{{"last watch NodePool", 1}, {"last watch Pod", 2}} {
		s.visit(t, []Choice{c})
	}
	if s.compared < 30 {
		t.Errorf("only %d states were compared", s.compared)
	}
}
