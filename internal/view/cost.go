package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// maxWorkloads is how many workloads are listed.
const maxWorkloads = 50

// Cost implements Source.
func (v *Views) Cost(ctx context.Context, at time.Time) (Cost, error) {
	if !at.IsZero() {
		m, err := v.past(ctx, at)
		if err != nil {
			return Cost{}, err
		}
		out := costOf(v.headAt(ctx, "Cost", m), m.nodes())
		out.Unknown = append(out.Unknown, "the bound, and the price of workloads")
		out.addRecords(m)
		return out, nil
	}
	p, err := v.now(ctx)
	if err != nil {
		return Cost{}, err
	}
	in := v.take(ctx, p)
	head := v.head("Cost", p) // a bound that is complete later has another revision
	found, late := v.boundOf(ctx, p)
	out := costOf(head, in.nodes)
	out.Workloads = in.workloads()
	if out.Bound = found; late != "" {
		out.Unknown = append(out.Unknown, late)
	}
	if v.records == nil {
		out.Unknown = append(out.Unknown, "the price over time, and savings: there is no ledger here")
		return out, nil
	}
	m, err := v.records.at(ctx, time.Time{})
	if err != nil {
		out.Unknown = append(out.Unknown, err.Error())
		return out, nil
	}
	out.addRecords(m)
	return out, nil
}

// costOf is the price of nodes.
func costOf(head Head, nodes []Node) Cost {
	out := Cost{
		Head: head, Series: []Point{}, Savings: []Saved{}, Workloads: []WorkloadCost{},
		ByNodePool:     priced(nodes, func(n *Node) string { return n.NodePool }),
		ByZone:         priced(nodes, func(n *Node) string { return n.Zone }),
		ByCapacityType: priced(nodes, func(n *Node) string { return n.CapacityType }),
		ByInstanceType: priced(nodes, func(n *Node) string { return n.InstanceType }),
	}
	unmanaged := 0
	for i := range nodes {
		out.Now.include(&nodes[i])
		if nodes[i].NodeClaim == "" {
			unmanaged++
		}
	}
	if unmanaged > 0 {
		out.Unknown = append(out.Unknown, fmt.Sprintf("the price of %d nodes that Karpenter does not manage", unmanaged))
	}
	return out
}

// addRecords adds what the ledger knows.
func (c *Cost) addRecords(m *moment) {
	c.Series = m.series()
	c.Savings = m.savings()
}

// workloads are the most expensive ones.
func (in *inventory) workloads() []WorkloadCost {
	sums := map[simulation.Owner]*WorkloadCost{}
	for i := range in.nodes {
		shares := sharesOf(in.pods[i], in.nodes[i])
		for k, p := range in.pods[i] {
			owner := simulation.OwnerOf(p)
			w := sums[owner]
			if w == nil {
				w = &WorkloadCost{Workload: ownerText(owner)}
				sums[owner] = w
			}
			w.Pods++
			if price := in.nodes[i].PricePerHour; price != nil {
				w.PricePerHour += *price * shares[k]
			}
		}
	}
	out := make([]WorkloadCost, 0, len(sums))
	for _, w := range sums {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b WorkloadCost) int {
		return cmp.Or(cmp.Compare(b.PricePerHour, a.PricePerHour), cmp.Compare(a.Workload, b.Workload))
	})
	return out[:min(len(out), maxWorkloads)]
}

// sharesOf is the share of each pod in the price of its node: in proportion to the larger of its shares of the requested cpu and memory. They add up
// to 1.
func sharesOf(pods []*corev1.Pod, n Node) []float64 {
	out, sum := make([]float64, len(pods)), 0.0
	for i, p := range pods {
		r := requestsOf(p)
		if n.Requested != nil && n.Requested.CPU > 0 {
			out[i] = float64(r.CPU) / float64(n.Requested.CPU)
		}
		if n.Requested != nil && n.Requested.Memory > 0 {
			out[i] = max(out[i], float64(r.Memory)/float64(n.Requested.Memory))
		}
		sum += out[i]
	}
	for i := range out {
		if sum == 0 {
			out[i] = 1 / float64(len(out))
			continue
		}
		out[i] /= sum
	}
	return out
}

// maxPoints is how many points a series has at most.
const maxPoints = 1000

// series is the price of the fleet over time. Prices are those of the records; points are evenly spaced.
func (m *moment) series() []Point {
	out := []Point{}
	if len(m.records) == 0 {
		return out
	}
	from := m.records[0].Time
	step := max(m.at.Sub(from)/(maxPoints-1), time.Second)
	var h ledger.History
	next := from
	for i := range m.records {
		for m.records[i].Time.After(next) {
			if h.Complete {
				out = append(out, pointOf(next, &h))
			}
			// No point tells more than the one before while nothing is recorded.
			if behind := m.records[i].Time.Sub(next); behind > 2*step {
				next = next.Add((behind/step - 1) * step)
			}
			next = next.Add(step)
		}
		h.Apply(m.records[i])
	}
	if h.Complete {
		out = append(out, pointOf(m.at, &h))
	}
	return out[max(0, len(out)-maxPoints):]
}

func pointOf(at time.Time, h *ledger.History) Point {
	p := Point{At: at.UTC(), ByNodePool: map[string]float64{}, ByZone: map[string]float64{}, ByCapacityType: map[string]float64{}}
	h.Visit(func(s ledger.NodeClaimState) {
		p.Nodes++
		if s.Price == nil {
			p.UnknownPrices++
			return
		}
		p.PricePerHour += *s.Price
		p.ByNodePool[s.NodePool] += *s.Price
		p.ByZone[s.Zone] += *s.Price
		p.ByCapacityType[s.CapacityType] += *s.Price
	})
	return p
}

// savings are the claims of savings up to the moment, by reason.
func (m *moment) savings() []Saved {
	byReason := map[string]*Saved{}
	open := map[string]ledger.Record{}
	saved := func(reason string) *Saved {
		if byReason[reason] == nil {
			byReason[reason] = &Saved{Reason: reason}
		}
		return byReason[reason]
	}
	count := func(r ledger.Record, until time.Time) {
		if r.Saving.PerHour != nil {
			span := min(until.Sub(r.Time).Seconds(), r.Saving.MaxSeconds)
			saved(r.Saving.Reason).Dollars += *r.Saving.PerHour * span / time.Hour.Seconds()
		}
	}
	for _, r := range m.records {
		switch {
		case r.Start != nil: // claims end with the process
			for id, claimed := range open {
				count(claimed, r.Time)
				delete(open, id)
			}
		case r.Saving == nil:
		case r.Saving.Event == ledger.SavingClaimed:
			s := saved(r.Saving.Reason)
			s.Commands++
			if r.Saving.PerHour == nil {
				s.Unpriced++
				continue
			}
			open[r.Saving.Command] = r
		default:
			delete(open, r.Saving.Command)
			saved(r.Saving.Reason).Dollars += r.Saving.Dollars
		}
	}
	for _, claimed := range open {
		count(claimed, m.at)
		saved(claimed.Saving.Reason).PerHour += *claimed.Saving.PerHour
	}
	out := []Saved{}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		out = append(out, *byReason[reason])
	}
	slices.SortStableFunc(out, func(a, b Saved) int { return cmp.Compare(b.Dollars, a.Dollars) })
	return out
}
