package problem

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// rejectionPause is how long a rejected plan is not proposed again while its inputs stay the same.
const rejectionPause = 24 * time.Hour

// Evictions are the pods that have to leave candidates, by owner, and the number of those that are evicted without protection. podsOn are the
// pods of a node by its name.
func Evictions(candidates []disrupt.Candidate, podsOn func(node string) []*corev1.Pod, budgets podrules.Budgets, now time.Time) (list []opsv1alpha1.PlannedEviction, risk int) {
	byOwner := map[opsv1alpha1.PlannedEviction]opsv1alpha1.PlannedEviction{}
	for _, candidate := range candidates {
		for _, pod := range Leaving(candidate, podsOn(candidate.Node.NodeName)) {
			key := evictedOwner(pod)
			sum := byOwner[key]
			sum.Pods++
			if Unprotected(pod, budgets, now) {
				sum.Unprotected++
				risk++
			}
			byOwner[key] = sum
		}
	}
	for key, sum := range byOwner {
		key.Pods, key.Unprotected = sum.Pods, sum.Unprotected
		list = append(list, key)
	}
	slices.SortFunc(list, func(a, b opsv1alpha1.PlannedEviction) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return list, risk
}

// evictedOwner is what created a pod, as far as its owner references and labels show: the Deployment of a pod of a ReplicaSet.
func evictedOwner(pod *corev1.Pod) opsv1alpha1.PlannedEviction {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return opsv1alpha1.PlannedEviction{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
	}
	out := opsv1alpha1.PlannedEviction{Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name}
	if hash := pod.Labels["pod-template-hash"]; owner.Kind == "ReplicaSet" && hash != "" {
		if name, ok := strings.CutSuffix(owner.Name, "-"+hash); ok {
			out.Kind, out.Name = "Deployment", name
		}
	}
	return out
}

// PlanInputs is the hash of what a DisruptionPlan rests on: the nodes by identity, the specs of their NodePools, and their pods by owner.
func PlanInputs(method string, nodes []opsv1alpha1.PlannedNode, evictions []opsv1alpha1.PlannedEviction, pools map[string]*v1.NodePool) string {
	h := sha256.New()
	write := func(parts ...string) { _, _ = fmt.Fprintf(h, "%q\n", parts) } // never fails
	write(method)
	named := map[string]bool{}
	for _, n := range nodes {
		write(n.NodeClaim, n.NodeClaimUID)
		named[n.NodePool] = true
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if pool := pools[name]; pool != nil {
			write(name, string(pool.UID), strconv.FormatInt(pool.Generation, 10))
		}
	}
	for _, e := range evictions {
		write(e.Kind, e.Namespace, e.Name, strconv.Itoa(int(e.Pods)), strconv.Itoa(int(e.Unprotected)))
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// ProposalOf is what a DisruptionPlan means for its nodes; false if nothing. One that was rejected holds them only while its inputs are the same.
func ProposalOf(plan *opsv1alpha1.DisruptionPlan, now time.Time) (disrupt.Proposal, bool) {
	out := disrupt.Proposal{Plan: plan.Name, Reason: disrupt.Reason(plan.Spec.Reason)}
	if plan.Status.Phase.Final() {
		out.Rejected = PausesProposals(plan, now)
		return out, out.Rejected
	}
	return out, true
}

// PausesProposals reports whether a plan was rejected so recently that the same is not proposed.
func PausesProposals(plan *opsv1alpha1.DisruptionPlan, now time.Time) bool {
	return plan.Status.Phase == opsv1alpha1.PlanRejected && now.Sub(PlanEnded(plan)) < rejectionPause
}

// PlanEnded is when a plan ended.
func PlanEnded(plan *opsv1alpha1.DisruptionPlan) time.Time {
	if c := meta.FindStatusCondition(plan.Status.Conditions, string(plan.Status.Phase)); c != nil {
		return c.LastTransitionTime.Time
	}
	return plan.CreationTimestamp.Time
}
