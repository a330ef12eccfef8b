package view

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	simulated "github.com/karpenter-anew/karpenter/internal/simulation/report"
)

// maxGroups is how many groups of pending pods are listed.
const maxGroups = 500

// Pending implements Source.
func (v *Views) Pending(ctx context.Context, at time.Time) (Pending, error) {
	if !at.IsZero() {
		m, err := v.past(ctx, at)
		if err != nil {
			return Pending{}, err
		}
		return m.pendingView(v.headAt(ctx, "Pending", m)), nil
	}
	p, err := v.now(ctx)
	if err != nil {
		return Pending{}, err
	}
	a, release, err := v.analysisOf(ctx, p)
	if err != nil {
		return Pending{}, err
	}
	defer release()
	in := v.take(ctx, a.of)
	out := Pending{Head: v.head("Pending", p), Groups: a.groups(in.waiting), Planned: []PlannedNode{}}
	out.Unknown = append(out.Unknown, a.lateness(p, "newer pending pods")...)
	if n := len(out.Groups) - maxGroups; n > 0 {
		out.Groups = out.Groups[:maxGroups]
		out.Unknown = append(out.Unknown, fmt.Sprintf("%d smaller groups of pods are left out", n))
	}
	result := a.engine.View().Result
	for _, c := range result.Plan.NodeClaims {
		price := c.Price
		planned := PlannedNode{NodePool: c.Pool, InstanceTypes: namesOf(c.InstanceTypes), Pods: namesOf(idsOf(c.Pods))}
		if price > 0 {
			planned.PricePerHour = &price
		}
		out.Planned = append(out.Planned, planned)
	}
	for _, place := range result.Plan.Placements {
		n := place.Node
		if n.ClaimName == "" || n.Initialized {
			continue
		}
		i, ok := in.place[n.ClaimName]
		if !ok {
			continue
		}
		planned := PlannedNode{NodeClaim: n.ClaimName, NodePool: n.Pool, InstanceTypes: namesOf(nil), PricePerHour: in.nodes[i].PricePerHour, Pods: namesOf(idsOf(place.Pods))}
		if t := in.nodes[i].InstanceType; t != "" {
			planned.InstanceTypes = namesOf([]string{t})
		}
		out.Planned = append(out.Planned, planned)
	}
	return out, nil
}

// namesOf is ledger.NamesOf with a list that is never null.
func namesOf(all []string) ledger.Names {
	out := ledger.NamesOf(all)
	if out.First == nil {
		out.First = []string{}
	}
	return out
}

// idsOf are the pods as namespace/name, without virtual ones.
func idsOf(pods []*model.Pod) []string {
	out := []string{}
	for _, p := range pods {
		if !p.Virtual {
			out = append(out, p.ID())
		}
	}
	slices.Sort(out)
	return out
}

// groups divides waiting pods by what is done for them.
func (a *analysis) groups(waiting []*corev1.Pod) []PendingGroup {
	result := a.engine.View().Result
	fates := simulated.NewFates(result)
	keys := map[string]string{} // by namespace/name of the pod
	mark := func(pods []*model.Pod, key string) {
		for _, p := range pods {
			if !p.Virtual {
				keys[p.ID()] = key
			}
		}
	}
	for _, c := range result.Plan.NodeClaims {
		mark(c.Pods, "launched "+c.Pool+" "+firstOf(c))
	}
	for _, at := range result.Plan.Placements {
		mark(at.Pods, "placed "+at.Node.ID)
	}
	for i, u := range result.Plan.Unschedulable {
		if len(u.Pods) > 0 {
			fate := fates.Of(u.Pods[0].ID())
			key, err := json.Marshal(fate.Reasons)
			if err != nil {
				key = fmt.Append(nil, i)
			}
			mark(u.Pods, "refused "+string(key))
		}
	}
	for _, p := range result.Rejected {
		mark([]*model.Pod{p}, "rejected "+p.Rejected)
	}
	mark(result.Plan.Deferred, "deferred")
	mark(result.Plan.Undecided, "undecided")
	for _, p := range result.Idle {
		mark([]*model.Pod{p.Pod}, "idle "+p.Why)
	}
	members := map[string][]*corev1.Pod{}
	var order []string
	for _, p := range waiting {
		key := keys[p.Namespace+"/"+p.Name]
		if members[key] == nil {
			order = append(order, key)
		}
		members[key] = append(members[key], p)
	}
	out := make([]PendingGroup, 0, len(order))
	for _, key := range order {
		out = append(out, pendingGroup(fates, members[key]))
	}
	slices.SortStableFunc(out, func(a, b PendingGroup) int {
		return cmp.Or(cmp.Compare(len(b.Pods), len(a.Pods)), cmp.Compare(a.Pods[0], b.Pods[0]))
	})
	return out
}

func firstOf(c solve.NodeClaim) string {
	if len(c.InstanceTypes) == 0 {
		return ""
	}
	return c.InstanceTypes[0]
}

// pendingGroup is one group of pods, with the result for the first.
func pendingGroup(fates *simulated.Fates, pods []*corev1.Pod) PendingGroup {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	g := PendingGroup{Pods: []string{}, Workloads: []string{}, Oldest: pods[0].CreationTimestamp.UTC()}
	for _, p := range pods {
		g.Pods = append(g.Pods, p.Namespace+"/"+p.Name)
		if w := workloadOf(p); !slices.Contains(g.Workloads, w) {
			g.Workloads = append(g.Workloads, w)
		}
		if created := p.CreationTimestamp.UTC(); created.Before(g.Oldest) {
			g.Oldest = created
		}
	}
	g.Fate = fates.Of(g.Pods[0])
	g.State = explain.StateOf(pods[0], g.Fate.Outcome)
	return g
}

// pendingView is what the last pass of provisioning before the moment could not place, and what it launched.
func (m *moment) pendingView(head Head) Pending {
	out := Pending{Head: head, Groups: []PendingGroup{}, Planned: []PlannedNode{}}
	pass := m.lastPass()
	if pass == nil {
		out.Unknown = append(out.Unknown, "pending pods: no pass over pending pods is recorded before this moment")
		return out
	}
	out.Unknown = append(out.Unknown, "pods that a later pass would have seen, and all but the first 20 names of each group; what is shown is the last pass over pending pods")
	for _, u := range pass.Unschedulable {
		g := PendingGroup{State: explain.Refused, Pods: append([]string{}, u.Pods.First...), Workloads: []string{}, Fate: simulated.Fate{Outcome: simulated.Refused}}
		for _, why := range u.Reasons {
			g.Fate.Reasons = append(g.Fate.Reasons, simulated.Reason{
				NodePool: why.NodePool, Code: string(why.Code), Message: why.Text, Requirements: []simulated.Requirement{}, Requests: map[string]string{},
			})
		}
		out.Groups = append(out.Groups, g)
	}
	slices.SortStableFunc(out.Groups, func(a, b PendingGroup) int { return cmp.Compare(len(b.Pods), len(a.Pods)) })
	waiting := map[string]bool{}
	for _, s := range m.history.NodeClaims() {
		waiting[s.Name] = phaseState(s.Phase) == Launching || phaseState(s.Phase) == Starting
	}
	for _, c := range pass.NodeClaims {
		if waiting[c.Name] {
			out.Planned = append(out.Planned, PlannedNode{NodeClaim: c.Name, NodePool: c.NodePool, InstanceTypes: c.InstanceTypes, PricePerHour: c.Price, Pods: c.Pods})
		}
	}
	return out
}
