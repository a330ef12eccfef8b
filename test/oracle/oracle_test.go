package main

import (
	"testing"

	"github.com/karpenter-anew/karpenter/test/oracle/generator"
)

// testProblems is how many problems every test run judges.
const testProblems = 500

func TestKubeSchedulerAgrees(t *testing.T) {
	tally, wrong, err := judgeAll(t.Context(), numbers{seed: 1, count: testProblems, every: 25, nodes: 40})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		for _, f := range w.failures {
			t.Errorf("%s: %s: %s", w.problem.Name, f.Kind, f.Text)
		}
	}
	if len(wrong) > 0 {
		t.Log("for small scenarios run: make oracle COUNT=1 SEED=<number of the seed>")
	}
	t.Log(tally)
	if tally.Plans < testProblems/2 || tally.Refusals < testProblems/4 || tally.Commands < testProblems/10 {
		t.Errorf("%v: the problems are too easy or too hard to show much", tally)
	}
}

// TestProblemsAreReproducible: a seed that fails must fail again.
func TestProblemsAreReproducible(t *testing.T) {
	for seed := range uint64(20) {
		var texts []string
		for range 2 {
			p, err := generator.Problem(seed)
			if err != nil {
				t.Fatal(err)
			}
			text, err := p.YAML()
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
		if texts[0] != texts[1] {
			t.Errorf("seed %d gives two problems", seed)
		}
	}
}
