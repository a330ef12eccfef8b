package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/karpenter-anew/karpenter/test/oracle/judge"
)

// consolidated is a line of the output of bench about a cluster: the command of upstream's multi-node consolidation.
type consolidated struct {
	Name string
	judge.OtherCommand
	Error string
}

// savingsTally counts the clusters whose multi-node consolidation was compared with upstream's.
type savingsTally struct {
	// Compared are clusters that both sides answered; Unanswered could not be given to upstream.
	Compared, Unanswered int
	// More and Less are clusters in which our command saves more or less. Faulty are those in which upstream's saves more, and would be wrong
	// as a command of the engine; they are not compared.
	More, Less, Faulty int
	// Ours and Upstream are sums in dollars per hour.
	Ours, Upstream float64
}

// String is the tally as part of a sentence.
func (t savingsTally) String() string {
	change := 0.0
	if t.Upstream > 0 {
		change = 100 * (t.Ours/t.Upstream - 1)
	}
	return fmt.Sprintf("consolidation against upstream's, without preferences: %d compared (%d could not be): saves more in %d, less in %d, "+
		"%d where upstream's command would be wrong, sum %+.1f%%", t.Compared, t.Unanswered, t.More, t.Less, t.Faulty, change)
}

// savings compares multi-node consolidation in the clusters of consecutive seeds. Clusters in which our command saves less are returned.
func (u upstreamPrices) savings(ctx context.Context, n numbers) (t savingsTally, less []wrongAnswer, err error) {
	folder, err := os.MkdirTemp("", "oracle-savings-")
	if err != nil {
		return t, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	j, err := newJudge(ctx)
	if err != nil {
		return t, nil, err
	}
	clusters, err := newClusters(ctx)
	if err != nil {
		return t, nil, err
	}
	problems := map[string]judge.Problem{}
	for s := n.seed; s < n.seed+n.count; s++ {
		if !n.disrupts(s) || s/n.every%u.every != 0 {
			continue
		}
		p, err := clusters.Problem(s, n.nodes)
		if err != nil {
			return t, nil, err
		}
		p = p.WithoutPreferences()
		text, err := j.RunningCluster(p)
		if err != nil {
			return t, nil, err
		}
		problems[p.Name] = p
		if err := os.WriteFile(filepath.Join(folder, p.Name+".txtar"), text, 0o600); err != nil {
			return t, nil, err
		}
	}
	err = u.lines(ctx, "-consolidate", folder, func(lines *json.Decoder) error {
		var c consolidated
		if err := lines.Decode(&c); err != nil {
			return err
		}
		text, err := t.add(j, problems[c.Name], c)
		if text != "" {
			less = append(less, wrongAnswer{problems[c.Name], []judge.Failure{{Kind: judge.SavesLess, Text: text}}})
		}
		return err
	})
	return t, less, err
}

// add counts an answer. The text says that our command saves less; empty if it does not.
func (t *savingsTally) add(j *judge.Judge, p judge.Problem, c consolidated) (string, error) {
	if c.Error != "" {
		t.Unanswered++
		return "", nil
	}
	ours, command, err := j.Consolidation(p)
	if err != nil {
		return "", err
	}
	theirs, other, faults := 0.0, "", []judge.Failure(nil)
	if len(c.Removed) > 0 {
		theirs, other, faults = j.CommandFaults(p, c.OtherCommand)
	}
	t.Compared++
	margin := equal * max(ours, theirs)
	text := ""
	switch {
	case ours > theirs+margin:
		t.More++
	case ours < theirs-margin && len(faults) > 0:
		t.Faulty++
		return "", nil
	case ours < theirs-margin:
		t.Less++
		text = fmt.Sprintf("ours saves $%.5f/h: %s; upstream's saves $%.5f/h: %s", ours, command, theirs, other)
	}
	t.Ours, t.Upstream = t.Ours+ours, t.Upstream+theirs
	return text, nil
}
