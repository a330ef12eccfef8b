package main

import (
	"context"
	"slices"
	"time"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/oracle/generator"
	"github.com/karpenter-anew/karpenter/test/oracle/judge"
	"github.com/karpenter-anew/karpenter/test/oracle/shrink"
)

const (
	// maxTries is how many smaller problems are tried for a failure: some seconds of work, but hours for a large cluster.
	maxTries = 1500
	// maxShrinking is when the attempts for a failure end.
	maxShrinking = 3 * time.Minute
)

// newJudge builds a judge for the simulated cloud with its generic catalog, which scenarios use, too.
func newJudge(ctx context.Context) (*judge.Judge, error) {
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		return nil, err
	}
	reader, err := manifest.NewReader(definitions)
	if err != nil {
		return nil, err
	}
	c, err := newCloud()
	if err != nil {
		return nil, err
	}
	return judge.New(ctx, reader, c)
}

func newCloud() (cloud.Cloud, error) { return kwok.New(nil, kwok.Options{}) }

// newClusters builds what writes problems about disruption.
func newClusters(ctx context.Context) (*generator.Clusters, error) {
	c, err := newCloud()
	if err != nil {
		return nil, err
	}
	return generator.NewClusters(ctx, c)
}

// scenario is a small problem whose answer is wrong in the same way as the first failure, with the plan of today.
func (w wrongAnswer) scenario(ctx context.Context, j *judge.Judge) ([]byte, error) {
	small := w.problem
	if kind := w.failures[0].Kind; kind == judge.MoreExpensive || kind == judge.SavesLess { // the judge does not know: it is left as it is
		plan, err := j.Plan(small)
		if err != nil {
			return nil, err
		}
		return small.Scenario("Upstream's answer is better ("+string(kind)+"): "+w.failures[0].Text, plan)
	}
	ctx, cancel := context.WithTimeout(ctx, maxShrinking)
	defer cancel()
	small.Documents = shrink.Documents(ctx, small.Documents, maxTries, func(documents []map[string]any) bool {
		tried := small
		tried.Documents = documents
		return slices.ContainsFunc(j.Judge(tried), w.failures[0].Same)
	})
	text := w.failures[0].Text
	for _, f := range j.Judge(small) {
		if w.failures[0].Same(f) {
			text = f.Text
		}
	}
	plan, err := j.Plan(small)
	if err != nil {
		return nil, err
	}
	return small.Scenario("Wrong ("+string(w.failures[0].Kind)+"): "+text, plan)
}
