package compile

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// MeasureHosts sets the floors of spreads over hosts to the lowest count of the nodes that they count on, and reports whether one of them is
// not zero. kube-scheduler counts nodes that are being deleted until they are gone, with the pods that stay on them. The nodes that a
// what-if is without are gone.
func (r *Run) MeasureHosts(groups []*Group) bool {
	some, moving := false, r.Problem.Moving()
	for _, g := range groups {
		low, hosts := math.MaxInt, 0
		measure := func(count int) { low, hosts = min(low, count), hosts+1 }
		for i, t := range r.Targets.List {
			if b := (Bin{Host: i, Target: t}); !t.gone && r.Counts.looksAt(g.filter, b) {
				measure(g.Count(i))
			}
		}
		for i, on := range r.Open {
			if b := r.OpenBin(i, on); r.Counts.looksAt(g.filter, b) {
				measure(g.Count(b.Host))
			}
		}
		for _, n := range r.leaving {
			if r.Counts.counts(g, n) {
				measure(r.staying(g, n, moving))
			}
		}
		if g.HostFloor = low; hosts == 0 || hosts < int(g.MinDomains) {
			g.HostFloor = 0
		}
		some = some || g.HostFloor > 0
	}
	return some
}

// staying is how many pods of a node that is being deleted a group counts, without those that are placed anew.
func (r *Run) staying(g *Group, n *model.Node, moving map[string]bool) int {
	count := 0
	for _, p := range n.Pods {
		if !p.Terminating && !moving[p.UID] && slices.Contains(r.Groups.membership(p).members, g) {
			count++
		}
	}
	return count
}

// Rehost counts the pods of open nodes by host again, after the nodes were numbered anew.
func (ct *Counts) Rehost(r *Run) {
	for _, g := range ct.groups.list {
		if g.Host {
			g.Truncate(len(r.Targets.List))
		}
	}
	for i, on := range r.Open {
		b := r.OpenBin(i, on)
		for _, batch := range on.Batches {
			c := batch.Class()
			for _, list := range c.Counting() {
				for _, g := range list {
					if g.Host && (g.inverse || ct.looksAt(g.filter, b)) {
						g.Add(b.Host, len(batch.Pods))
					}
				}
			}
		}
	}
}
