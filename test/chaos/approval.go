package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/poll"
	"github.com/karpenter-anew/karpenter/test/simcluster"
)

const (
	// approver is the user who decides about plans.
	approver = "approver"
	// longestDecision is the most time between a proposal and the decision about it. Until then the controller may be killed.
	longestDecision = 4 * time.Second
	// repairReason is that of disruption that needs no approval.
	repairReason = "Unhealthy"
	// rejects is of how many plans one is rejected, on average.
	rejects = 6
)

// decide decides about each plan that is proposed, until end is called.
func (c *chaos) decide(ctx context.Context) (end func(), err error) {
	config := rest.CopyConfig(c.plane.Config)
	config.Impersonate.UserName = approver
	api, err := client.New(config, client.Options{Scheme: c.client.Scheme(), Mapper: c.client.RESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("building the client of the user who approves: %w", err)
	}
	due := map[types.UID]time.Time{}
	return poll.Every(ctx, lookPeriod, func(ctx context.Context) {
		var list opsv1alpha1.DisruptionPlanList
		if api.List(ctx, &list) != nil {
			return // the API server is down
		}
		for i := range list.Items {
			plan := &list.Items[i]
			if plan.Spec.Decision != nil || plan.Status.Phase != opsv1alpha1.PlanProposed {
				continue
			}
			verdict, after := decision(c.settings.seed, plan.Name)
			if due[plan.UID].IsZero() {
				due[plan.UID] = time.Now().Add(after)
			}
			if time.Now().Before(due[plan.UID]) {
				continue
			}
			stored := plan.DeepCopy()
			plan.Spec.Decision = &opsv1alpha1.PlanDecision{Verdict: verdict, By: approver}
			// A plan may end meanwhile. One that stays without a decision is found when the cluster does not come to rest.
			if err := api.Patch(ctx, plan, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err == nil {
				c.observer.say("disruption plan %s for %d nodes: %s", plan.Name, len(plan.Spec.Nodes), verdict)
			}
		}
	}), nil
}

// decision is the verdict about a plan, and how long after its proposal it is given.
func decision(seed uint64, plan string) (opsv1alpha1.Verdict, time.Duration) {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s", seed, plan)
	drawn := h.Sum64()
	after := time.Duration(drawn % uint64(longestDecision))
	if drawn>>32%rejects == 0 {
		return opsv1alpha1.VerdictRejected, after
	}
	return opsv1alpha1.VerdictApproved, after
}

// requireApproval makes all voluntary disruption wait for an approval.
func (c *chaos) requireApproval(ctx context.Context) error {
	c.observer.approval = true
	return simcluster.RequireApproval(ctx, c.client, approver)
}

// judgeApproval checks that what is being disrupted was approved before. Repair needs no approval.
func (o *observer) judgeApproval(now clusterState) {
	if !o.approval {
		return
	}
	for i := range now.plans {
		if d := now.plans[i].Spec.Decision; d != nil && d.Verdict == opsv1alpha1.VerdictApproved && d.By == approver {
			for _, node := range now.plans[i].Spec.Nodes {
				o.approved[types.UID(node.NodeClaimUID)] = true
			}
		}
	}
	for i := range now.claims {
		claim := &now.claims[i]
		reason := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeDisruptionReason)
		if o.judged[claim.UID] || !now.disrupting(claim) || reason != nil && reason.Reason == repairReason {
			continue
		}
		o.judged[claim.UID] = true
		if !o.approved[claim.UID] {
			o.note(fmt.Sprintf("nodeclaim %s is disrupted, and no disruption plan with it was approved", claim.Name))
		}
	}
}

// rejected reports whether a claim is part of a plan that was rejected, so that it may stay as it is.
func (p clusterState) rejected(claim *v1.NodeClaim) bool {
	for i := range p.plans {
		if p.plans[i].Status.Phase != opsv1alpha1.PlanRejected {
			continue
		}
		for _, node := range p.plans[i].Spec.Nodes {
			if node.NodeClaimUID == string(claim.UID) {
				return true
			}
		}
	}
	return false
}
