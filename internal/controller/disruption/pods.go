package disruption

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// podBlocks inspects the pods of the candidates and returns the obstacles among them, by node ID. Failing to list the pods of a node
// is an obstacle for that node only.
func (g *gatherer) podBlocks(ctx context.Context, v view, candidates []disrupt.Candidate) map[string]disrupt.Obstacle {
	blocks := map[string]disrupt.Obstacle{}
	for _, candidate := range candidates {
		if o, blocked := g.podBlock(ctx, v, candidate.Node); blocked {
			blocks[candidate.Node.ID] = o
		}
	}
	return blocks
}

// setDrainRounds sets the number of rounds that the drain of each candidate takes, for candidates whose pods were inspected.
func (v view) setDrainRounds(fit []disrupt.Candidate) {
	for i, candidate := range fit {
		fit[i].DrainRounds = v.drainRounds[candidate.Node.ID]
	}
}

// podBlock is the first obstacle among the pods of a node: annotations before budgets.
func (g *gatherer) podBlock(ctx context.Context, v view, n *model.Node) (disrupt.Obstacle, bool) {
	var list corev1.PodList
	if err := g.Client.List(ctx, &list, client.MatchingFields{nodelookup.PodNode: n.NodeName}, client.UnsafeDisableDeepCopy); err != nil {
		g.Log.Error("cannot list the pods of a node, leaving it alone", logfield.Node(n.NodeName), logfield.Error(err))
		return disrupt.Obstacle{Code: disrupt.PodsUnknown, Node: n, Cause: err.Error()}, true
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	found := problem.InspectPods(n, pods, v.budgets, v.pdbLimits, v.now)
	v.drainRounds[n.ID] = found.DrainRounds()
	g.warnOfPDBs(found.PDBLimits)
	for _, uid := range found.Unevictable {
		v.unevictable[uid] = true
	}
	for _, pod := range pods {
		if podrules.Active(pod) {
			g.Recorder.Publish(observe.Protection(pod, v.now)...)
		}
		g.warnOfCost(pod)
		if !podrules.Disruptable(pod, v.now) {
			break
		}
	}
	return found.Obstacle, found.Blocked
}

// warnOfPDBs logs budgets that never allow a disruption, each once per warnInterval.
func (g *gatherer) warnOfPDBs(limits []problem.PDBLimit) {
	for _, l := range limits {
		if !l.Never {
			continue
		}
		if _, said := g.warned.Get(l.PDB); !said {
			g.warned.Set(l.PDB, true)
			g.Log.Warn("a pod disruption budget wants as many healthy pods as there are and can never allow a disruption",
				logfield.PodDisruptionBudget(l.PDB))
		}
	}
}

// warnOfCost logs the cost of a pod that cannot be parsed, once per warnInterval.
func (g *gatherer) warnOfCost(pod *corev1.Pod) {
	invalid := g.Translator.CheckCost(pod)
	if invalid == nil {
		return
	}
	key := string(pod.UID) + invalid.Annotation + invalid.Value
	if _, said := g.warned.Get(key); !said {
		g.warned.Set(key, true)
		g.Log.Error(invalid.Error(), logfield.Pod(pod.Namespace+"/"+pod.Name), logfield.Annotation(invalid.Annotation),
			logfield.Value(invalid.Value), logfield.Error(invalid.Cause))
	}
}
