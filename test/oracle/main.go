// Command oracle asks the engine random questions and has kube-scheduler judge the answers.
//
//	oracle -count 10000 -seed 1 -out failures
//
// A seed always gives the same problem. A wrong answer is printed and, with -out, written as a scenario that is as small as possible.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/karpenter-anew/karpenter/test/oracle/generator"
	"github.com/karpenter-anew/karpenter/test/oracle/judge"
)

func main() {
	var n numbers
	flag.Uint64Var(&n.count, "count", 500, "number of problems")
	flag.Uint64Var(&n.every, "clusters", 10, "one of so many problems is about disruption; 0 for none")
	flag.IntVar(&n.nodes, "nodes", 100, "largest number of nodes of problems about disruption")
	flag.Uint64Var(&n.seed, "seed", 1, "seed of the first problem; the others follow")
	out := flag.String("out", "", "folder for the scenarios of wrong answers; empty for none")
	var u upstreamPrices
	flag.StringVar(&u.program, "bench", "", "path of the program bench, which compares prices with upstream's; empty for no comparison")
	flag.Uint64Var(&u.every, "compare", 5, "compare the prices of one of so many problems, and consolidation in one of so many clusters")
	flag.Parse()
	if err := run(context.Background(), n, u, *out); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// numbers are which problems are judged.
type numbers struct {
	seed, count uint64
	// every one of so many problems is about disruption; 0 for none. Their clusters have at most so many nodes.
	every uint64
	nodes int
}

// run judges problems and prints what was wrong.
func run(ctx context.Context, n numbers, u upstreamPrices, out string) error {
	tally, wrong, err := judgeAll(ctx, n)
	if err != nil {
		return err
	}
	for feature, why := range generator.Off() {
		fmt.Printf("left out of the problems: %s: %s\n", feature, why)
	}
	for _, w := range wrong {
		if err := w.report(ctx, out); err != nil {
			return err
		}
	}
	closing := tally.String()
	if u.program != "" {
		prices, expensive, err := u.compare(ctx, n)
		if err != nil {
			return err
		}
		for _, w := range expensive {
			if err := w.report(ctx, out); err != nil {
				return err
			}
		}
		savings, less, err := u.savings(ctx, n)
		if err != nil {
			return err
		}
		for _, w := range less {
			if err := w.report(ctx, out); err != nil {
				return err
			}
		}
		closing += ", " + prices.String() + ", " + savings.String()
	}
	fmt.Println(closing)
	if len(wrong) > 0 {
		return fmt.Errorf("%d problems have wrong answers", len(wrong))
	}
	return nil
}

// judgeAll judges the problems of consecutive seeds, on all processors.
func judgeAll(ctx context.Context, n numbers) (judge.Tally, []wrongAnswer, error) {
	workers := uint64(runtime.GOMAXPROCS(0))
	tallies, found := make([]judge.Tally, workers), make([][]wrongAnswer, workers)
	var group errgroup.Group
	for w := range workers {
		group.Go(func() error {
			j, err := newJudge(ctx)
			if err != nil {
				return err
			}
			clusters, err := newClusters(ctx)
			if err != nil {
				return err
			}
			for s := n.seed + w; s < n.seed+n.count; s += workers {
				p, err := n.problem(clusters, s)
				if err != nil {
					return err
				}
				if failures := j.Judge(p); len(failures) > 0 {
					found[w] = append(found[w], wrongAnswer{p, failures})
				}
			}
			tallies[w] = j.Tally
			return nil
		})
	}
	err := group.Wait()
	var tally judge.Tally
	var wrong []wrongAnswer
	for w := range workers {
		tally.Add(tallies[w])
		wrong = append(wrong, found[w]...)
	}
	return tally, wrong, err
}

// problem is the problem of a seed.
func (n numbers) problem(clusters *generator.Clusters, seed uint64) (judge.Problem, error) {
	if n.disrupts(seed) {
		return clusters.Problem(seed, n.nodes)
	}
	return generator.Problem(seed)
}

// disrupts reports whether the problem of a seed is about disruption.
func (n numbers) disrupts(seed uint64) bool { return n.every > 0 && seed%n.every == 0 }

// wrongAnswer is a problem with what is wrong about the answer of the engine.
type wrongAnswer struct {
	problem  judge.Problem
	failures []judge.Failure
}

// report prints a wrong answer, and writes a small scenario into a folder if there is one.
func (w wrongAnswer) report(ctx context.Context, folder string) error {
	for _, f := range w.failures {
		fmt.Printf("%s: %s: %s\n", w.problem.Name, f.Kind, f.Text)
	}
	if folder == "" {
		return nil
	}
	j, err := newJudge(ctx)
	if err != nil {
		return err
	}
	text, err := w.scenario(ctx, j)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	path := filepath.Join(folder, w.problem.Name+".txtar")
	fmt.Printf("%s: a small scenario is in %s\n", w.problem.Name, path)
	return os.WriteFile(path, text, 0o644)
}
