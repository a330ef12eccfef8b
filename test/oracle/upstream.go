package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/karpenter-anew/karpenter/test/oracle/generator"
	"github.com/karpenter-anew/karpenter/test/oracle/judge"
)

// upstreamPrices compares the prices of plans with those of upstream's plans, which the program bench computes.
type upstreamPrices struct {
	// program is the path of bench; empty for no comparison. One of so many problems is compared, and one of so many clusters.
	program string
	every   uint64
}

// answer is a line of the output of bench.
type answer struct {
	Name           string
	Ours, Upstream float64
	Same           bool
	Plan           judge.OtherPlan
	Error          string
}

// priceTally counts the problems that were compared.
type priceTally struct {
	// Compared are problems that both sides answered, Same those in which both place the same pods; Unanswered could not be given to one.
	Compared, Same, Unanswered int
	// Cheaper and MoreExpensive are problems in which our plan costs less or more; in those that Faulty counts upstream's plan costs less, and
	// would be wrong as a plan of the engine. In the others it costs less, too, but cannot be compared: see judge.Standing.
	Cheaper, MoreExpensive, Faulty, Weaker, Later, Unsettled int
	// Ours and Upstream are sums in dollars per hour, over the problems with the same pods in which both plans can be compared.
	Ours, Upstream float64
}

// String is the tally as part of a sentence.
func (t priceTally) String() string {
	change := 0.0
	if t.Upstream > 0 {
		change = 100 * (t.Ours/t.Upstream - 1)
	}
	return fmt.Sprintf("price against upstream's, without preferences: %d compared (%d could not be), %d with the same pods: %d cheaper, %d more expensive, "+
		"%d where upstream's cheaper plan would be wrong, %d where it holds only until a further domain opens or only in some orders of binding, unlike ours, "+
		"%d where both plans depend on such circumstances, %d where it leaves pools unused that are tried first, sum %+.1f%%",
		t.Compared, t.Unanswered, t.Same, t.Cheaper, t.MoreExpensive, t.Faulty, t.Weaker, t.Unsettled, t.Later, change)
}

// equal is the largest difference of prices, as a share, that is rounding.
const equal = 1e-9

// compare compares the problems of consecutive seeds. Problems in which our plan costs more are returned.
func (u upstreamPrices) compare(ctx context.Context, n numbers) (t priceTally, expensive []wrongAnswer, err error) {
	folder, err := os.MkdirTemp("", "oracle-price-")
	if err != nil {
		return t, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	problems := map[string]judge.Problem{}
	for s := n.seed; s < n.seed+n.count; s++ {
		if s%u.every != 0 || n.disrupts(s) {
			continue
		}
		p, err := generator.Problem(s)
		if err != nil {
			return t, nil, err
		}
		if p.ComparesTaints() {
			continue // upstream does not
		}
		text, err := p.Scenario("Compare the prices.", "")
		if err != nil {
			return t, nil, err
		}
		problems[p.Name] = p
		if err := os.WriteFile(filepath.Join(folder, p.Name+".txtar"), text, 0o600); err != nil {
			return t, nil, err
		}
	}
	answers, err := u.ask(ctx, folder)
	if err != nil {
		return t, nil, err
	}
	j, err := newJudge(ctx)
	if err != nil {
		return t, nil, err
	}
	for _, a := range answers {
		p := problems[a.Name]
		text, err := t.add(a, func() (judge.Standing, error) { return judgeOther(j, p, a.Plan) })
		if err != nil {
			return t, nil, err
		}
		if text != "" {
			expensive = append(expensive, wrongAnswer{p, []judge.Failure{{Kind: judge.MoreExpensive, Text: text}}})
		}
	}
	return t, expensive, nil
}

// faulty plans would be wrong as plans of the engine. It is beside what judge.Standing answers.
const faulty judge.Standing = -1

func judgeOther(j *judge.Judge, p judge.Problem, plan judge.OtherPlan) (judge.Standing, error) {
	if len(j.Faults(p, plan)) > 0 {
		return faulty, nil
	}
	return j.Standing(p, plan)
}

// ask has bench answer the scenarios of a folder.
func (u upstreamPrices) ask(ctx context.Context, folder string) (answers []answer, err error) {
	err = u.lines(ctx, "-compare", folder, func(lines *json.Decoder) error {
		var a answer
		err := lines.Decode(&a)
		if err == nil {
			answers = append(answers, a)
		}
		return err
	})
	return answers, err
}

// lines has bench answer the scenarios of a folder, and reads the lines of its output one by one.
func (u upstreamPrices) lines(ctx context.Context, flag, folder string, read func(*json.Decoder) error) error {
	command := exec.CommandContext(ctx, u.program, flag, folder) //nolint:gosec // the program is an argument
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", u.program, err)
	}
	for lines := json.NewDecoder(bytes.NewReader(out)); ; {
		switch err := read(lines); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the answers of %s: %w", u.program, err)
		}
	}
}

// add counts an answer. other judges upstream's plan. The text says that our plan costs more; empty if it does not.
func (t *priceTally) add(a answer, other func() (judge.Standing, error)) (string, error) {
	if a.Error != "" {
		t.Unanswered++
		return "", nil
	}
	t.Compared++
	if !a.Same {
		return "", nil
	}
	t.Same++
	margin := equal * max(a.Ours, a.Upstream)
	text := ""
	switch {
	case a.Ours < a.Upstream-margin:
		t.Cheaper++
	case a.Ours > a.Upstream+margin:
		standing, err := other()
		if err != nil {
			return "", err
		}
		if apart := map[judge.Standing]*int{faulty: &t.Faulty, judge.Weaker: &t.Weaker, judge.Later: &t.Later, judge.Unsettled: &t.Unsettled}[standing]; apart != nil {
			*apart++
			return "", nil
		}
		t.MoreExpensive++
		text = fmt.Sprintf("our plan costs $%.5f/h, upstream's $%.5f/h for the same pods", a.Ours, a.Upstream)
	}
	t.Ours, t.Upstream = t.Ours+a.Ours, t.Upstream+a.Upstream
	return text, nil
}
