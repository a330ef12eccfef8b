package translate

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Batch is what a snapshot asks of the engine.
type Batch struct {
	// Problem has the pods that wait, virtual ones included, the nodes that stay and the daemons. Pools are the caller's to
	// add, and pods that have to leave their node.
	Problem solve.Problem
	// Rejected are pods that wait and cannot be considered, sorted by UID.
	Rejected []*model.Pod
	// Leaving are the nodes being deleted that still have pods, sorted by ID.
	Leaving []*model.Node
}

// Batch sorts out who takes part in a run over snapshot. Source: scheduling specification, one provisioning iteration.
func (t *Translator) Batch(snapshot *model.Snapshot, options solve.Options) Batch {
	options.WellKnown, options.Custom = t.WellKnown, t.Custom
	b := Batch{Problem: solve.Problem{
		Resources:  snapshot.Resources.Names(),
		DaemonSets: daemons(snapshot),
		Namespaces: snapshot.Namespaces,
		Devices:    snapshot.Devices,
		Options:    options,
	}}
	b.Problem.Pods = make([]*model.Pod, 0, snapshot.Pending.Len()+len(snapshot.Virtual))
	for _, pod := range snapshot.Pending.Sorted() {
		if pod.Rejected != "" {
			b.Rejected = append(b.Rejected, pod)
			continue
		}
		b.Problem.Pods = append(b.Problem.Pods, pod)
	}
	b.Problem.Pods = append(b.Problem.Pods, snapshot.Virtual...)
	for _, n := range snapshot.Nodes.Sorted() {
		switch {
		case !n.Deleting:
			b.Problem.Nodes = append(b.Problem.Nodes, n)
		case n.NodeName != "" && len(n.Pods) > 0:
			b.Leaving = append(b.Leaving, n)
		}
	}
	b.Problem.ExcludedNodes = b.Leaving
	return b
}

// daemons are those that take room. Those that need devices cannot run anywhere while devices are ignored.
func daemons(snapshot *model.Snapshot) []*model.DaemonSet {
	all := snapshot.DaemonSets.Sorted()
	if snapshot.Devices != nil || !slices.ContainsFunc(all, func(d *model.DaemonSet) bool { return d.UsesDevices }) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(d *model.DaemonSet) bool { return d.UsesDevices })
}

// Unusable says why nothing may be launched from the pool; empty for pools that may be used.
// Source: scheduling specification, building the scheduler input.
func Unusable(pool *v1.NodePool, c cloud.Cloud) string {
	ref := pool.Spec.Template.Spec.NodeClassRef
	switch {
	case !c.Manages(ref):
		if ref == nil {
			return "it has no nodeClassRef"
		}
		return fmt.Sprintf("its node class is a %s of %s, which cloud %s does not have", ref.Kind, ref.Group, c.Name)
	case pool.Spec.Replicas != nil:
		return "it is static: its number of nodes is spec.replicas"
	case !pool.DeletionTimestamp.IsZero():
		return "it is being deleted"
	case condition.Status(pool, v1.ConditionTypeReady) != "True":
		return "it is not ready"
	}
	return ""
}
