// Package ours is this repository's engine as a contestant.
package ours

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/core/bound"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// Name tells our side from the other.
const Name = "ours"

// Contestant answers the way the provisioner does, from API objects to NodeClaims, and starts from nothing each time: what
// is measured includes the translation of every pod, DaemonSet, pool and instance type, the snapshot, compiling and
// solving the problem, and rendering the claims.
func Contestant() contest.Contestant {
	return contest.Contestant{Name: Name, Prepare: func(in contest.Input) (contest.Run, error) { return &run{in: in}, nil }}
}

type run struct {
	in      contest.Input
	answer  contest.Answer
	problem solve.Problem
	plan    solve.Plan
}

// Answer is what Solve has found, and how much of its price could be saved at most.
func (r *run) Answer() (contest.Answer, error) {
	start := time.Now()
	r.answer.LowerBound = bound.Of(r.problem, r.plan)
	r.answer.BoundTook = time.Since(start)
	return r.answer, nil
}

// Solve answers the question.
func (r *run) Solve() error {
	in := r.in
	translator := translate.NewWith(in.Cloud.Labels, !in.IgnorePreferences)
	store := cluster.NewStore(in.Cloud, translator)
	for _, set := range in.DaemonSets {
		store.UpdateDaemonSet(set)
	}
	for _, claim := range in.Claims {
		store.UpdateNodeClaim(claim)
	}
	for _, node := range in.Nodes {
		store.UpdateNode(node)
	}
	for _, pods := range [][]*corev1.Pod{in.Running, in.Pods} {
		store.UpdatePods(pods)
	}
	batch := translator.Batch(store.Snapshot(), solve.Options{
		IgnorePreferences: in.IgnorePreferences,
		MaxInstanceTypes:  in.Cloud.MaxInstanceTypes,
	})
	problem := batch.Problem
	types := translator.Catalog(in.Types)
	for _, pool := range in.Pools {
		problem.Pools = append(problem.Pools, translator.Pool(pool, types))
	}
	problem.Resources = translator.Resources().Names()
	plan := solve.Solve(problem)
	r.problem, r.plan = problem, plan
	for _, placement := range plan.Placements {
		r.answer.Placed += len(placement.Pods)
	}
	for _, claim := range plan.NodeClaims {
		r.answer.Placed += len(claim.Pods)
		r.answer.Claims = append(r.answer.Claims, translator.NodeClaim(poolNamed(in.Pools, claim.Pool), claim, nil))
	}
	return nil
}

func poolNamed(pools []*v1.NodePool, name string) *v1.NodePool {
	return pools[slices.IndexFunc(pools, func(p *v1.NodePool) bool { return p.Name == name })]
}
