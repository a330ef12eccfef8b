// Command mutants breaks the controllers, one place at a time, and reports which breaks the simulation of package sim notices.
//
// The mutants are in testdata. All of them are compiled into one program (go test -overlay), in which the word MUTANT is a call that asks
// whether the mutant is the one that KARPENTER_MUTANT names. The program runs seed after seed until an invariant does not hold, or the
// time is over.
//
// A mutant with a scene is looked for in the schedules of that scene, up to 50 choices deep, instead.
//
// With -shrink, the seed that kills a mutant is reduced to the choices that its violation needs, and the case is run without the mutant, too.
//
// Usage, from the root of the repository: go run ./test/sim/mutants [-time 10m] [-seeds 0] [-hours 0.15] [-shrink FOLDER] [REGEXP]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// small is a cluster that is simulated fast. The settings of a mutant come after it.
const small = "Types=24 MaxPods=60 "

func main() {
	limit := flag.Duration("time", 10*time.Minute, "how long each mutant is simulated")
	seeds := flag.Int("seeds", 0, "how many seeds each mutant is simulated with at most; 0 for as many as there is time for")
	hours := flag.Float64("hours", 0.15, "simulated hours with faults of each seed")
	cases := flag.String("shrink", "", "the folder that gets a case for each mutant that is killed; empty for none")
	flag.Parse()
	if err := run(os.Stdout, flag.Arg(0), *limit, &simulation{seeds: *seeds, hours: *hours, cases: *cases}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(to io.Writer, which string, limit time.Duration, s *simulation) error {
	wanted, err := regexp.Compile(which)
	if err != nil {
		return fmt.Errorf("which mutants: %w", err)
	}
	all, err := read("test/sim/mutants/testdata")
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	program := filepath.Join(folder, "sim.test")
	if err := build(".", folder, all, "test", "-c", "-ldflags=-s -w", "-o", program, "./test/sim"); err != nil {
		return err
	}
	s.program, s.unbroken = program, map[string]string{}
	killed, count := 0, 0
	_, _ = fmt.Fprintf(to, "%-36s %8s %10s  %s\n", "MUTANT", "SECONDS", "SIMULATED", "KILLED BY")
	for _, m := range all {
		if !wanted.MatchString(m.name) {
			continue
		}
		count++
		try := s.kill
		if m.scene != "" {
			try = s.explore
		}
		r := try(m, limit)
		if r.by == "" {
			r.by = "SURVIVES: " + m.about
		} else {
			killed++
		}
		_, _ = fmt.Fprintf(to, "%-36s %7.0fs %9.2fh  %s\n", m.name, r.took.Seconds(), r.simulated, r.by)
		if r.seed > 0 && s.cases != "" {
			if err := s.shrink(to, m, r.seed); err != nil {
				return err
			}
		}
	}
	if count == 0 {
		return errors.New("no mutant has such a name")
	}
	_, _ = fmt.Fprintf(to, "%d of %d mutants killed (%.0f %%)\n", killed, count, 100*float64(killed)/float64(count))
	return nil
}

// result is what became of a mutant.
type result struct {
	took time.Duration
	// simulated is in hours.
	simulated float64
	// by is the invariant that did not hold, with seed; empty if all did.
	by   string
	seed int
}

// simulation runs the program.
type simulation struct {
	program string
	hours   float64
	// seeds is the most for one mutant; 0 for no bound.
	seeds int
	// cases is the folder for reduced seeds; empty for none.
	cases string
	// unbroken are the invariants that do not hold without a mutant, by settings and seed: they are no proof.
	unbroken map[string]string
}

// kill runs seeds with the mutant until an invariant does not hold that holds without it, or the time is over.
func (s *simulation) kill(m mutant, limit time.Duration) (r result) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	began := time.Now()
	for seed := 1; s.seeds == 0 || seed <= s.seeds; seed++ {
		by, hours := s.seed(ctx, m.name, m.set, seed)
		r.took = time.Since(began)
		r.simulated += hours
		if ctx.Err() != nil {
			return r
		}
		if by != "" && s.holds(m.set, seed) {
			r.by, r.seed = fmt.Sprintf("seed %d: %s", seed, by), seed
			return r
		}
	}
	return r
}

// explore explores the scene of a mutant, which has to break an invariant that holds without it.
func (s *simulation) explore(m mutant, limit time.Duration) (r result) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := []string{"-exhaust=" + m.scene, "-depth=50", "-deviations=1"}
	began := time.Now()
	out, err := s.test(ctx, m.name, "TestExhaust", args...)
	r.took = time.Since(began)
	found := regexp.MustCompile(`VIOLATION: ([^\n]*)`).FindSubmatch(out)
	if err == nil || found == nil {
		return r
	}
	if out, err := s.test(context.Background(), "", "TestExhaust", args...); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "WITHOUT A MUTANT: %s: %s\n", m.scene, out)
		return r
	}
	r.by = fmt.Sprintf("exploring %s: %s", m.scene, found[1])
	return r
}

// holds reports whether all invariants hold without a mutant.
func (s *simulation) holds(set string, seed int) bool {
	key := fmt.Sprintf("%s %d", set, seed)
	by, known := s.unbroken[key]
	if !known {
		by, _ = s.seed(context.Background(), "", set, seed)
		s.unbroken[key] = by
		if by != "" {
			_, _ = fmt.Fprintf(os.Stderr, "WITHOUT A MUTANT: %s, seed %d: %s\n", set, seed, by)
		}
	}
	return by == ""
}

// seed runs a seed. It returns the invariant that did not hold, or else how many hours it simulated.
func (s *simulation) seed(ctx context.Context, mutant, set string, seed int) (by string, hours float64) {
	out, err := s.test(ctx, mutant, "TestInvariants", fmt.Sprintf("-seed=%d", seed), "-seeds=1", fmt.Sprintf("-hours=%v", s.hours), "-quiet=10m", "-first", "-set="+small+set)
	if err != nil {
		by = reason(out)
	}
	return by, simulated(out)
}

// test runs a test of the program, with a mutant or, if it is empty, without.
func (s *simulation) test(ctx context.Context, mutant, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, s.program, append([]string{"-test.run=^" + name + "$", "-test.v"}, args...)...) //nolint:gosec // arguments of this command
	c.Env = append(os.Environ(), variable+"="+mutant, "GOGC=600")
	return c.CombinedOutput() //nolint:wrapcheck // the callers look at the output
}

// shrink reduces a seed that kills a mutant. The case must break the invariant with the mutant, and none without it.
func (s *simulation) shrink(to io.Writer, m mutant, seed int) error {
	path, err := filepath.Abs(filepath.Join(s.cases, m.name+".txt"))
	if err != nil {
		return fmt.Errorf("naming the case: %w", err)
	}
	ctx := context.Background()
	out, err := s.test(ctx, m.name, "TestShrink", "-shrink", "-shrinkto="+path, fmt.Sprintf("-seed=%d", seed), fmt.Sprintf("-hours=%v", s.hours), "-quiet=10m", "-set="+small+m.set)
	if err != nil {
		return fmt.Errorf("reducing seed %d of %s: %w\n%s", seed, m.name, err, out)
	}
	_, _ = fmt.Fprintf(to, "  reduced: %s\n", regexp.MustCompile(`\d+ of \d+ choices are left after \d+ runs`).Find(out))
	if out, err := s.test(ctx, m.name, "TestCases", "-case="+path); err == nil {
		return fmt.Errorf("%s does not kill the mutant\n%s", path, out)
	}
	if out, err := s.test(ctx, "", "TestCases", "-case="+path); err != nil {
		return fmt.Errorf("%s breaks an invariant without the mutant: %w\n%s", path, err, out)
	}
	return nil
}

// simulated is how many hours a run says that it simulated.
func simulated(out []byte) float64 {
	if found := regexp.MustCompile(`simulated ([0-9.]+) h`).FindSubmatch(out); found != nil {
		hours, _ := strconv.ParseFloat(string(found[1]), 64)
		return hours
	}
	return 0
}

// reason is the first violation in the output, or its first line that says something.
func reason(out []byte) string {
	if found := regexp.MustCompile(`step \d+ ([^\n]*)`).FindSubmatch(out); found != nil {
		return string(found[1][:min(len(found[1]), 120)])
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "panic:") || strings.Contains(line, "sim_test.go") {
			return strings.TrimSpace(line[:min(len(line), 120)])
		}
	}
	return strings.TrimSpace(string(out[:min(len(out), 120)]))
}
