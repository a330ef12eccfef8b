// Program bench gives the same pods to our engine and to upstream, sigs.k8s.io/karpenter, side by side in one run, and prints the
// results of both. See docs/performance.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/bench/ours"
	"github.com/karpenter-anew/karpenter/bench/upstream"
	"github.com/karpenter-anew/karpenter/bench/workload"
)

// settings are the flags.
type settings struct {
	cases, one, trace, out, only string
	// profile and allocations are files for profiles of the whole run; with one of them all cases are measured in this process.
	profile, allocations string
	quick                bool
	effort               contest.Effort
	// alone is set in the processes that measure one side at one size.
	alone bool
	size  int
}

// sides are the contestants, ours first.
func sides() []contest.Contestant {
	return []contest.Contestant{ours.Contestant(), upstream.Contestant()}
}

func main() {
	var s settings
	flag.StringVar(&s.cases, "cases", "bench/cases", "the directory of the cases")
	flag.StringVar(&s.one, "case", "", "run only this case: a name, or the path of a directory")
	flag.BoolVar(&s.quick, "quick", false, "run the small sizes only")
	flag.StringVar(&s.trace, "trace", "", "the list of pods for the cases that need one: a CSV file")
	flag.StringVar(&s.out, "out", "bench/results.json", "where to write the results; beside it goes the table of docs/performance.md, with the extension .md")
	flag.StringVar(&s.only, "only", "", "run only one side: ours or upstream")
	flag.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile of the whole run to this file; best with -only")
	flag.StringVar(&s.allocations, "memprofile", "", "write a profile of all allocations of the whole run to this file; best with -only")
	flag.BoolVar(&s.alone, "alone", false, "measure the side of -only on -case at -size and print the result as JSON; used by the bench itself")
	flag.IntVar(&s.size, "size", 0, "the number of pods for -alone")
	flag.IntVar(&s.effort.Runs, "runs", 15, "repeat each measurement up to this often and report the median")
	flag.DurationVar(&s.effort.Budget, "budget", 2*time.Second, "do not start another repetition after this much measured time")
	scenarios := flag.String("compare", "", "a folder of scenarios: print the prices of both sides for each as JSON, and nothing else")
	clusters := flag.String("consolidate", "", "a folder of scenarios with running clusters: print the command of upstream's multi-node consolidation for each as JSON, and nothing else")
	flag.Parse()
	start := run
	if *clusters != "" {
		start = func(ctx context.Context, _ settings) error { return consolidate(ctx, *clusters, os.Stdout) }
	}
	if *scenarios != "" {
		start = func(ctx context.Context, _ settings) error { return compare(ctx, *scenarios, os.Stdout) }
	}
	if s.alone {
		start = answerAlone
	}
	if err := start(context.Background(), s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	cases, err := choose(s)
	if err != nil {
		return err
	}
	finish, err := profiles(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish()) }()
	how := alone
	if s.profiled() {
		how = here
	}
	t := newTable(os.Stdout)
	r := results{Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.GOMAXPROCS(0), Go: runtime.Version()}
	for _, c := range cases {
		if c.NeedsTrace() && s.trace == "" && s.one == "" {
			t.note(fmt.Sprintf("skipped case %s: %v", c.Name, workload.ErrNoTrace))
			continue
		}
		var before *row
		for _, size := range c.Sizes(s.quick) {
			row, err := measure(ctx, s, c, size, how)
			if err != nil {
				return err
			}
			row.grow(before)
			t.row(row)
			r.Rows = append(r.Rows, row)
			before = &row
		}
	}
	return r.write(s.out)
}

// choose reads the cases to run. A trace without a case means the cases that are made for traces.
func choose(s settings) ([]workload.Case, error) {
	if s.only != "" && s.only != "ours" && s.only != "upstream" {
		return nil, fmt.Errorf("-only: %q is neither ours nor upstream", s.only)
	}
	if s.one == "" {
		return workload.Find(s.cases)
	}
	folder := s.one
	if !strings.ContainsRune(s.one, filepath.Separator) {
		folder = filepath.Join(s.cases, s.one)
	}
	c, err := workload.Read(folder)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; the cases of %s are %s", err, s.cases, strings.Join(names(s.cases), ", "))
	}
	return []workload.Case{c}, err
}

// names are those of the cases in folder; none when one of them is wrong.
func names(folder string) []string {
	cases, _ := workload.Find(folder)
	out := make([]string, len(cases))
	for i, c := range cases {
		out[i] = c.Name
	}
	return out
}

func measure(ctx context.Context, s settings, c workload.Case, size int, how measuring) (row, error) {
	r := row{Case: c.Name, OursOnly: c.OursOnly}
	for _, side := range sides() {
		if s.only != "" && s.only != side.Name || c.OursOnly && side.Name != ours.Name {
			continue
		}
		m, err := how(ctx, s, c, size, side)
		if err != nil {
			return row{}, err
		}
		r.Pods, r.Types, r.Existing = m.Pods, m.Types, m.Nodes
		if side.Name == ours.Name {
			r.Ours = &m.Score
		} else {
			r.Upstream = &m.Score
		}
	}
	r.compare()
	return r, nil
}

// results is the machine-readable output.
type results struct {
	Date  string `json:"date"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
	Rows  []row  `json:"rows"`
}

func (r results) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("rendering the results: %w", err)
	}
	table := strings.TrimSuffix(path, filepath.Ext(path)) + ".md"
	if err := errors.Join(os.WriteFile(path, append(text, '\n'), 0o644), os.WriteFile(table, []byte(r.markdown()), 0o644)); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}
