package simulation

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// Cluster is a cluster whose nodes and pods change, for those who simulate what happens over time: its cluster state is the store of the
// controllers, which knows of nodes that are marked for deletion, nominated, or on their way. It is not safe for concurrent use.
type Cluster struct {
	w        *clusterObjects
	opts     Options
	provider cloud.Provider
	builder  problem.Builder
	caps     *costCaps // nil for none
	plans    disruptionPlans
	result   Result
	prices   map[string]problem.PoolPrices
	pools    map[string]*v1.NodePool
	pods     map[string]*corev1.Pod // by UID
}

// NewCluster returns the cluster of objects, with the virtual pods of its buffers. Errors are those of the provider that lists instance types.
func NewCluster(ctx context.Context, objects []client.Object, c cloud.Cloud, opts Options) (*Cluster, error) {
	w := gather(objects, c, opts)
	result, err := w.run(ctx, opts)
	if err != nil {
		return nil, err
	}
	provider, _ := w.provider(ctx, opts)
	caps := w.capsOn(ctx, provider, opts)
	out := &Cluster{
		w: w, opts: opts, provider: provider, builder: w.builder(provider, opts, caps), caps: caps, plans: w.plansOf(opts), result: result,
		prices: map[string]problem.PoolPrices{}, pools: map[string]*v1.NodePool{}, pods: map[string]*corev1.Pod{},
	}
	for name, pool := range w.pools {
		if !c.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		out.pools[name] = pool
		// A pool without types has nodes of unknown price.
		if types, err := provider.InstanceTypes(ctx, pool); err == nil {
			out.prices[name] = problem.PricesOf(types)
		}
	}
	for _, pod := range w.pods {
		out.pods[string(pod.UID)] = pod
	}
	return out, nil
}

// Result is the simulation of the pods that are pending at first.
func (c *Cluster) Result() Result { return c.result }

// Builder builds problems about the cluster.
func (c *Cluster) Builder() problem.Builder { return c.builder }

// Pools are the managed pools, with the conditions that their controllers would set.
func (c *Cluster) Pools() map[string]*v1.NodePool { return c.pools }

// Snapshot is the cluster state.
func (c *Cluster) Snapshot() *model.Snapshot { return c.w.snapshot(c.opts) }

// UpdateNode applies the current version of a Node, which must not be changed afterwards; UpdateNodeClaim and UpdatePod do for others.
func (c *Cluster) UpdateNode(node *corev1.Node) { c.w.store.UpdateNode(node) }

// UpdateNodeClaim is like UpdateNode.
func (c *Cluster) UpdateNodeClaim(claim *v1.NodeClaim) {
	c.w.store.UpdateNodeClaim(claim)
	if c.caps != nil {
		c.caps.claims[claim.Name] = claim
	}
}

// Policies are the OperationsPolicies that count.
func (c *Cluster) Policies() []opsv1alpha1.OperationsPolicy { return c.w.considered(c.opts) }

// Admit returns a policy.ExceededError if launches would exceed a cap on cost.
func (c *Cluster) Admit(claims ...*v1.NodeClaim) error {
	if c.caps == nil {
		return nil
	}
	return c.caps.admit(c.pools, claims)
}

// UpdatePod is like UpdateNode.
func (c *Cluster) UpdatePod(pod *corev1.Pod) {
	uid := string(pod.UID)
	c.forget(uid)
	c.pods[uid] = pod
	if node := pod.Spec.NodeName; node != "" {
		on := append(slices.Clone(c.w.podsOn[node]), pod)
		slices.SortFunc(on, func(a, b *corev1.Pod) int { return strings.Compare(identity(a), identity(b)) })
		c.w.podsOn[node] = on
	}
	c.w.store.UpdatePod(pod)
}

// RemovePod removes a pod.
func (c *Cluster) RemovePod(uid string) {
	c.forget(uid)
	delete(c.pods, uid)
	c.w.store.DeletePod(uid)
}

// forget removes a pod from the list of those on its node.
func (c *Cluster) forget(uid string) {
	before := c.pods[uid]
	if before == nil || before.Spec.NodeName == "" {
		return
	}
	c.w.podsOn[before.Spec.NodeName] = slices.DeleteFunc(slices.Clone(c.w.podsOn[before.Spec.NodeName]), func(p *corev1.Pod) bool { return string(p.UID) == uid })
}

// RemoveNode removes a Node and a NodeClaim; either may be empty.
func (c *Cluster) RemoveNode(node, claim string) {
	if node != "" {
		c.w.store.DeleteNode(node)
	}
	if claim != "" {
		c.w.store.DeleteNodeClaim(claim)
		if c.caps != nil {
			delete(c.caps.claims, claim)
		}
	}
}

// Mark marks nodes for deletion, as the controller does when their replacements exist.
func (c *Cluster) Mark(ids ...string) { c.w.store.Mark(ids...) }

// Nominate protects nodes that pods are expected on.
func (c *Cluster) Nominate(until time.Time, ids ...string) { c.w.store.Nominate(until, ids...) }

// View is the cluster as disruption sees it now.
func (c *Cluster) View() DisruptionView {
	f := DisruptionView{
		Snapshot: c.Snapshot(), Builder: c.builder, Result: c.result, Pools: c.pools, Prices: c.prices, Surplus: map[string]bool{},
		Pods: c.w.podsOn, PDBLimits: problem.NewPDBLimits(c.w.budgets), terminateFirstDrift: c.opts.TerminateFirstDrift, policies: c.w.considered(c.opts),
		plans: c.plans,
	}
	f.PDBs, _ = podrules.NewBudgets(c.w.budgets) // the result warns of the others
	for name, pool := range c.pools {
		f.Surplus[name] = pool.Spec.Replicas != nil && c.w.store.Pools.Counts(name).Exceeds(*pool.Spec.Replicas)
	}
	return f
}

// Provision plans as a pass of provisioning does. Pods that were nominated to nodes that start count there for window. Nominations to existing
// nodes and headroom are recorded; the NodeClaims of the plan are for the caller to add.
func (c *Cluster) Provision(ctx context.Context, now time.Time, nominations problem.Nominations, window time.Duration) (solve.Plan, error) {
	snapshot := c.Snapshot()
	in, err := c.builder.WithoutPools(ctx, snapshot, now)
	if err != nil {
		return solve.Plan{}, err
	}
	in.Problem.Pods, in.Problem.Nodes = nominations.Reserve(in.Problem.Pods, in.Problem.Nodes, now, window)
	if len(in.Problem.Pods) == 0 {
		c.w.store.Buffers.SetHeadroom(nil)
		return solve.Plan{}, nil
	}
	if err := c.builder.AddPools(ctx, snapshot, &in); err != nil {
		return solve.Plan{}, err
	}
	plan := solve.Solve(in.Problem)
	kept := map[string]cluster.Headroom{}
	for _, at := range plan.Placements {
		if h := headroomOf(at.Pods); len(h) > 0 {
			kept[at.Node.ID] = h
		}
		if slices.ContainsFunc(at.Pods, func(p *model.Pod) bool { return !p.Virtual }) {
			c.Nominate(now.Add(window), at.Node.ID)
		}
	}
	c.w.store.Buffers.SetHeadroom(kept)
	nominations.Note(plan.Placements)
	return plan, nil
}

// KeepHeadroom records that a NodeClaim is launched for virtual pods, too.
func (c *Cluster) KeepHeadroom(claim string, pods []*model.Pod) {
	if h := headroomOf(pods); len(h) > 0 {
		c.w.store.Buffers.KeepHeadroom(claim, h)
	}
}

// Schedule is where pods that are pending start, of nodes that run and stay: what kube-scheduler is assumed to do. It launches nothing.
func (c *Cluster) Schedule(ctx context.Context, now time.Time) ([]solve.Placement, error) {
	snapshot := c.Snapshot()
	if snapshot.Pending.Len() == 0 {
		return nil, nil
	}
	in, err := c.builder.WithoutPools(ctx, snapshot, now)
	if err != nil {
		return nil, err
	}
	in.Problem.Pods = slices.DeleteFunc(in.Problem.Pods, func(p *model.Pod) bool { return p.Virtual || p.Node != "" })
	in.Problem.Nodes = slices.DeleteFunc(slices.Clone(in.Problem.Nodes), func(n *model.Node) bool {
		leaves := slices.ContainsFunc(n.RawTaints, func(t model.Taint) bool { return t.Key == v1.DisruptedTaintKey })
		return n.NodeName == "" || !n.Initialized || leaves
	})
	return solve.Solve(in.Problem).Placements, nil
}
