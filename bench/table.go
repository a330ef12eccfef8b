package main

import (
	"fmt"
	"io"

	"github.com/karpenter-anew/karpenter/bench/contest"
)

// row is one question and how it was answered.
type row struct {
	Case  string `json:"case"`
	Pods  int    `json:"pods"`
	Types int    `json:"instanceTypes"`
	// Ours and Peer are nil when that side did not run.
	Ours *contest.Score `json:"ours,omitempty"`
	Peer *contest.Score `json:"peer,omitempty"`
	// Speedup and Thrift are the peer's seconds and bytes divided by ours; Price is our dollars divided by the peer's. All
	// are 0 when a side did not run; Price is also 0 when the sides placed different numbers of pods.
	Speedup float64 `json:"speedup"`
	Thrift  float64 `json:"allocationRatio"`
	Price   float64 `json:"priceRatio"`
}

func (r *row) compare() {
	if r.Ours == nil || r.Peer == nil {
		return
	}
	r.Speedup = r.Peer.Seconds / r.Ours.Seconds
	r.Thrift = float64(r.Peer.AllocatedBytes) / float64(r.Ours.AllocatedBytes)
	if r.Ours.Unplaced == r.Peer.Unplaced && r.Peer.DollarsPerHour > 0 {
		r.Price = r.Ours.DollarsPerHour / r.Peer.DollarsPerHour
	}
}

// table prints rows as they come: a line per side, ours first.
type table struct {
	out io.Writer
}

func newTable(out io.Writer) table {
	fmt.Fprintf(out, "%-14s %6s %5s  %-4s %10s %10s %6s %11s %8s   %s\n",
		"case", "pods", "types", "side", "seconds", "MB", "nodes", "$/h", "unplaced", "ours against the peer's")
	return table{out}
}

func (t table) row(r row) {
	t.side(fmt.Sprintf("%-14s %6d %5d", r.Case, r.Pods, r.Types), "ours", r.Ours, r.verdict())
	t.side(fmt.Sprintf("%-14s %6s %5s", "", "", ""), "peer", r.Peer, "")
}

func (t table) side(label, side string, s *contest.Score, verdict string) {
	if s == nil {
		return
	}
	fmt.Fprintf(t.out, "%s  %-4s %10.4f %10.1f %6d %11.2f %8d   %s\n",
		label, side, s.Seconds, float64(s.AllocatedBytes)/1e6, s.Nodes, s.DollarsPerHour, s.Unplaced, verdict)
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
