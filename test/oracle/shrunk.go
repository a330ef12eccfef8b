package main

import (
	"context"
	"slices"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/oracle/judge"
	"github.com/karpenter-anew/karpenter/test/oracle/shrink"
)

// maxTries is how many smaller problems are tried for a failure: some seconds of work.
const maxTries = 600

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
	c, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		return nil, err
	}
	return judge.New(ctx, reader, c)
}

// scenario is a small problem whose answer is wrong in the same way as the first failure, with the plan of today.
func (w wrongAnswer) scenario(j *judge.Judge) ([]byte, error) {
	small := w.problem
	small.Documents = shrink.Documents(small.Documents, maxTries, func(documents []map[string]any) bool {
		tried := small
		tried.Documents = documents
		return slices.ContainsFunc(j.Provisioning(tried), w.failures[0].Same)
	})
	text := w.failures[0].Text
	for _, f := range j.Provisioning(small) {
		if f.Same(w.failures[0]) {
			text = f.Text
		}
	}
	plan, err := j.Plan(small)
	if err != nil {
		return nil, err
	}
	return small.Scenario("Wrong ("+string(w.failures[0].Kind)+"): "+text, plan)
}
