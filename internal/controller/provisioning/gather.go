package provisioning

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/ingest"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// input is one pass's question with what is needed to act on the answer.
type input struct {
	problem  solve.Problem
	rejected []*model.Pod
	pools    map[string]*v1.NodePool
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
		Patience:            p.patience,
	})
	in := input{problem: batch.Problem, rejected: batch.Rejected, blind: blind}
	moving, lost, err := p.moving(ctx, batch.Leaving, now)
	if err != nil {
		return input{}, err
	}
	in.rejected = append(in.rejected, lost...)
	if in.problem.Nodes, err = p.expect(ctx, in.problem.Nodes); err != nil {
		return input{}, err
	}
	in.problem.Pods, in.problem.Nodes = p.promises.settle(append(in.problem.Pods, moving...), in.problem.Nodes)
	if len(in.problem.Pods) == 0 {
		return in, nil
	}
	in.pools, in.problem.Pools, err = p.usablePools(ctx)
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
	for _, n := range leaving {
		var pods corev1.PodList
		if err := p.Client.List(ctx, &pods, client.MatchingFields{"spec.nodeName": n.NodeName}); err != nil {
			return nil, nil, fmt.Errorf("listing the pods of node %q: %w", n.NodeName, err)
		}
		for i := range pods.Items {
			if !podrules.CurrentlyReschedulable(&pods.Items[i], budgets, now) {
				continue
			}
			if pod := p.Store.Translate(&pods.Items[i]); pod.Rejected == "" {
				out = append(out, pod)
			} else {
				lost = append(lost, pod)
			}
		}
	}
	return out, lost, nil
}

// usablePools are the pools that may launch: ours, not static, ready, not being deleted, with instance types to choose from.
func (p *Provisioner) usablePools(ctx context.Context) (map[string]*v1.NodePool, []*model.Pool, error) {
	var list v1.NodePoolList
	if err := p.Client.List(ctx, &list); err != nil {
		return nil, nil, fmt.Errorf("listing node pools: %w", err)
	}
	byName := map[string]*v1.NodePool{}
	var out []*model.Pool
	for i := range list.Items {
		pool := &list.Items[i]
		if !p.Cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		if why := ingest.Unusable(pool, p.Cloud); why != "" {
			p.Log.Log(ctx, p.level(slog.LevelInfo, "unusable "+pool.Name+why), "skipping nodepool", "NodePool", pool.Name, "reason", why)
			continue
		}
		types, err := p.Cloud.Provider.InstanceTypes(ctx, pool)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if cloud.IsUnevaluatedNodePool(err) {
			p.Log.Debug("skipping nodepool, node overlays are not evaluated for it yet", "NodePool", pool.Name)
			continue
		}
		if err != nil || len(types) == 0 {
			p.Log.Error("skipping nodepool, no instance types", "NodePool", pool.Name, "error", err)
			continue
		}
		byName[pool.Name] = pool
		out = append(out, p.Translator.Pool(pool, p.catalogs.Of(types)))
	}
	return byName, out, nil
}
