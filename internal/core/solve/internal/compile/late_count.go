package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// While the domain of an open node is undecided, spread and affinity do not count its pods (Counts.Add). A later pod may decide the domain,
// because it can run in one zone only. Then the pods that came before it count there, too.

// CountLate counts the pods of an open node in the domains that a new state of it decides.
func (ct *Counts) CountLate(b Bin, to StateID) {
	if b.Open.Trial || to == b.Open.State || b.Host == Uncounted {
		return
	}
	then := b.in(to)
	b.Open.doubts = slices.DeleteFunc(slices.Clone(b.Open.doubts), func(d doubt) bool {
		decided := b.Open.Template.decided(b.Open.Template.States[to], d.group.Key)
		if decided {
			d.withdraw()
		}
		return decided
	})
	for _, batch := range b.Open.Batches {
		for _, g := range batch.Class().members {
			if d, ok := ct.decides(g, b, to); ok {
				ct.addIn(g, d, then, len(batch.Pods))
			}
		}
	}
}

// CountSettled counts the pods of an open node that takes no more in the only domains that its candidates can be in, where its state does not
// decide them.
func (ct *Counts) CountSettled(b Bin) {
	for _, batch := range b.Open.Batches {
		c := batch.Class()
		for _, g := range c.members {
			if g.Host || g.Kind == topology.KindAnti || g.late || ct.uncertain(g, b, c) || !ct.looksAt(g.filter, b) {
				continue
			}
			if possible, decided := ct.possible(b, g.Key); !decided && len(possible) == 1 && !ct.lacks(b, g.Key) {
				ct.addIn(g, possible[0], b, len(batch.Pods))
			}
		}
	}
}

// in is the bin with its open node in another state.
func (b Bin) in(state StateID) Bin {
	next := *b.Open
	next.State = state
	b.Open = &next
	return b
}

// LateCount is the domain that a new state of an open node decides, how many pods of the node the group will count there and does not
// count yet, and the minimum count from which it measures skew then.
func (ct *Counts) LateCount(g *Group, b Bin, to StateID) (d, n, floor int) {
	d, ok := ct.decides(g, b, to)
	if !ok {
		return 0, 0, 0
	}
	for _, batch := range b.Open.Batches {
		if slices.Contains(batch.Class().members, g) {
			n += len(batch.Pods)
		}
	}
	certain := n
	for _, one := range b.Open.doubts {
		if one.group == g && slices.Contains(one.domains, d) {
			n -= one.pods // they are counted there already
		}
	}
	if ct.certainlyLooksAt(g.filter, b.in(to)) {
		return d, n, g.MinCountBeside(d, certain)
	}
	return d, n, g.MinCount()
}

// decides is the domain that a new state of an open node decides, in which the group counts its pods from then on.
func (ct *Counts) decides(g *Group, b Bin, to StateID) (d int, ok bool) {
	if g.Host || g.Kind == topology.KindAnti {
		return 0, false
	}
	t := b.Open.Template
	if t.decided(t.States[b.Open.State], g.Key) || !t.decided(t.States[to], g.Key) {
		return 0, false
	}
	b = b.in(to)
	possible, decided := ct.possible(b, g.Key)
	if !decided || !ct.looksAt(g.filter, b) {
		return 0, false
	}
	return possible[0], true
}
