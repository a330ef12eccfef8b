package provisioning

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Problem: a pod whose constraints make an invalid NodeClaim must not keep the pods waiting that are planned on the same node.
//
// Approach: the API server says what is invalid. The pods of a refused NodeClaim are planned once more in the same pass, apart from
// all others and without their preferences. If a NodeClaim is refused again, its pods are split into two groups by shape, until a
// group of one shape remains: its pods are set aside with an event, and retried after a pause that doubles.
//
// Invariant: pods that are held here are among the pending pods of the last pass, so the memory is bounded by them. Each group is
// planned on a new snapshot, which has the NodeClaims of the groups before: limits of pools hold.
//
// Cost: at most 2·n runs of the solver for a refused NodeClaim with pods of n shapes, maxRefusedRuns of them in one pass.

const (
	// maxRefusedRuns is the number of solver runs for refused NodeClaims in one pass.
	maxRefusedRuns = 32
	// minSetAside and maxSetAside bound the pause before pods that are set aside are retried; it doubles with every refusal.
	minSetAside, maxSetAside = 10 * time.Second, 10 * time.Minute
	// maxSetAsidePods is the number of pods of one namespace that are set aside before further groups with pods of such namespaces
	// only are set aside as a whole, without a search for the pods that are the cause.
	maxSetAsidePods = 100
)

// refusedPods are the pods whose NodeClaims the API server refused as invalid, by UID.
type refusedPods struct {
	// groups are to be planned apart, in this order.
	groups []sets.Set[string]
	// aside are those that were refused alone.
	aside map[string]*setAside
}

// setAside is a pod that is not planned until a pause is over.
type setAside struct {
	namespace string
	until     time.Time
	pauses    wait.Backoff
}

// refusal is a NodeClaim of a plan that the API server refused.
type refusal struct {
	claim solve.NodeClaim
	err   error
}

// isRefused reports whether err means that the API server takes the object for invalid, so that a retry cannot succeed.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// hold returns the pods that are planned together, without those that are planned apart or set aside. It forgets pods that are not
// pending any more. Pods whose pause is over become groups, one for each shape.
func (r *refusedPods) hold(pods []*model.Pod, now time.Time) []*model.Pod {
	if len(r.groups)+len(r.aside) == 0 {
		return pods
	}
	present, grouped := sets.New[string](), sets.New[string]()
	for _, pod := range pods {
		present.Insert(pod.UID)
	}
	for i, g := range r.groups {
		r.groups[i] = g.Intersection(present)
		grouped = grouped.Union(r.groups[i])
	}
	r.groups = slices.DeleteFunc(r.groups, func(g sets.Set[string]) bool { return len(g) == 0 })
	for uid := range r.aside {
		if !present.Has(uid) {
			delete(r.aside, uid)
		}
	}
	var together []*model.Pod
	due := map[*model.Shape]sets.Set[string]{}
	for _, pod := range pods {
		waiting := r.aside[pod.UID]
		switch {
		case grouped.Has(pod.UID) || waiting != nil && now.Before(waiting.until):
		case waiting == nil:
			together = append(together, pod)
		case due[pod.Shape] != nil:
			due[pod.Shape].Insert(pod.UID)
		default:
			due[pod.Shape] = sets.New(pod.UID)
			r.groups = append(r.groups, due[pod.Shape])
		}
	}
	return together
}

// next removes the next group and returns those of its pods that are still pending.
func (r *refusedPods) next(pods []*model.Pod) []*model.Pod {
	group := r.groups[0]
	r.groups = r.groups[1:]
	var out []*model.Pod
	for _, pod := range pods {
		if group.Has(pod.UID) {
			out = append(out, pod)
		}
	}
	return out
}

// split makes two groups of pods, by shape.
func (r *refusedPods) split(pods []*model.Pod) {
	number := map[*model.Shape]int{}
	for _, pod := range pods {
		if _, known := number[pod.Shape]; !known {
			number[pod.Shape] = len(number)
		}
	}
	halves := [2]sets.Set[string]{{}, {}}
	for _, pod := range pods {
		halves[2*number[pod.Shape]/len(number)].Insert(pod.UID)
	}
	r.groups = append(r.groups, halves[:]...)
}

// divisible reports whether pods have several shapes, and whether finding the cause among them is worth the effort.
func (r *refusedPods) divisible(pods []*model.Pod) bool {
	counts := map[string]int{}
	for _, waiting := range r.aside {
		counts[waiting.namespace]++
	}
	full := func(pod *model.Pod) bool { return counts[pod.Namespace] >= maxSetAsidePods }
	if slices.ContainsFunc(pods, func(pod *model.Pod) bool { return pod.Membership != nil }) {
		return false // the pods of a group are planned together
	}
	return slices.ContainsFunc(pods, func(pod *model.Pod) bool { return pod.Shape != pods[0].Shape }) &&
		slices.ContainsFunc(pods, func(pod *model.Pod) bool { return !full(pod) })
}

// add sets a pod aside, for longer than the last time, and returns for how long.
func (r *refusedPods) add(pod *model.Pod, now time.Time) time.Duration {
	waiting := r.aside[pod.UID]
	if waiting == nil {
		waiting = &setAside{
			namespace: pod.Namespace,
			pauses:    wait.Backoff{Duration: minSetAside, Factor: 2, Cap: maxSetAside, Steps: math.MaxInt},
		}
		r.aside[pod.UID] = waiting
	}
	pause := waiting.pauses.Step()
	waiting.until = now.Add(pause)
	return pause
}

// suspect has the pods of NodeClaims of the common plan that were refused planned apart, with all pods of their PodGroups among pods.
func (p *Provisioner) suspect(refused []refusal, pods []*model.Pod) {
	known := sets.New[string]()
	for _, one := range refused {
		logRefusal(p, "the API server refuses a nodeclaim, planning its pods again without preferences", one)
		group, together := sets.New[string](), sets.New[string]()
		for _, pod := range one.claim.Pods {
			group.Insert(pod.UID)
			if pod.Membership != nil {
				together.Insert(pod.Membership.Group)
			}
		}
		for _, pod := range pods {
			if pod.Membership != nil && together.Has(pod.Membership.Group) {
				group.Insert(pod.UID)
			}
		}
		if group = group.Difference(known); len(group) > 0 {
			p.refused.groups, known = append(p.refused.groups, group), known.Union(group)
		}
	}
}

func logRefusal(p *Provisioner, message string, one refusal) {
	p.Metrics.Scheduler.RefusedNodeClaims.Inc()
	p.Log.Error(message, logfield.NodePool(one.claim.Pool), logfield.Pods(names(one.claim.Pods)), logfield.Error(one.err))
}

// planRefused plans the groups of pods whose NodeClaims were refused, each apart. What is left after maxRefusedRuns is for the next
// pass, after the other pods.
func (p *Provisioner) planRefused(ctx context.Context) error {
	defer func() { p.Metrics.Scheduler.SetAsidePods.Set(float64(len(p.refused.aside))) }()
	for range maxRefusedRuns {
		if len(p.refused.groups) == 0 || ctx.Err() != nil {
			return nil
		}
		now := p.Clock.Now()
		in, err := p.gather(ctx, now)
		if err != nil {
			return err
		}
		in.began = now
		in.problem.Pods = p.refused.next(in.problem.Pods)
		if len(in.problem.Pods) == 0 {
			continue
		}
		if err := p.planApart(ctx, in, now); err != nil {
			return err
		}
	}
	if len(p.refused.groups) > 0 {
		p.batcher.Remind("refused nodeclaims")
	}
	return nil
}

// planApart plans the pods of one group without their preferences. Those of NodeClaims that are refused again are split, or set aside.
func (p *Provisioner) planApart(ctx context.Context, in input, now time.Time) error {
	pods, original := withoutPreferences(in.problem.Pods)
	in.problem.Pods = pods
	plan := p.solve(in.problem)
	p.record(in, plan)
	refused, err := p.carryOut(ctx, in, plan)
	for _, one := range refused {
		members := make([]*model.Pod, len(one.claim.Pods))
		for i, pod := range one.claim.Pods {
			members[i] = original[pod.UID]
		}
		if p.refused.divisible(members) {
			p.refused.split(members)
			continue
		}
		logRefusal(p, "the API server refuses the nodeclaim for pods, setting them aside", one)
		for _, pod := range members {
			pause := p.refused.add(pod, now)
			if pod.Virtual {
				continue
			}
			why := fmt.Errorf("the API server refuses a NodeClaim with the constraints of the pod, correct them; retrying in %s: %w", pause, one.err)
			p.Recorder.Publish(observe.FailedScheduling(reference(pod), why, "NodeClaimRefused"))
		}
	}
	return err
}

// withoutPreferences returns copies of pods without preferences, and the pods by UID. Pods that share a shape still do.
func withoutPreferences(pods []*model.Pod) (relaxed []*model.Pod, original map[string]*model.Pod) {
	shapes := map[*model.Shape]*model.Shape{}
	relaxed, original = make([]*model.Pod, len(pods)), make(map[string]*model.Pod, len(pods))
	for i, pod := range pods {
		original[pod.UID] = pod
		if shapes[pod.Shape] == nil {
			shapes[pod.Shape] = pod.Shape.WithoutPreferences()
		}
		out := *pod
		out.Shape = shapes[pod.Shape]
		relaxed[i] = &out
	}
	return relaxed, original
}
