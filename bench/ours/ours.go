// Package ours is the engine of this project as a contestant.
package ours

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/core/bound"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// Name is the name of the contestant.
const Name = "ours"

// Contestant answers the way the provisioner does, from API objects to NodeClaims, and starts from nothing each time: what
// is measured includes the translation of every pod, DaemonSet, pool and instance type, the snapshot, compiling and
// solving the problem, and rendering the claims.
func Contestant() contest.Contestant {
	return contest.Contestant{Name: Name, Prepare: func(in contest.Input) (contest.Run, error) {
		r := &run{in: in, pools: map[string]*v1.NodePool{}}
		for _, pool := range in.Pools {
			ready := pool.DeepCopy()
			conditions := condition.For(ready, time.Time{})
			conditions.True(v1.ConditionTypeValidationSucceeded)
			conditions.True(v1.ConditionTypeNodeClassReady)
			r.pools[pool.Name] = ready
		}
		return r, nil
	}}
}

type run struct {
	in contest.Input
	// pools are those of the input, with the conditions that their controllers would set.
	pools   map[string]*v1.NodePool
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
	translator := translate.NewWith(in.Cloud.Labels, translate.Settings{IgnorePreferences: in.Preferences == model.IgnorePreferences})
	store := cluster.NewStore(in.Cloud, translator)
	for _, set := range in.DaemonSets {
		store.Daemons.Update(set)
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
	vendor := in.Cloud
	vendor.Provider = catalog{types: in.Types}
	builder := problem.Builder{
		Reader: reader{r}, Pods: store, Cloud: vendor, Translator: translator, Catalogs: translate.NewCatalogs(translator),
		Policy: problem.Policy{Preferences: in.Preferences},
	}
	built, err := builder.Provisioning(context.Background(), store.Snapshot(), time.Time{})
	if err != nil {
		return err
	}
	if len(built.Pools.Skipped) > 0 {
		return fmt.Errorf("nodepool %q takes no part: %s", built.Pools.Skipped[0].Pool, built.Pools.Skipped[0].Why)
	}
	plan := solve.Solve(built.Problem)
	r.problem, r.plan = built.Problem, plan
	for _, placement := range plan.Placements {
		r.answer.Placed += len(placement.Pods)
	}
	for _, claim := range plan.NodeClaims {
		r.answer.Placed += len(claim.Pods)
		r.answer.Claims = append(r.answer.Claims, translator.NodeClaim(r.pools[claim.Pool], claim, nil))
	}
	return nil
}

// catalog lists the same instance types for every pool.
type catalog struct {
	cloud.Provider
	types []*cloud.InstanceType
}

// InstanceTypes implements cloud.Provider.
func (c catalog) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	return c.types, nil
}

// reader reads the objects of a run.
type reader struct{ *run }

// NodePools implements problem.Reader.
func (r reader) NodePools(context.Context) ([]*v1.NodePool, error) {
	return slices.Collect(maps.Values(r.pools)), nil
}

// PodsOn implements problem.Reader. No node of a run is being deleted.
func (reader) PodsOn(context.Context, string) ([]*corev1.Pod, error) { return nil, nil }

// DisruptionBudgets implements problem.Reader.
func (reader) DisruptionBudgets(context.Context) ([]policyv1.PodDisruptionBudget, error) {
	return nil, nil
}
