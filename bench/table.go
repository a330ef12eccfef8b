package main

import (
	"fmt"
	"io"
	"math"

	"github.com/karpenter-anew/karpenter/bench/contest"
)

// row is one case at one size and both results.
type row struct {
	Case  string `json:"case"`
	Pods  int    `json:"pods"`
	Types int    `json:"instanceTypes"`
	// Existing is how many nodes there are already.
	Existing int `json:"existingNodes"`
	// OursOnly is set when upstream is left out.
	OursOnly bool `json:"oursOnly,omitempty"`
	// Ours and Upstream are nil when that side did not run.
	Ours     *contest.Score `json:"ours,omitempty"`
	Upstream *contest.Score `json:"upstream,omitempty"`
	// Speedup and Thrift are upstream's seconds and bytes divided by ours; Price is our dollars divided by upstream's. All
	// are 0 when a side did not run; Price is also 0 when the sides placed different numbers of pods.
	Speedup float64 `json:"speedup"`
	Thrift  float64 `json:"allocationRatio"`
	Price   float64 `json:"priceRatio"`
	// OursGap and UpstreamGap are the parts of each side's dollars by which it is above the lower bound that ours proves: it is
	// not known whether they could be saved. Nil where there is no bound for the pods that the side placed.
	OursGap     *float64 `json:"oursGap,omitempty"`
	UpstreamGap *float64 `json:"upstreamGap,omitempty"`
	// OursGrowth and UpstreamGrowth say what twice the pods cost, judged by the size before; nil for the first size of a case.
	OursGrowth     *growth `json:"oursPerDoubling,omitempty"`
	UpstreamGrowth *growth `json:"upstreamPerDoubling,omitempty"`
}

// growth is by how much time and allocated bytes are multiplied when the pods are doubled.
type growth struct {
	Seconds float64 `json:"seconds"`
	Bytes   float64 `json:"bytes"`
}

func (r *row) compare() {
	if r.Ours == nil {
		return
	}
	r.OursGap = gap(r.Ours, r.Ours)
	if r.Upstream == nil {
		return
	}
	r.UpstreamGap = gap(r.Ours, r.Upstream)
	r.Speedup = r.Upstream.Seconds / r.Ours.Seconds
	r.Thrift = float64(r.Upstream.AllocatedBytes) / float64(r.Ours.AllocatedBytes)
	if r.Ours.Unplaced == r.Upstream.Unplaced && r.Upstream.DollarsPerHour > 0 {
		r.Price = r.Ours.DollarsPerHour / r.Upstream.DollarsPerHour
	}
}

// gap is the part of what a side pays by which it is above the bound.
func gap(bound, side *contest.Score) *float64 {
	if bound.Unplaced != side.Unplaced || side.DollarsPerHour <= 0 {
		return nil
	}
	part := (side.DollarsPerHour - bound.LowerBound) / side.DollarsPerHour
	return &part
}

// grow compares r with the size before.
func (r *row) grow(before *row) {
	if before == nil {
		return
	}
	doublings := math.Log2(float64(r.Pods) / float64(before.Pods))
	of := func(now, then *contest.Score) *growth {
		if now == nil || then == nil || doublings <= 0 {
			return nil
		}
		factor := func(ratio float64) float64 { return math.Pow(ratio, 1/doublings) }
		return &growth{
			Seconds: factor(now.Seconds / then.Seconds),
			Bytes:   factor(float64(now.AllocatedBytes) / float64(then.AllocatedBytes)),
		}
	}
	r.OursGrowth, r.UpstreamGrowth = of(r.Ours, before.Ours), of(r.Upstream, before.Upstream)
}

// table prints rows as they come: a line per side, ours first.
type table struct {
	out io.Writer
}

func newTable(out io.Writer) table {
	fmt.Fprintf(out, "%-31s %6s %5s %5s  %-8s %9s %9s %8s %7s %14s %6s %11s %11s %7s %8s   %s\n",
		"case", "pods", "types", "nodes", "side", "seconds", "CPU s", "MB", "peak MB", "s, MB ×2 pods", "new", "$/h", "bound $/h", "gap", "unplaced",
		"ours against upstream's")
	return table{out}
}

func (t table) row(r row) {
	t.side(fmt.Sprintf("%-31s %6d %5d %5d", r.Case, r.Pods, r.Types, r.Existing), "ours", r.Ours, r.OursGrowth, r.OursGap, r.verdict())
	if r.OursOnly {
		fmt.Fprintf(t.out, "%-31s %6s %5s %5s  %-8s %9s\n", "", "", "", "", "upstream", "–")
		return
	}
	t.side(fmt.Sprintf("%-31s %6s %5s %5s", "", "", "", ""), "upstream", r.Upstream, r.UpstreamGrowth, r.UpstreamGap, "")
}

func (t table) side(label, side string, s *contest.Score, g *growth, gap *float64, verdict string) {
	if s == nil {
		return
	}
	least, above := "", ""
	if gap != nil {
		above = fmt.Sprintf("%.1f %%", 100**gap)
	}
	if s.LowerBound > 0 {
		least = fmt.Sprintf("%.2f", s.LowerBound)
	}
	perDoubling := ""
	if g != nil {
		perDoubling = fmt.Sprintf("×%.1f ×%.1f", g.Seconds, g.Bytes)
	}
	fmt.Fprintf(t.out, "%s  %-8s %9.4f %9.4f %8.1f %7.0f %14s %6d %11.2f %11s %7s %8d   %s\n",
		label, side, s.Seconds, s.CPUSeconds, float64(s.AllocatedBytes)/1e6, float64(s.PeakResident)/1e6, perDoubling, s.Nodes, s.DollarsPerHour,
		least, above, s.Unplaced, verdict)
}

func (t table) note(text string) { fmt.Fprintln(t.out, text) }

func (r row) verdict() string {
	if r.Speedup == 0 {
		return ""
	}
	price := "different pods placed"
	if r.Price > 0 {
		price = fmt.Sprintf("%+.2f %% $", 100*(r.Price-1))
	}
	return fmt.Sprintf("%.0fx faster, 1/%.0f of the bytes, %s", r.Speedup, r.Thrift, price)
}
