package disruption

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/translate"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// view is the state of the cluster at one moment. The objects are shared with the cache and must not be changed.
type view struct {
	now      time.Time
	snapshot *model.Snapshot
	// running are the IDs of nodes in running commands, read before the snapshot: a node whose command ended since then is
	// still protected from the clean-up of marks.
	running map[string]bool
	// inCommand are the IDs of nodes in any command, read before the snapshot and before the backoffs: the nodes of a command that
	// ends meanwhile are in one of the two, or in this set.
	inCommand map[string]bool
	// underway are the commands whose effects the snapshot does not show, read before it.
	underway []disrupt.Command
	// pools are those of this installation, by name.
	pools  map[string]*v1.NodePool
	claims map[string]*v1.NodeClaim
	nodes  map[string]*corev1.Node
	// budgets are the PodDisruptionBudgets of the cluster.
	budgets podrules.Budgets
	// queues are the budgets applied to all pods of a node together; drainRounds are the rounds that the drain of a node takes, by ID,
	// for inspected nodes.
	pdbLimits   problem.PDBLimits
	drainRounds map[string]int
	// unevictable are the UIDs of pods on inspected nodes that must not be evicted now.
	unevictable map[string]bool
	// nodeBackoff are the nodes that are not considered because commands for them failed; groupBackoff are those that are considered
	// only in commands for a single node.
	nodeBackoff, groupBackoff map[string]bool
	// poolBackoff are pools that launch no replacements because some failed.
	poolBackoff map[string]bool
	// surplus are static pools with more nodes than replicas.
	surplus map[string]bool
	// operations is what OperationsPolicies say about pools.
	operations problem.Operations
	// plans are the DisruptionPlans, proposals those that hold nodes, by node ID.
	plans     []*opsv1alpha1.DisruptionPlan
	proposals map[string]disrupt.Proposal
	// limits are the node limits of static pools that have one.
	limits map[string]int64
}

// gatherer reads what decisions need: the state of the cluster, the pods of nodes, prices, the input of simulations. Only the loop
// uses it.
type gatherer struct {
	Deps
	queue    *queue
	backoffs *backoffSet
	prices   *prices
	catalogs *translate.Catalogs
	plans    *plans
	// warned has the warnings that were logged within warnInterval.
	warned *ttlcache.Cache[string, bool]
}

func (g *gatherer) gather(ctx context.Context) (view, error) {
	v := view{
		now: g.Clock.Now(), running: g.queue.running(), inCommand: g.queue.nodes(""), underway: g.queue.underway(),
		unevictable: map[string]bool{}, surplus: map[string]bool{}, limits: map[string]int64{}, drainRounds: map[string]int{}, proposals: map[string]disrupt.Proposal{},
	}
	v.nodeBackoff, v.groupBackoff, v.poolBackoff = g.backoffs.nodes.Active(v.now), g.backoffs.groups.Active(v.now), g.backoffs.pools.Active(v.now)
	v.snapshot = g.Store.Snapshot()
	var pools v1.NodePoolList
	var claims v1.NodeClaimList
	var nodes corev1.NodeList
	var budgets policyv1.PodDisruptionBudgetList
	for _, list := range []client.ObjectList{&pools, &claims, &nodes, &budgets} {
		if err := g.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return view{}, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	v.claims = byName(claims.Items, func(claim *v1.NodeClaim) string { return claim.Name })
	v.nodes = byName(nodes.Items, func(node *corev1.Node) string { return node.Name })
	v.pools = byName(pools.Items, func(pool *v1.NodePool) string { return pool.Name })
	for name, pool := range v.pools {
		if !managed.Is(g.Cloud, pool) {
			delete(v.pools, name)
		}
	}
	if err := g.readPolicies(ctx, &v); err != nil {
		return view{}, err
	}
	g.countStatic(v)
	v.pdbLimits = problem.NewPDBLimits(budgets.Items)
	var err error
	if v.budgets, err = podrules.NewBudgets(budgets.Items); err != nil {
		g.Log.Error("some pod disruption budgets cannot be read and are not considered", logfield.Error(err))
	}
	return v, nil
}

// readPolicies reads the OperationsPolicies, if the feature gate for them is on.
func (g *gatherer) readPolicies(ctx context.Context, v *view) error {
	if !g.Gates.OperationsPolicy {
		return nil
	}
	var list opsv1alpha1.OperationsPolicyList
	if err := g.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing operations policies: %w", err)
	}
	v.operations = problem.NewOperations(list.Items, v.pools, v.now)
	return g.plans.read(ctx, v)
}

func byName[T any](items []T, name func(*T) string) map[string]*T {
	out := make(map[string]*T, len(items))
	for i := range items {
		out[name(&items[i])] = &items[i]
	}
	return out
}

// qualifyInput is the input of disrupt.Qualify; busy are the nodes to exclude because of other commands.
func (v view) qualifyInput(busy map[string]bool) disrupt.QualifyInput {
	in := problem.Qualification(v.snapshot, v.now, v.pools, v.surplus, v.poolBackoff)
	v.operations.Apply(in.Pools)
	in.Proposals = v.proposals
	in.InCommand, in.Backoff, in.GroupBackoff = busy, v.nodeBackoff, v.groupBackoff
	return in
}

// pledged returns the IDs of the nodes in all commands except one: commands that are in the queue now, and commands that were in it
// when the view was gathered. The nodes of a command that has ended since then are being deleted, which the snapshot may not show.
func (g *gatherer) pledged(v view, except command) map[string]bool {
	out := g.queue.nodes(except.id)
	maps.Copy(out, v.inCommand)
	for _, id := range except.plan.IDs() {
		delete(out, id)
	}
	return out
}

// allowancesFor is what the budgets of every pool allow for a reason. pledged are the nodes of commands to count as disrupting.
func (v view) allowancesFor(reason disrupt.Reason, pledged map[string]bool) problem.Allowances {
	return problem.AllowancesOf(v.snapshot, v.now, v.pools, reason, pledged, v.operations)
}

// countStatic records which static pools have more nodes than replicas, and their limits.
func (g *gatherer) countStatic(v view) {
	for name, pool := range v.pools {
		if pool.Spec.Replicas == nil {
			continue
		}
		v.surplus[name] = g.Store.Pools.Counts(name).Exceeds(*pool.Spec.Replicas)
		if nodes, limited := pool.Spec.Limits.Nodes(); limited {
			v.limits[name] = nodes
		}
	}
}
