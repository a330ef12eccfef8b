package problem

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// disruptionRules are the settings of a NodePool for the disruption of its nodes.
func disruptionRules(pool *v1.NodePool) disrupt.Pool {
	rules := disrupt.Pool{
		Name:   pool.Name,
		Static: pool.Spec.Replicas != nil,
		Usable: pool.DeletionTimestamp.IsZero() && condition.Status(pool, v1.ConditionTypeReady) == "True",
		Policy: string(pool.Spec.Disruption.ConsolidationPolicy),
	}
	if nodes, limited := pool.Spec.Limits.Nodes(); limited && rules.Static {
		rules.NoSpareNode = nodes <= *pool.Spec.Replicas
	}
	if after := pool.Spec.Disruption.ConsolidateAfter.Duration; after != nil {
		rules.ConsolidateAfter = *after
	} else {
		rules.ConsolidationDisabled = true
	}
	return rules
}

// podObstacle is the first obstacle to disruption among the pods of a node: annotations before budgets.
func podObstacle(n *model.Node, pods []*corev1.Pod, budgets podrules.Budgets, now time.Time) (disrupt.Obstacle, bool) {
	for _, pod := range pods {
		if !podrules.Disruptable(pod, now) {
			id := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
			return disrupt.Obstacle{Code: disrupt.PodProtected, Node: n, Pod: id.String()}, true
		}
	}
	block, blocked := budgets.FirstBlocked(pods, now, podrules.ZeroDisruptions)
	if !blocked {
		return disrupt.Obstacle{}, false
	}
	o := disrupt.Obstacle{Code: disrupt.PDBBlocked, Node: n, Pod: block.Pod.String()}
	if block.Multiple() {
		o.Code = disrupt.SeveralPDBs
	}
	for _, budget := range block.Budgets {
		o.PDBs = append(o.PDBs, budget.String())
	}
	return o, true
}
