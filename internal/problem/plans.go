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
	"github.com/karpenter-anew/karpenter/internal/core/model"
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

// PlanBasis is what DisruptionPlans are compared with.
type PlanBasis struct {
	// Claims are the NodeClaims and Pools the NodePools, by name, and Nodes the nodes by the name of their NodeClaim.
	Claims     map[string]*v1.NodeClaim
	Pools      map[string]*v1.NodePool
	Nodes      map[string]*model.Node
	Operations Operations
	// Evictions are the pods that have to leave candidates, as the function of that name counts them. An error is that they are not known.
	Evictions func([]disrupt.Candidate) ([]opsv1alpha1.PlannedEviction, error)
}

// Hold records what a plan means for its nodes, by their ID, if it waits, or was rejected and has not changed since. A plan that waits comes before
// one that was rejected.
func (b PlanBasis) Hold(into map[string]disrupt.Proposal, plan *opsv1alpha1.DisruptionPlan, now time.Time) {
	held, ok := ProposalOf(plan, now)
	if !ok {
		return
	}
	if held.Rejected {
		if changed, _ := b.Stale(plan); changed != "" {
			return
		}
	}
	for _, planned := range plan.Spec.Nodes {
		n, claim := b.Nodes[planned.NodeClaim], b.Claims[planned.NodeClaim]
		if n == nil || claim == nil || string(claim.UID) != planned.NodeClaimUID {
			continue
		}
		if before, ok := into[n.ID]; !ok || before.Rejected {
			into[n.ID] = held
		}
	}
}

// Stale is why a plan does not fit the cluster any more: a word and a sentence; empty if it does, or if that is not known yet.
func (b PlanBasis) Stale(plan *opsv1alpha1.DisruptionPlan) (reason, message string) {
	spec := &plan.Spec
	var candidates []disrupt.Candidate
	var pools []string
	for _, planned := range spec.Nodes {
		claim, n := b.Claims[planned.NodeClaim], b.Nodes[planned.NodeClaim]
		switch {
		case claim == nil || string(claim.UID) != planned.NodeClaimUID:
			return "NodeGone", fmt.Sprintf("node %s does not exist any more", planned.Name)
		case !claim.DeletionTimestamp.IsZero():
			return "NodeDeleting", fmt.Sprintf("node %s is being deleted", planned.Name)
		case n == nil:
			return "", "" // the cluster state does not show it yet
		case b.Pools[planned.NodePool] == nil:
			return "NodePoolGone", fmt.Sprintf("NodePool %s does not exist any more", planned.NodePool)
		}
		candidates = append(candidates, disrupt.Candidate{
			Node: n, PodsToMove: slices.DeleteFunc(slices.Clone(n.Pods), func(p *model.Pod) bool { return !p.Reschedulable }),
		})
		pools = append(pools, planned.NodePool)
	}
	if !b.Operations.AsksForApproval(pools, disrupt.Reason(spec.Reason)) {
		return "ApprovalNotRequired", "no OperationsPolicy asks for approval any more"
	}
	evictions, err := b.Evictions(candidates)
	if err != nil {
		return "", "" // an approved plan is not executed, because its pods are inspected once more
	}
	if PlanInputs(spec.Method, spec.Nodes, evictions, b.Pools) == spec.InputHash {
		return "", ""
	}
	if change := changeOfEvictions(spec.Evictions, evictions); change != "" {
		return "PodsChanged", change
	}
	return "NodePoolChanged", "the spec of a NodePool has changed"
}

// changeOfEvictions describes the first difference between what was proposed and what would be evicted now; empty if there is none.
func changeOfEvictions(before, now []opsv1alpha1.PlannedEviction) string {
	name := func(e opsv1alpha1.PlannedEviction) string { return e.Kind + " " + e.Namespace + "/" + e.Name }
	count := map[string][2]opsv1alpha1.PlannedEviction{}
	for i, list := range [][]opsv1alpha1.PlannedEviction{before, now} {
		for _, e := range list {
			both := count[name(e)]
			both[i] = e
			count[name(e)] = both
		}
	}
	var changes []string
	for owner, both := range count {
		switch {
		case both[0].Pods != both[1].Pods:
			changes = append(changes, fmt.Sprintf("%d pods of %s run on the nodes, %d were proposed", both[1].Pods, owner, both[0].Pods))
		case both[0].Unprotected != both[1].Unprotected:
			changes = append(changes, fmt.Sprintf("%d pods of %s would be evicted without protection, %d were proposed", both[1].Unprotected, owner, both[0].Unprotected))
		}
	}
	slices.Sort(changes)
	return strings.Join(changes[:min(len(changes), 3)], "; ")
}
