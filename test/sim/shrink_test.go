package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// TestShrink reduces a seed that breaks an invariant. It does nothing without -shrink.
func TestShrink(t *testing.T) {
	if !*shrink {
		return
	}
	s := simulation{seed: *seed, set: *set, hours: *hours, quiet: *quiet, first: true, incident: incidentOf(t, *happening)}
	c := mustRun(t, s)
	if len(c.Broken) == 0 {
		t.Fatalf("all invariants hold with seed %d", s.seed)
	}
	broken, runs := c.Broken[0], 0
	fails := func(choices []Choice) bool {
		runs++
		s.only = append([]Choice{}, choices...) // nil would be all
		c, err := s.run(t)
		return err == nil && len(c.Broken) > 0 && c.Broken[0] == broken
	}
	kept := reduce(c.World.Choices, *most, fails)
	t.Logf("%s: %d of %d choices are left after %d runs", c.Violations[0], len(kept), len(c.World.Choices), runs)
	out := &Case{
		About: []string{fmt.Sprintf("%.160s", c.Violations[0])}, Seed: s.seed, Set: s.set, Hours: s.hours, Quiet: s.quiet, Incident: *happening, Violated: broken, Choices: kept,
	}
	if *shrinkTo == "" {
		t.Logf("\n%s", out)
		return
	}
	if err := os.WriteFile(*shrinkTo, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCases: cases that have found something find nothing any more.
func TestCases(t *testing.T) {
	paths, err := []string{*file}, error(nil)
	if *file == "" {
		paths, err = filepath.Glob("testdata/*.txt")
	}
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			k, err := ParseCase(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if k.Scene != "" {
				replay(t, k)
				return
			}
			c := mustRun(t, simulation{
				seed: k.Seed, set: k.Set, hours: k.Hours, quiet: k.Quiet, only: k.Choices, first: true, incident: incidentOf(t, k.Incident),
			})
			for _, v := range c.Violations {
				t.Error(v)
			}
			// With other steps, other draws are reached: some choices may never come.
			t.Logf("%d of %d choices happened", len(c.World.Choices), len(k.Choices))
			if len(k.Choices) > 0 && len(c.World.Choices) == 0 {
				t.Error("no choice of the case happened")
			}
		})
	}
}

// replay runs a case of an exploration.
func printLines(t *Trace) {
	for _, line := range t.Lines {
		fmt.Fprintln(os.Stderr, line)
	}
}

func replay(t *testing.T, k *Case) {
	t.Helper()
	r := explorationOf(t, k.Scene).run(t, k.Choices, k.Depth, nil)
	if *logs {
		printLines(r.trace)
	}
	if r.violation != "" {
		t.Error(r.violation)
	}
	if len(r.taken) == 0 {
		t.Error("no choice of the case happened")
	}
}

func incidentOf(t *testing.T, name string) *incident {
	t.Helper()
	if name == "" {
		return nil
	}
	at := slices.IndexFunc(incidents, func(i incident) bool { return i.name == name })
	if at < 0 {
		t.Fatalf("no incident is named %q", name)
	}
	return &incidents[at]
}

// TestReduce: what is needed is left, and nothing else.
func TestReduce(t *testing.T) {
	all := make([]int, 100)
	for i := range all {
		all[i] = i
	}
	has := func(needed ...int) func([]int) bool {
		return func(items []int) bool {
			return !slices.ContainsFunc(needed, func(n int) bool { return !slices.Contains(items, n) })
		}
	}
	for name, test := range map[string]struct {
		fails func([]int) bool
		calls int
		want  []int
	}{
		"one":               {has(63), 1000, []int{63}},
		"first and last":    {has(0, 99), 1000, []int{0, 99}},
		"some, in order":    {has(80, 3, 41, 42), 1000, []int{3, 41, 42, 80}},
		"none":              {has(), 1000, nil},
		"all":               {has(all...), 1000, all},
		"one of two":        {func(items []int) bool { return has(10)(items) || has(20)(items) }, 1000, []int{20}},
		"calls are bounded": {has(63), 2, all[50:]},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reduce(all, test.calls, test.fails); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	calls := 0
	reduce(all, 1000, func(items []int) bool { calls++; return has(63)(items) })
	if calls > 20 {
		t.Errorf("one of %d items took %d calls", len(all), calls)
	}
}

// TestCaseText: a case is read as it is printed.
func TestCaseText(t *testing.T) {
	text := (&Case{
		About: []string{"what it is for"}, Seed: 17, Set: "Types=24 Every=20s", Hours: 0.15, Quiet: 10 * time.Minute, Violated: "budget",
		Choices: []Choice{{"user", 3}, {"crash before a write", 12}},
	}).String()
	k, err := ParseCase(text)
	if err != nil {
		t.Fatal(err)
	}
	if k.String() != text {
		t.Errorf("got\n%s\nwant\n%s", k, text)
	}
	text = "scene: one-pod\ndepth: 50\nviolated: budget\nchoices:\nlate watch NodePool 2\n"
	if k, err = ParseCase(text); err != nil || k.String() != text {
		t.Errorf("got %v\n%s\nwant\n%s", err, k, text)
	}
	for _, wrong := range []string{"", "seed: x\nchoices:", "hours: 1\nchoices:\nuser", "hours: 1\nchoices:\nuser x", "hours: 1\nother: 3\nchoices:", "hours: 1"} {
		if _, err := ParseCase(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

// TestLeavingOutAChoiceMovesNoOther: without one action of a user, the others are the same.
func TestLeavingOutAChoiceMovesNoOther(t *testing.T) {
	s := simulation{seed: 3, set: "Types=12 MaxPods=1000 Every=20s Plain=true Create=50 Scale=0 Remove=0 EditPool=0 DeleteNode=0 DeleteClaim=0 Die=0", hours: 0.03, quiet: 0}
	all := mustRun(t, s)
	var users []Choice
	for _, c := range all.World.Choices {
		if c.Name == "user" {
			users = append(users, c)
		}
	}
	if len(users) < 3 {
		t.Fatalf("%d actions", len(users))
	}
	s.only = users[1:]
	some := mustRun(t, s)
	if !slices.Equal(some.World.Choices, users[1:]) {
		t.Errorf("got %v, want %v", some.World.Choices, users[1:])
	}
	want, got := deployments(all), deployments(some)
	delete(want, fmt.Sprintf("app-%d", users[0].N))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// deployments are the replicas and requests of the Deployments of users, by name.
func deployments(c *Cluster) map[string]string {
	out := map[string]string{}
	for _, d := range All[appsv1.Deployment](c.API) {
		out[d.Name] = fmt.Sprintf("%d x %s", *d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu())
	}
	return out
}
