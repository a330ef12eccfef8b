package solve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// Problem: of the pods of a group, as many as it needs are placed, or none at all, and a group that is not placed must leave no trace:
// no pod on an existing node, no open node, no count, no share of a limit, a reservation or a device.
//
// Approach: nothing is undone. The problem is solved with all groups; then a group that fell short is left out, and the rest is solved again,
// until no group falls short. The pods of a group are placed one after the other (see Problem.InOrder), so what is placed before the first
// group that falls short does not depend on it or on what follows: it falls short whatever becomes of the groups behind it. Groups behind it
// that demand the same fall short with it. Groups of which no pod was placed have left no trace, and cost no further run.
//
// Invariant: each further run is without at least one more group, and no plan has some pods of a group and fewer than it needs.
//
// Cost: nothing where no pod has a group. Otherwise one run for each kind of group that falls short, at most exactRounds of them; after that,
// all groups that fall short are left out at once, although some might fit without the others.
//
// Source: specification of version 1.15, groups.

const (
	// exactRounds is how many runs leave out the first group that falls short, and those like it; further runs leave out all of them.
	exactRounds = 16
	// maxRounds is how many runs there are. After that, groups that still fall short are taken out of the plan.
	maxRounds = 2 * exactRounds
)

// podGroup is a group with pods to place.
type podGroup struct {
	*model.PodGroup
	// members are the pods to place in order of trial, running those that run on nodes that stay.
	members []*model.Pod
	running []runningMember
	// domains are the values of the topology key to try, the first one now; nil for groups without such a key.
	domains []string
	// demand is equal for groups that demand the same.
	demand string
	// out is set once the group is left out, with why or, where that is empty, because its members are deferred or undecided.
	out                 bool
	why                 unschedulable.Reasons
	deferred, undecided bool
}

// runningMember is a member of a group with its node.
type runningMember struct {
	pod  *model.Pod
	node *model.Node
}

// podGroups are the groups of a problem.
type podGroups struct {
	list []*podGroup // in order of trial
	of   map[string]*podGroup
	// zones are those of the first run, which considered most pods.
	zones []ZoneCount
}

// hasPodGroups reports whether some of the pods have a group.
func hasPodGroups(p *Problem) bool {
	return p.PodGroups != nil && slices.ContainsFunc(p.Pods, func(pod *model.Pod) bool { return p.GroupOf(pod) != "" })
}

// inGroups solves a problem, of which each group is placed as a whole. run solves a part of it.
func inGroups(p Problem, running map[string][]runningMember, run func(Problem) Plan) Plan {
	gs := newPodGroups(&p, running)
	gs.chooseDomains(p, run)
	var before *Plan
	for round := 0; ; round++ {
		plan := run(gs.remaining(p))
		if round == 0 {
			gs.zones = plan.Zones
		}
		if len(plan.Undecided) > 0 && before != nil {
			return gs.without(*before, gs.short(*before))
		}
		short := gs.short(plan)
		if len(plan.Undecided) > 0 || round == maxRounds || !slices.ContainsFunc(short, shortfall.unsettled) {
			return gs.without(plan, short)
		}
		before = &plan
		gs.leaveOut(short, round >= exactRounds)
	}
}

// runningMembers are the members of groups that run on the nodes of a problem, by group, without the pods that are to be placed.
func runningMembers(p *Problem) map[string][]runningMember {
	out := map[string][]runningMember{}
	moving := map[string]bool{}
	for _, pod := range p.Pods {
		if pod.Membership != nil {
			moving[pod.UID] = true
		}
	}
	for _, nodes := range [][]*model.Node{p.Nodes, p.ExcludedNodes} {
		for _, n := range nodes {
			for _, pod := range n.Pods {
				if group := p.GroupOf(pod); group != "" && !pod.Terminating && !moving[pod.UID] {
					out[group] = append(out[group], runningMember{pod, n})
				}
			}
		}
	}
	return out
}

// newPodGroups finds the groups of the pods, and leaves out those that cannot be placed whatever the nodes.
func newPodGroups(p *Problem, running map[string][]runningMember) *podGroups {
	gs := &podGroups{of: map[string]*podGroup{}}
	for _, pod := range p.InOrder() {
		id := p.GroupOf(pod)
		if id == "" {
			continue
		}
		g := gs.of[id]
		if g == nil {
			g = &podGroup{running: running[id]}
			g.PodGroup, _ = p.PodGroups.Get(id)
			gs.of[id] = g
			gs.list = append(gs.list, g)
		}
		g.members = append(g.members, pod)
	}
	demands := demandNames{}
	for _, g := range gs.list {
		if g.why = g.invalid(); len(g.why) > 0 {
			g.out = true
			continue
		}
		g.demand = demands.of(g)
	}
	return gs
}

// invalid is why the members of a group can be placed nowhere, whatever the nodes; empty if they may be.
func (g *podGroup) invalid() unschedulable.Reasons {
	of := func(code unschedulable.Code, about unschedulable.PodGroup) unschedulable.Reasons {
		return unschedulable.Reasons{{Code: code, Group: about}}
	}
	if g.PodGroup == nil {
		return of(unschedulable.PodGroupMissing, unschedulable.PodGroup{Name: g.members[0].Membership.Group})
	}
	if odd := g.mismatch(); odd != "" {
		return of(unschedulable.PodGroupMismatch, unschedulable.PodGroup{Name: g.ID(), Mismatch: odd})
	}
	if known := len(g.running) + len(g.members); known < g.MinCount {
		return of(unschedulable.PodGroupShort, unschedulable.PodGroup{Name: g.ID(), Needed: g.MinCount, Known: known, Placeable: len(g.running)})
	}
	return nil
}

// mismatch is in what the first member that does so disagrees with the group, or with another member; empty if all agree.
func (g *podGroup) mismatch() string {
	all := slices.Clone(g.members)
	for _, r := range g.running {
		all = append(all, r.pod)
	}
	for _, pod := range all {
		m := pod.Membership
		switch {
		case m.Priority != g.Priority:
			return fmt.Sprintf("pod %s has priority %d instead of %d", pod.ID(), m.Priority, g.Priority)
		case m.PreemptionPolicy != g.PreemptionPolicy:
			return fmt.Sprintf("pod %s has preemptionPolicy %s instead of %s", pod.ID(), m.PreemptionPolicy, g.PreemptionPolicy)
		case m.Scheduler != all[0].Membership.Scheduler:
			return fmt.Sprintf("pod %s has schedulerName %s instead of %s", pod.ID(), m.Scheduler, all[0].Membership.Scheduler)
		}
	}
	return ""
}

// remaining is the problem without the groups that are left out.
func (gs *podGroups) remaining(p Problem) Problem {
	if !slices.ContainsFunc(gs.list, func(g *podGroup) bool { return g.out || len(g.domains) > 0 }) {
		return p
	}
	pods := make([]*model.Pod, 0, len(p.Pods))
	for _, pod := range p.Pods {
		if g := gs.of[p.GroupOf(pod)]; g == nil || !g.out && len(g.domains) == 0 {
			pods = append(pods, pod)
		}
	}
	for _, g := range gs.list {
		if !g.out && len(g.domains) > 0 {
			pods = append(pods, g.restricted(g.domains[0])...)
		}
	}
	p.Pods = pods
	return p
}

// shortfall is a group that falls short in a plan.
type shortfall struct {
	*podGroup
	// placed is how many of its members the plan places.
	placed int
	// obstacle are the reasons of its first member without a place.
	obstacle            unschedulable.Reasons
	deferred, undecided bool
}

// leavesTrace reports whether the plan places some members.
func (s shortfall) leavesTrace() bool { return s.placed > 0 }

// unsettled reports whether another run is needed because of the group.
func (s shortfall) unsettled() bool { return s.leavesTrace() || len(s.domains) > 1 }

// short are the groups that fall short in a plan, in order of trial.
func (gs *podGroups) short(plan Plan) []shortfall {
	placed := map[string]int{}
	eachPlaced(plan, func(pod *model.Pod) {
		if pod.Membership != nil {
			placed[pod.Membership.Group]++
		}
	})
	var out []shortfall
	for _, g := range gs.list {
		if !g.out && len(g.running)+placed[g.ID()] < g.MinCount {
			out = append(out, shortfall{podGroup: g, placed: placed[g.ID()]})
		}
	}
	if len(out) == 0 {
		return nil
	}
	reasons, deferred, undecided := map[string]unschedulable.Reasons{}, uids(plan.Deferred), uids(plan.Undecided)
	for _, u := range plan.Unschedulable {
		for _, pod := range u.Pods {
			reasons[pod.UID] = u.Reasons
		}
	}
	for i := range out {
		for _, pod := range out[i].members {
			out[i].deferred = out[i].deferred || deferred[pod.UID]
			out[i].undecided = out[i].undecided || undecided[pod.UID]
			if why, refused := reasons[pod.UID]; refused && out[i].obstacle == nil {
				out[i].obstacle = why
			}
		}
	}
	return out
}

// eachPlaced yields the pods that a plan places.
func eachPlaced(plan Plan, yield func(*model.Pod)) {
	for _, placed := range plan.Placements {
		for _, pod := range placed.Pods {
			yield(pod)
		}
	}
	for _, claim := range plan.NodeClaims {
		for _, pod := range claim.Pods {
			yield(pod)
		}
	}
}

// leaveOut leaves out the first group that takes places and falls short, those before it, and those behind it that demand the same; or all.
// A group with further values of its topology key gets the next one instead.
func (gs *podGroups) leaveOut(short []shortfall, all bool) {
	first := slices.IndexFunc(short, shortfall.unsettled)
	for i, s := range short {
		switch {
		case !all && i > first && s.demand != short[first].demand:
		case len(s.domains) > 1:
			s.podGroup.domains = s.domains[1:]
		default:
			s.dismiss()
		}
	}
}

// dismiss leaves the group out, for the reasons of the plan in which it falls short.
func (s shortfall) dismiss() {
	g := s.podGroup
	g.out = true
	switch {
	case s.obstacle == nil && s.deferred:
		g.deferred = true
	case s.obstacle == nil && s.undecided:
		g.undecided = true
	default:
		g.why = append(unschedulable.Reasons{{Code: unschedulable.PodGroupShort, Group: unschedulable.PodGroup{
			Name: g.ID(), Needed: g.MinCount, Known: len(g.running) + len(g.members), Placeable: len(g.running) + s.placed, Key: g.TopologyKey,
		}}}, ofOnePod(s.obstacle)...)
	}
}

// ofOnePod are the reasons of the first member without a place, without the limits that would be sufficient for this pod alone.
func ofOnePod(reasons unschedulable.Reasons) unschedulable.Reasons {
	out := slices.Clone(reasons)
	for i := range out {
		out[i] = out[i].WithoutNeeded()
	}
	return out
}

// without is a plan without the groups that are left out or fall short in it, whose pods are refused as a whole. Groups that need a single
// pod keep the reasons of each.
func (gs *podGroups) without(plan Plan, short []shortfall) Plan {
	for _, s := range short {
		if s.MinCount > 1 || s.placed > 0 {
			s.dismiss()
		}
	}
	gone := func(pod *model.Pod) bool {
		if pod.Membership == nil {
			return false
		}
		g := gs.of[pod.Membership.Group]
		return g != nil && g.out
	}
	plan = gs.original(plan)
	plan.Zones = gs.zones
	if slices.ContainsFunc(short, shortfall.leavesTrace) {
		plan = plan.Without(gone)
	}
	plan.Deferred, plan.Undecided = withoutPods(plan.Deferred, gone), withoutPods(plan.Undecided, gone)
	var refused []UnschedulablePods
	for _, u := range plan.Unschedulable {
		if u.Pods = withoutPods(u.Pods, gone); len(u.Pods) > 0 {
			refused = append(refused, u)
		}
	}
	for _, g := range gs.list {
		switch {
		case !g.out:
		case g.deferred:
			plan.Deferred = append(plan.Deferred, g.members...)
		case g.undecided:
			plan.Undecided = append(plan.Undecided, g.members...)
		default:
			refused = append(refused, UnschedulablePods{Pods: g.members, Reasons: g.why})
		}
	}
	plan.Unschedulable = refused
	return plan
}

// Without is the plan without some of the pods that it places. What remains is valid, but may be more than the remaining pods need.
func (p Plan) Without(gone func(*model.Pod) bool) Plan {
	var placements []Placement
	for _, placed := range p.Placements {
		if placed.Pods = withoutPods(placed.Pods, gone); len(placed.Pods) > 0 {
			placements = append(placements, placed)
		}
	}
	var claims []NodeClaim
	for _, claim := range p.NodeClaims {
		for _, pod := range claim.Pods {
			if gone(pod) {
				claim.Requests = claim.Requests.Sub(pod.Shape.Requests).Floor(0) // devices may serve some of them
			}
		}
		if claim.Pods = withoutPods(claim.Pods, gone); len(claim.Pods) > 0 {
			claims = append(claims, claim)
		}
	}
	p.Placements, p.NodeClaims = placements, claims
	return p
}

// withoutPods is the pods of which gone is not true; the list itself if that is true of none.
func withoutPods(pods []*model.Pod, gone func(*model.Pod) bool) []*model.Pod {
	if !slices.ContainsFunc(pods, gone) {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), gone)
}

// demandNames names what groups demand, by shape and labels of their pods.
type demandNames map[demandOfPod]int

// demandOfPod is equal for pods that demand the same.
type demandOfPod struct {
	shape  *model.Shape
	labels *model.Labels
}

// of is equal for groups that demand the same. Pods with volumes or devices may differ, and their groups are alone with their demand.
func (names demandNames) of(g *podGroup) string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(g.MinCount))
	for _, pod := range g.members {
		if pod.Dependencies != nil || len(g.running) > 0 || g.TopologyKey != "" {
			return g.ID()
		}
		key := demandOfPod{pod.Shape, pod.Labels}
		number, known := names[key]
		if !known {
			number = len(names)
			names[key] = number
		}
		b.WriteString("," + strconv.Itoa(number))
	}
	return b.String()
}
