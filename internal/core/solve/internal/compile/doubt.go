package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// A spread may count the pods of an open node in every domain that the node may end up in (Counts.Add). That closes more domains to other
// pods than one domain would.

// doubt is pods of an open node that a group counts in several domains, although they will be in one of them.
type doubt struct {
	group   *Group
	domains []int
	pods    int
}

// withdraw removes the pods from the counts.
func (d doubt) withdraw() {
	for _, in := range d.domains {
		d.group.Withdraw(in, d.pods)
	}
}

// Doubts reports whether a required spread of the class counts pods in domains where they may not be.
func (c *Class) Doubts(on *OpenNode) bool {
	required := c.Owns.Part(PartRequired)
	return slices.ContainsFunc(on.doubts, func(d doubt) bool { return slices.Contains(required, d.group) })
}

// Settle decides the domains of an open node that required spreads of the class count it in, the cheapest that is possible for each label,
// and reports whether there are any. A node that may be launched from a reservation keeps its choice.
func (ct *Counts) Settle(cs *Classes, b Bin, c *Class) (settled bool) {
	on := b.Open
	required := c.Owns.Part(PartRequired)
	for _, d := range slices.Clone(on.doubts) {
		if slices.Contains(required, d.group) && !on.Template.Reservations.concern(on) && ct.settle(cs, b, d.group.Key) {
			settled = true
		}
	}
	return settled
}

// settle decides the domain of an open node for one label, unless it is decided.
func (ct *Counts) settle(cs *Classes, b Bin, key int) bool {
	on := b.Open
	possible, decided := ct.possible(b, key)
	if decided {
		return false
	}
	var best *OpenNode
	var form requirement.Set
	for _, d := range possible {
		in := requirement.NewSet(ct.InDomains(key, []int{d}))
		to := on.Template.Step(on.State, cs.Intern(in))
		if to == NoState {
			continue
		}
		next := *on
		next.State, next.Mask = to, on.Mask.And(on.Template.States[to].Mask)
		if next.dropTooSmall(); next.Mask.Empty() || len(next.Unmet(on.Template.States[to], next.Mask)) > 0 {
			continue
		}
		if best == nil || next.Price() < best.Price() {
			best, form = &next, in
		}
	}
	if best == nil {
		return false
	}
	ct.CountLate(b, best.State)
	on.State, on.Mask = best.State, best.Mask
	for i, batch := range on.Batches {
		on.Batches[i].Form = cs.Intern(batch.Form.Set.And(form))
	}
	on.UpdateSlack()
	on.Template.Limits.Charge(on)
	return true
}
