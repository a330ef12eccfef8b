package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/explain"
)

const (
	// maxUnavailable is how many unavailable offerings of a NodePool are listed.
	maxUnavailable = 50
	// maxSimulatedNodes is up to how many nodes the nodes of all NodePools are simulated one by one.
	maxSimulatedNodes = 500
)

// Pools implements Source.
func (v *Views) Pools(ctx context.Context, at time.Time) (Pools, error) {
	if !at.IsZero() {
		m, err := v.past(ctx, at)
		if err != nil {
			return Pools{}, err
		}
		return m.poolsView(v.headAt(ctx, "Pools", m)), nil
	}
	p, err := v.now(ctx)
	if err != nil {
		return Pools{}, err
	}
	a, release, err := v.analysisOf(ctx, p)
	if err != nil {
		return Pools{}, err
	}
	defer release()
	in := v.take(ctx, a.of)
	out := Pools{Head: v.head("Pools", p), Pools: []Pool{}}
	out.Unknown = append(out.Unknown, a.lateness(p, "newer changes of NodePools")...)
	drifted := map[string]int{}
	for _, n := range a.engine.View().Snapshot.Nodes.Sorted() {
		if n.Disruption.Drifted {
			drifted[n.Pool]++
		}
	}
	whole := len(in.nodes) <= maxSimulatedNodes
	if !whole {
		out.Unknown = append(out.Unknown, fmt.Sprintf("how many nodes could be disrupted for each reason: with more than %d nodes, they are not simulated one by one; "+
			"karpenter explain nodepool NAME does", maxSimulatedNodes))
	}
	for _, pool := range in.pools {
		answer, err := a.answerAbout(ctx, pool.Name, whole)
		if err != nil {
			return Pools{}, err
		}
		shown := poolOf(pool, answer, drifted[pool.Name])
		var note string
		if shown.Unavailable, shown.UnavailableCount, note = unavailable(ctx, pool, in.types[pool.Name], p.state.Cloud); note != "" && !slices.Contains(out.Unknown, note) {
			out.Unknown = append(out.Unknown, note)
		}
		out.Pools = append(out.Pools, shown)
	}
	return out, nil
}

// answerAbout is what explain says about a NodePool, with simulations of its nodes or without.
func (a *analysis) answerAbout(ctx context.Context, name string, whole bool) (explain.NodePool, error) {
	if !whole {
		return a.standing(name)
	}
	if known, ok := a.whole[name]; ok {
		return known, nil
	}
	out, err := a.engine.NodePool(ctx, name)
	if err == nil {
		a.whole[name] = out
	}
	return out, err
}

func poolOf(pool *v1.NodePool, answer explain.NodePool, drifted int) Pool {
	out := Pool{NodePool: answer, Drifted: drifted, Conditions: []Condition{}, Unavailable: []Offering{}}
	if pool.Spec.Weight != nil {
		out.Weight = *pool.Spec.Weight
	}
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
		out.NodeClass = ref.Kind + " " + ref.Name
	}
	for _, c := range pool.Status.Conditions {
		out.Conditions = append(out.Conditions, Condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.UTC()})
	}
	return out
}

// unavailable are the offerings that cannot be launched, those whose end is known first, and their number. The note says what is not known of them.
func unavailable(ctx context.Context, pool *v1.NodePool, types []*cloud.InstanceType, place cloud.Cloud) (out []Offering, n int, note string) {
	const what = "until when offerings are unavailable"
	ask := func(*cloud.InstanceType, *cloud.Offering) cloud.Unavailability { return cloud.Unavailability{} }
	if place.Unavailability == nil {
		note = what + ": cloud provider " + place.Name + " does not say"
	} else if known, err := place.Unavailability.Unavailability(ctx, pool); err != nil {
		note = what + " for NodePool " + pool.Name + ": " + err.Error()
	} else {
		ask = known
	}
	out = []Offering{}
	for _, t := range types {
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if o.Available {
				continue
			}
			shown, about := Offering{InstanceType: t.Name, Zone: o.Zone(), CapacityType: o.CapacityType()}, ask(t, o)
			if shown.Why = about.Why; !about.Until.IsZero() {
				until := about.Until.UTC()
				shown.Until = &until
			}
			out = append(out, shown)
		}
	}
	if n = len(out); n == 0 {
		return out, 0, ""
	}
	slices.SortStableFunc(out, func(a, b Offering) int {
		switch {
		case a.Until != nil && b.Until != nil:
			return a.Until.Compare(*b.Until)
		case a.Until != nil:
			return -1
		case b.Until != nil:
			return 1
		}
		return 0
	})
	return slices.Clip(out[:min(n, maxUnavailable)]), n, note
}

// poolsView is what the ledger knows of NodePools: their nodes and their price.
func (m *moment) poolsView(head Head) Pools {
	out := Pools{Head: head, Pools: []Pool{}}
	out.Unknown = append(out.Unknown, "limits, budgets, conditions, drift and offerings of the past: what is shown is the number of nodes and their price")
	byName := map[string]*Pool{}
	for _, n := range m.nodes() {
		p := byName[n.NodePool]
		if p == nil {
			p = &Pool{Conditions: []Condition{}, Unavailable: []Offering{}, NodePool: explain.NodePool{
				Version: explain.Version, Kind: "NodePool", Name: n.NodePool, Usage: []explain.Usage{}, Budgets: []explain.Budget{}, Allowances: []explain.Allowance{},
				Disrupting: []explain.Disrupting{}, Excluded: []explain.Tally{}, Disruption: []explain.Outlook{},
			}}
			byName[n.NodePool] = p
		}
		p.Nodes++
		if n.PricePerHour == nil {
			p.UnpricedNodes++
			continue
		}
		sum := *n.PricePerHour
		if p.PricePerHour != nil {
			sum += *p.PricePerHour
		}
		p.PricePerHour = &sum
	}
	for _, p := range byName {
		out.Pools = append(out.Pools, *p)
	}
	slices.SortFunc(out.Pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
