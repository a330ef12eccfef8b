package provisioning

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// input is one pass's question with what is needed to act on the answer.
type input struct {
	problem  solve.Problem
	rejected []*model.Pod
	pools    map[string]*v1.NodePool
	// unused are pools that could have launched something if they were ready, each with what is the matter.
	unused []string
	// blind is set when the virtual pods of capacity buffers are not all known.
	blind bool
}

// gather reads everything a pass looks at. The snapshot is taken first: pods that get bound meanwhile are then planned for
// once too often at most on capacity that exists, never on capacity that is launched for nothing.
func (p *Provisioner) gather(ctx context.Context, now time.Time) (input, error) {
	blind := false
	if p.Buffers != nil {
		if err := p.Buffers.Hydrate(ctx); err != nil {
			p.Log.Error("cannot look at all capacity buffers, placing pods without them", "error", err)
			blind = true
		}
	}
	snapshot := p.Store.Snapshot()
	batch := p.Translator.Batch(snapshot, solve.Options{
		IgnorePreferences: p.Scheduling.PreferencePolicy == options.PreferenceIgnore,
		MaxInstanceTypes:  p.Cloud.MaxInstanceTypes,

		BestEffortMinValues: p.Scheduling.MinValuesPolicy == options.MinValuesBestEffort,
		Reserved:            p.reserved(),
		ReservationLabel:    p.Cloud.ReservationIDLabel,
		DeviceTimeout:       p.patience,
	})
	in := input{problem: batch.Problem, rejected: batch.Rejected, blind: blind}
	moving, lost, err := p.moving(ctx, batch.Leaving, now)
	if err != nil {
		return input{}, err
	}
	in.rejected = append(in.rejected, lost...)
	if in.problem.Nodes, err = p.builder().Expect(ctx, in.problem.Nodes); err != nil {
		return input{}, err
	}
	in.problem.Pods, in.problem.Nodes = p.promises.settle(append(in.problem.Pods, moving...), in.problem.Nodes, now, p.Scheduling.NominationWindow())
	if len(in.problem.Pods) == 0 {
		return in, nil
	}
	pools, err := p.usablePools(ctx)
	in.pools, in.problem.Pools, in.unused = pools.ByName, pools.Usable, unused(pools.Skipped)
	// The names may have grown while pods and pools were translated.
	in.problem.Resources = snapshot.Resources.Names()
	return in, err
}

// patience begins the time for one search for devices: a pod whose devices are too hard to find must not hold up the others.
func (p *Provisioner) patience() func() bool {
	deadline := p.Clock.Now().Add(allocationTimeout)
	return func() bool { return p.Clock.Now().After(deadline) }
}

// reserved is how reserved offerings are treated: pods wait for the next pass rather than pay for what a reservation
// covers, since what is held by too many claims now is known to be free then.
func (p *Provisioner) reserved() solve.ReservedMode {
	if p.Gates.ReservedCapacity {
		return solve.ReservedStrict
	}
	return solve.ReservedIgnored
}

// moving is the pods on nodes being deleted that need a place elsewhere now: those that may be evicted. For those that are
// lost nobody can say where that could be.
func (p *Provisioner) moving(ctx context.Context, leaving []*model.Node, now time.Time) (out, lost []*model.Pod, err error) {
	if len(leaving) == 0 {
		return nil, nil, nil
	}
	var list policyv1.PodDisruptionBudgetList
	if err := p.Client.List(ctx, &list); err != nil {
		return nil, nil, fmt.Errorf("listing pod disruption budgets: %w", err)
	}
	budgets, err := podrules.NewBudgets(list.Items)
	if err != nil {
		p.Log.Error("some pod disruption budgets cannot be read and are not considered", "error", err)
	}
	return p.builder().Moving(ctx, leaving, budgets, now)
}

// source is where a pass gathers its question.
func (p *Provisioner) builder() problem.Builder {
	return problem.Builder{Client: p.Client, Cloud: p.Cloud, Store: p.Store, Translator: p.Translator, Catalogs: p.catalogs}
}

// usablePools are the pools that may launch; the others are logged.
func (p *Provisioner) usablePools(ctx context.Context) (problem.Pools, error) {
	pools, err := p.builder().Pools(ctx)
	if err != nil {
		return problem.Pools{}, err
	}
	for _, skipped := range pools.Skipped {
		switch {
		case skipped.Why != "":
			level := p.level(slog.LevelInfo, "unusable "+skipped.Pool+skipped.Why)
			p.Log.Log(ctx, level, "skipping nodepool", "NodePool", skipped.Pool, "reason", skipped.Why)
		case cloud.IsUnevaluatedNodePool(skipped.Err):
			p.Log.Debug("skipping nodepool, node overlays are not evaluated for it yet", "NodePool", skipped.Pool)
		default:
			p.Log.Error("skipping nodepool, no instance types", "NodePool", skipped.Pool, "error", skipped.Err)
		}
	}
	return pools, nil
}

// unused says which pools are not ready to launch anything, for pods that might have found a place there.
func unused(skipped []problem.Skipped) []string {
	var out []string
	for _, s := range skipped {
		why := s.Why
		if why == "" {
			why = "its instance types are not known"
		}
		if !s.Static {
			out = append(out, fmt.Sprintf("nodepool %q is not used: %s", s.Pool, why))
		}
	}
	return out
}
