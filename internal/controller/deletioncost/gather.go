package deletioncost

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// view is what one pass ranks. Its objects are shared with the cache and must not be changed.
type view struct {
	nodes []standing
	// drift and underutilized are how many more nodes of each pool may be disrupted for these reasons.
	drift, underutilized disrupt.Budgets
	// pods are the managed ones of each node, by the ID of the node.
	pods map[string][]managedPod
}

// inspection is what the group of a node depends on beside the node.
type inspection struct {
	rules     disrupt.QualifyInput
	obstacles map[string]bool
	prices    map[string]problem.PoolPrices
	budgets   podrules.Budgets
	now       time.Time
}

// gather reads the cluster state and, from the cache, what it does not hold.
func (c *Controller) gather(ctx context.Context) (view, error) {
	snapshot, now, reader := c.Store.Snapshot(), c.Clock.Now(), problem.ClientReader{Client: c.Client}
	pools, err := c.pools(ctx, reader)
	if err != nil {
		return view{}, err
	}
	pdbs, err := reader.DisruptionBudgets(ctx)
	if err != nil {
		return view{}, fmt.Errorf("listing pod disruption budgets: %w", err)
	}
	in := inspection{
		rules: problem.Qualification(snapshot, now, pools, nil, nil), obstacles: map[string]bool{}, prices: map[string]problem.PoolPrices{}, now: now,
	}
	if in.budgets, err = podrules.NewBudgets(pdbs); err != nil {
		c.Log.Error("some pod disruption budgets cannot be read and are not considered", logfield.Error(err))
	}
	for name, pool := range pools {
		types, err := c.Cloud.Provider.InstanceTypes(ctx, pool)
		if err != nil {
			return view{}, fmt.Errorf("listing the instance types of nodepool %q: %w", name, err)
		}
		in.prices[name] = problem.PricesOf(types)
	}
	_, obstacles := disrupt.Qualify(in.rules)
	for _, o := range obstacles {
		in.obstacles[o.Node.ID] = true
	}
	out := view{
		drift: allowed(snapshot, pools, disrupt.Drifted, now), underutilized: allowed(snapshot, pools, disrupt.Underutilized, now),
		pods: map[string][]managedPod{},
	}
	for id, n := range snapshot.Nodes.All() {
		if !n.Managed || n.NodeName == "" {
			continue
		}
		s := standing{node: n, group: staying}
		if pods, err := reader.PodsOn(ctx, n.NodeName); err != nil {
			c.Log.Error("cannot list the pods of a node, leaving it alone", logfield.Node(n.NodeName), logfield.Error(err))
			s.ratio = in.prices[n.Pool].Of(n)
		} else {
			out.pods[id] = managedPods(pods)
			s.ratio, s.group = in.prices[n.Pool].Of(n)/disrupt.RescheduleCost(n), in.group(n, pods)
		}
		out.nodes = append(out.nodes, s)
	}
	return out, nil
}

// pools are the NodePools of this installation, by name.
func (c *Controller) pools(ctx context.Context, reader problem.Reader) (map[string]*v1.NodePool, error) {
	list, err := reader.NodePools(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing nodepools: %w", err)
	}
	out := make(map[string]*v1.NodePool, len(list))
	for _, pool := range list {
		if managed.Is(c.Cloud, pool) {
			out[pool.Name] = pool
		}
	}
	return out, nil
}

// allowed is how many more nodes of each pool its budgets let be disrupted for a reason. A budget that cannot be evaluated allows nothing.
func allowed(snapshot *model.Snapshot, pools map[string]*v1.NodePool, reason disrupt.Reason, now time.Time) disrupt.Budgets {
	usages, out := disrupt.Usages(snapshot, nil, reason), make(disrupt.Budgets, len(pools))
	for name, pool := range pools {
		usage := usages[name]
		if n, err := pool.AllowedDisruptions(now, usage.Nodes, v1.DisruptionReason(reason)); err == nil {
			out[name] = usage.Remaining(n)
		}
	}
	return out
}

// group is what disruption may do to a node with these pods, before budgets.
func (in inspection) group(n *model.Node, pods []*corev1.Pod) group {
	candidate := disrupt.Candidate{Node: n, Pool: in.rules.Pools[n.Pool]}
	prices := in.prices[n.Pool]
	prices.Set(&candidate)
	switch {
	case n.Deleting || slices.ContainsFunc(n.RawTaints, func(t model.Taint) bool { return t.Key == v1.DisruptedTaintKey }):
		return leaving
	case in.obstacles[n.ID], in.blocked(n, pods), slices.ContainsFunc(pods, pins):
		return staying
	case !candidate.TypeKnown && !candidate.Pool.NoInstanceTypes && n.Labels[corev1.LabelInstanceTypeStable] != "":
		return staying
	case n.Disruption.Drifted && !candidate.Pool.Static:
		return drifted
	case candidate.Pool.ConsolidationDisabled:
		return staying
	}
	return consolidatable
}

// blocked reports whether a pod forbids the disruption of its node.
func (in inspection) blocked(n *model.Node, pods []*corev1.Pod) bool {
	return problem.InspectPods(n, pods, in.budgets, problem.PDBLimits{}, in.now).Blocked
}
