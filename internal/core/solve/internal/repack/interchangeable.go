package repack

import (
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Problem: an item type may have hundreds of classes, and most attempts are discarded. Approach: what depends on requests and labels only is
// decided by item type. The pods of interchangeable item types are counted during an attempt, and chosen once it is the cheapest so far.

// holdAll adds the interchangeable item types of a list to the bin, all at once, and reports whether it took all of its pods: nothing is added
// otherwise. Item types with constraints on hosts are not considered.
func holdAll(rp *repacker, list []assignment) bool {
	b := &rp.bin
	total, state := append(rp.total[:0], b.node.Total...), b.node.State
	rp.total = total
	var group *compatibilityGroup
	for _, p := range list {
		if p.hostConstrained {
			continue
		}
		if !p.interchangeable {
			return false
		}
		if p.group != group {
			group = p.group
			if state = rp.t.Step(state, group.form); state == compile.NoState || !rp.keepsPins(state, group) {
				return false
			}
		}
		for _, need := range p.class.Needs {
			total[need.Resource] += need.Amount * int64(min(p.n, p.pods))
		}
	}
	if len(rp.t.States[state].Minimums) > 0 || !b.node.Hold(state, total) {
		return false
	}
	for _, p := range list {
		if n := min(p.n, p.pods); n > 0 && !p.hostConstrained {
			b.deferPods(p.itemType, n)
		}
	}
	return true
}

// hold adds up to n pods of an interchangeable item type to the bin.
func hold(rp *repacker, p *itemType, n int) {
	b, o := &rp.bin, &rp.offer
	b.node.Consider(o, p.class, p.group.form, min(n, p.pods))
	if o.Pods > 0 && rp.keepsPins(o.State, p.group) {
		b.node.Reserve(p.class, o, o.Pods)
		b.deferPods(p, o.Pods)
	}
}

// deferPods records pods of an item type that are in the bin but not chosen yet.
func (b *openBin) deferPods(p *itemType, n int) {
	p.pods -= n
	b.assignments = append(b.assignments, assignment{p, n})
	b.deferred = append(b.deferred, assignment{p, n})
}

// choosePods chooses the pods of bins that are not chosen yet.
func choosePods(bins []packedBin) {
	for _, m := range bins {
		for _, a := range m.deferred {
			a.ownSegments()
			for n := a.n; n > 0; {
				st := &a.segments[0]
				k := min(n, len(st.pods))
				m.AddBatch(st.Level, a.group.form, st.pods[:k:k])
				if n -= k; k == len(st.pods) {
					a.segments = a.segments[1:]
				} else {
					st.pods = st.pods[k:]
				}
			}
		}
	}
}

// ownSegments makes the segments a copy that may be changed.
func (p *itemType) ownSegments() {
	if !p.chosen {
		p.own = append(p.own[:0], p.segments...)
		p.segments, p.chosen = p.own, true
	}
}
