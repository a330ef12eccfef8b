package judge

import (
	"maps"
	"slices"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/simulation"
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

// Faults are what is wrong about the plan of another scheduler: NodeClaims that the API server refuses, limits that it may exceed, and pods
// that kube-scheduler does not bind once it is launched. Plans of the engine are judged alike.
func (j *Judge) Faults(p Problem, plan OtherPlan) []Failure {
	counted := j.Tally
	defer func() { j.Tally = counted }()
	objects, err := p.objects(j.reader, j.cloud)
	if err != nil {
		return []Failure{{Kind: Unreadable, Text: err.Error()}}
	}
	q, err := j.other(p, objects, plan)
	if err != nil {
		return []Failure{{Kind: Unreadable, Text: err.Error()}}
	}
	if failures := j.claims(q); len(failures) > 0 {
		return failures
	}
	_, failures := j.bindings(q)
	return failures
}

// fill makes the plan the answer of a simulation.
func (plan OtherPlan) fill(r *simulation.Result) {
	r.Claims, r.Plan = nil, solve.Plan{}
	for _, c := range plan.Claims {
		r.Claims = append(r.Claims, c.Claim)
		r.Plan.NodeClaims = append(r.Plan.NodeClaims, solve.NodeClaim{Pool: c.Claim.Labels[v1.NodePoolLabelKey], Pods: podsNamed(c.Pods)})
	}
	for _, name := range slices.Sorted(maps.Keys(plan.Nodes)) {
		r.Plan.Placements = append(r.Plan.Placements, solve.Placement{Node: &model.Node{NodeName: name}, Pods: podsNamed(plan.Nodes[name])})
	}
}

func podsNamed(uids []string) []*model.Pod {
	out := make([]*model.Pod, len(uids))
	for i, uid := range uids {
		out[i] = &model.Pod{UID: uid}
	}
	return out
}
