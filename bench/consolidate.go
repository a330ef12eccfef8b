package main

import (
	"context"
	"io"

	policyv1 "k8s.io/api/policy/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/bench/upstream"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
)

// consolidated is the command of upstream's multi-node consolidation for one cluster, as a line of JSON.
type consolidated struct {
	// Name is that of the scenario.
	Name string `json:"name"`
	upstream.Command
	// Error is why there is no answer.
	Error string `json:"error,omitempty"`
}

// consolidate prints upstream's command for every scenario of a folder. Their files have all objects of a running cluster.
func consolidate(ctx context.Context, folder string, out io.Writer) error {
	return eachScenario(folder, out, func(s scenariofile.Scenario, reader *manifest.Reader, vendor cloud.Cloud) any {
		c := consolidated{Name: s.Name}
		if err := c.answer(ctx, s, reader, vendor); err != nil {
			c.Error = err.Error()
		}
		return c
	})
}

func (c *consolidated) answer(ctx context.Context, s scenariofile.Scenario, reader *manifest.Reader, vendor cloud.Cloud) (err error) {
	defer recovered(&err)
	objects, err := objectsOf(s, reader)
	if err != nil {
		return err
	}
	o, err := occupied(ctx, objects, vendor)
	if err != nil {
		return err
	}
	o.IgnorePreferences, o.BestEffortMinValues = s.Options.PreferencePolicy == string(model.IgnorePreferences), s.Options.BestEffortMinValues
	r := upstream.Running{Occupied: o, Now: s.Options.Now, SpotToSpot: s.Options.SpotToSpot}
	for _, object := range objects {
		switch object := object.(type) {
		case *v1.NodeClaim:
			r.Claims = append(r.Claims, object)
		case *policyv1.PodDisruptionBudget:
			r.Objects = append(r.Objects, object)
		}
	}
	c.Command, err = upstream.Consolidate(r)
	return err
}
