package provisioning

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Problem: the pods of a group are planned together or not at all, and what is created for them must be so too.
//
// Approach: kube-scheduler marks the pods of a group as unschedulable one by one, so pods whose group has others that it has not marked yet
// wait for these, for as long as a batch at most. Before NodeClaims are created, the groups are read once more. If one NodeClaim of a group
// cannot be created, those that were created are deleted before any of them is launched: launches wait while NodeClaims are written.
// Afterwards, create.Groups knows which NodeClaims are of no use when one is not launched.
//
// Source: specification of version 1.15, groups.

// splitGroups are the groups of which some pods are not marked as unschedulable yet, with the time at which that was noticed first.
type splitGroups map[string]time.Time

// hold returns the pods without those of groups that are split for less than longest, and whether there are any.
func (s splitGroups) hold(pods []*model.Pod, split func(group string) bool, now time.Time, longest time.Duration) (open []*model.Pod, held bool) {
	verdicts := map[string]bool{}
	out := make([]*model.Pod, 0, len(pods))
	for _, pod := range pods {
		if pod.Membership == nil || pod.Virtual || pod.Node != "" {
			out = append(out, pod)
			continue
		}
		group := pod.Membership.Group
		wait, known := verdicts[group]
		if !known {
			wait = s.waits(group, split(group), now, longest)
			verdicts[group] = wait
		}
		if wait {
			held = true
		} else {
			out = append(out, pod)
		}
	}
	maps.DeleteFunc(s, func(group string, _ time.Time) bool { _, present := verdicts[group]; return !present })
	if !held {
		return pods, false
	}
	return out, true
}

// waits reports whether a group waits for the rest of its pods.
func (s splitGroups) waits(group string, split bool, now time.Time, longest time.Duration) bool {
	if !split {
		delete(s, group)
		return false
	}
	since, known := s[group]
	if !known {
		s[group], since = now, now
	}
	return now.Before(since.Add(longest))
}

// holdSplitGroups takes the pods of groups out of a pass that have others which kube-scheduler has not considered yet.
func holdSplitGroups(p *Provisioner, pods []*model.Pod, now time.Time) []*model.Pod {
	open, held := p.split.hold(pods, p.Store.PodGroups.Split, now, p.Scheduling.BatchMaxDuration)
	if held {
		p.batcher.Trigger("pod groups")
	}
	return open
}

// groupPlan is what a plan does for one group.
type groupPlan struct {
	// needed is how many pods of the group have to get a place on new nodes.
	needed int
	// pods is how many of its pods each NodeClaim of the plan has, by index.
	pods map[int]int
}

// groupPlans are the groups for which NodeClaims are created, by ID.
func groupPlans(plan solve.Plan, input solve.Problem) map[string]*groupPlan {
	out := map[string]*groupPlan{}
	for i, claim := range plan.NodeClaims {
		for _, pod := range claim.Pods {
			group := input.GroupOf(pod)
			if group == "" {
				continue
			}
			if out[group] == nil {
				out[group] = &groupPlan{pods: map[int]int{}}
			}
			out[group].pods[i]++
		}
	}
	for id, g := range out {
		known, _ := input.PodGroups.Get(id)
		g.needed = known.MinCount
	}
	if len(out) == 0 {
		return nil
	}
	elsewhere := func(pods []*model.Pod) {
		for _, pod := range pods {
			if g := out[input.GroupOf(pod)]; g != nil && !pod.Terminating {
				g.needed--
			}
		}
	}
	for _, placed := range plan.Placements {
		elsewhere(placed.Pods)
	}
	for _, n := range input.Nodes {
		elsewhere(n.Pods)
	}
	return out
}

// withoutChangedGroups is the plan without the groups that need more pods than when it was made, or are deleted. These are planned again.
func withoutChangedGroups(p *Provisioner, plan solve.Plan, input solve.Problem) solve.Plan {
	groups := groupPlans(plan, input)
	if len(groups) == 0 {
		return plan
	}
	now := p.Store.Snapshot().PodGroups
	changed := map[string]bool{}
	for id := range groups {
		before, _ := input.PodGroups.Get(id)
		if is, exists := now.Get(id); !exists || is.MinCount > before.MinCount {
			changed[id] = true
		}
	}
	if len(changed) == 0 {
		return plan
	}
	p.Log.Info("planning pod groups again that changed meanwhile", logfield.PodGroups(slices.Sorted(maps.Keys(changed))))
	p.batcher.Trigger("pod groups")
	return plan.Without(func(pod *model.Pod) bool { return changed[input.GroupOf(pod)] })
}

// settleGroups deletes the NodeClaims that were created for groups of which another one could not be created, and records the others. It
// replaces the names of deleted ones by empty names.
func settleGroups(ctx context.Context, p *Provisioner, in input, plan solve.Plan, created []string) (errs []error) {
	groups := groupPlans(plan, in.problem)
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		g := groups[id]
		names, alone, left := map[string]int{}, map[string]bool{}, 0
		for i, pods := range g.pods {
			if created[i] == "" {
				continue
			}
			names[created[i]] = pods
			alone[created[i]] = pods == len(plan.NodeClaims[i].Pods)
			left += pods
		}
		if left >= g.needed {
			p.GroupClaims.Record(g.needed, names, alone)
			continue
		}
		for _, i := range slices.Sorted(maps.Keys(g.pods)) {
			name := created[i]
			if name == "" || !alone[name] {
				continue
			}
			if err := withdraw(ctx, p, name, id); err != nil {
				errs = append(errs, err)
				continue
			}
			created[i] = ""
		}
	}
	return errs
}

// withdraw deletes a NodeClaim that is of no use, because another one for the same group could not be created.
func withdraw(ctx context.Context, p *Provisioner, name, group string) error {
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreNotFound(p.Client.Delete(ctx, claim)); err != nil {
		return fmt.Errorf("deleting nodeclaim %q, of which pod group %q has no use alone: %w", name, group, err)
	}
	p.Books.Disrupted(claim, "pod_group", "")
	p.Log.Info("deleted a nodeclaim of a pod group, another one could not be created", logfield.NodeClaim(name), logfield.PodGroups([]string{group}))
	return nil
}
