package judge

import (
	"maps"
	"slices"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// OtherPlan is the plan of another scheduler. Pods are named by their UIDs.
type OtherPlan struct {
	Claims []struct {
		Claim *v1.NodeClaim
		Pods  []string
	}
	// Nodes are the pods on existing nodes, by the name of the node.
	Nodes map[string][]string
}

// Binds reports whether kube-scheduler binds the pods of another scheduler's plan, launched as plans of the engine are.
func (j *Judge) Binds(p Problem, plan OtherPlan) bool {
	counted := j.Tally
	defer func() { j.Tally = counted }()
	objects, err := p.objects(j.reader, j.cloud)
	if err != nil {
		return false
	}
	q, err := j.ask(p, objects, 0)
	if err != nil {
		return false
	}
	q.simulation.Claims, q.simulation.Plan = nil, solve.Plan{}
	for _, c := range plan.Claims {
		q.simulation.Claims = append(q.simulation.Claims, c.Claim)
		q.simulation.Plan.NodeClaims = append(q.simulation.Plan.NodeClaims, solve.NodeClaim{Pool: c.Claim.Labels[v1.NodePoolLabelKey], Pods: podsNamed(c.Pods)})
	}
	for _, name := range slices.Sorted(maps.Keys(plan.Nodes)) {
		q.simulation.Plan.Placements = append(q.simulation.Plan.Placements, solve.Placement{Node: &model.Node{NodeName: name}, Pods: podsNamed(plan.Nodes[name])})
	}
	_, failures := j.bindings(q)
	return len(failures) == 0
}

func podsNamed(uids []string) []*model.Pod {
	out := make([]*model.Pod, len(uids))
	for i, uid := range uids {
		out[i] = &model.Pod{UID: uid}
	}
	return out
}
