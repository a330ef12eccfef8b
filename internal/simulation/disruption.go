package simulation

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/buffer"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// DisruptionView is the cluster as disruption sees it, after pending pods were nominated to their nodes. It must not be
// changed.
type DisruptionView struct {
	Snapshot *model.Snapshot
	// Builder builds the input of simulations.
	Builder problem.Builder
	// Result is the simulation of the pending pods.
	Result Result
	// Pools are the managed pools, with the conditions that their controllers would set.
	Pools map[string]*v1.NodePool
	// Prices are those of the instance types of the pools.
	Prices map[string]problem.PoolPrices
	// Surplus are static pools with more nodes than replicas.
	Surplus map[string]bool
	// Pods are the pods of each node, by its name, in a fixed order.
	Pods map[string][]*corev1.Pod
	// PDBs are the PodDisruptionBudgets that can be read, PDBLimits what they mean for the pods of a node together.
	PDBs      podrules.Budgets
	PDBLimits problem.PDBLimits

	terminateFirstDrift bool
	policies            []opsv1alpha1.OperationsPolicy
	plans               disruptionPlans
}

// nominationPeriod is how long nodes stay nominated: longer than any evaluation of a DisruptionView takes.
const nominationPeriod = time.Hour

// ViewForDisruption returns what disruption would see of objects.
func ViewForDisruption(ctx context.Context, objects []client.Object, c cloud.Cloud, opts Options) (DisruptionView, error) {
	w := gather(objects, c, opts)
	result, err := w.run(ctx, opts)
	if err != nil {
		return DisruptionView{}, err
	}
	w.nominate(result.Plan, opts.Now)
	provider, _ := w.provider(ctx, opts)
	f := DisruptionView{
		Snapshot: w.snapshot(opts), Builder: w.builder(provider, opts, w.capsOn(ctx, provider, opts)), Result: result, Pools: map[string]*v1.NodePool{},
		Prices: map[string]problem.PoolPrices{}, Surplus: map[string]bool{}, Pods: w.podsOn, PDBLimits: problem.NewPDBLimits(w.budgets),
		terminateFirstDrift: opts.TerminateFirstDrift, policies: w.considered(opts),
		plans: w.plansOf(opts),
	}
	f.PDBs, _ = podrules.NewBudgets(w.budgets) // the result warns of the others
	for _, name := range slices.Sorted(maps.Keys(w.pools)) {
		pool := w.pools[name]
		if !c.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		f.Pools[name] = pool
		// A pool without types has nodes of unknown price.
		if types, err := provider.InstanceTypes(ctx, pool); err == nil {
			f.Prices[name] = problem.PricesOf(types)
		}
		f.Surplus[name] = pool.Spec.Replicas != nil && w.store.Pools.Counts(name).Exceeds(*pool.Spec.Replicas)
	}
	return f, nil
}

// nominate records which nodes the pods of a plan count on, real and virtual pods.
func (w *clusterObjects) nominate(plan solve.Plan, now time.Time) {
	kept := map[string]cluster.Headroom{}
	for _, at := range plan.Placements {
		if slices.ContainsFunc(at.Pods, func(p *model.Pod) bool { return !p.Virtual }) {
			w.store.Nominate(now.Add(nominationPeriod), at.Node.ID)
		}
		if h := headroomOf(at.Pods); len(h) > 0 {
			kept[at.Node.ID] = h
		}
	}
	w.store.Buffers.SetHeadroom(kept)
}

// headroomOf counts the virtual pods among pods by their buffers.
func headroomOf(pods []*model.Pod) cluster.Headroom {
	out := cluster.Headroom{}
	for _, p := range pods {
		if p.Virtual {
			out[buffer.Of(p).String()]++
		}
	}
	return out
}
