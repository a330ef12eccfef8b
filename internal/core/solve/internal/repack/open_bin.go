package repack

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

const (
	// looked is how many columns are tried for a machine, and sampled how many classes of a pile are asked whether they may
	// join it.
	maxRanked = 5
	// weighed is how many piles may go into a machine for its columns to be compared by what they would take.
	fewItemTypes = 3
	maxSampled   = 8
	// crowd is how many piles are looked at for one machine: where there are more, every second, every third, and so on. A look at all of
	// them for every machine would take time by the square of the kinds of pods.
	maxCandidates = 512
	// repeated is the part of a pile that may be used up by machines like the one before, without another look.
	repeatShare = 0.125
	// usual is for how many kinds of pods a machine has room in its lists from the start: most end with no more.
	typicalAssignments = 5
	// headroom is by how much a machine for pods that cannot share one may be larger than their fair share of the others.
	headroom = 2
)

// load is a machine while it is being filled.
type openBin struct {
	// weighs is set in attempts that look at what really goes into a column where few kinds of pods may come.
	fillsToRank bool
	lead        *itemType
	// company is the kin whose labels the machine takes over from the start; that of the lead, if nothing is gained.
	companions *compatibilityGroup
	node       *compile.OpenNode
	host       int
	state      compile.StateID
	candidates []candidateItem
	// stride is how many piles each of the mates stands for.
	stride      int
	assignments []assignment
	fillScratch
	// last is the lead of the machine before, with what it was filled with and how many more may be like it.
	last struct {
		lead        *itemType
		column      int
		assignments []assignment
		times       int
	}
}

// mate is a pile that a machine may take from, and how many of its pods at most. It is like the lead if it buys in the same shop.
type candidateItem struct {
	*itemType
	max  int
	like bool
}

// pick is a number of pods of a pile.
type assignment struct {
	*itemType
	n int
}

// open makes a machine for the first pod of a pile, and for what goes well with it. It has no claim if the pod is not
// accepted.
func (rp *repacker) open(lead *itemType) packedBin {
	t, b := rp.t, &rp.bin
	again := b.last.lead == lead && b.last.times > 0 && !slices.ContainsFunc(b.last.assignments, func(p assignment) bool { return p.pods < p.n })
	b.lead, b.host, b.assignments = lead, rp.nextHost, make([]assignment, 0, typicalAssignments)
	if !again {
		b.companions = rp.companionsOf(lead)
	}
	rp.nextHost++
	from := t.Root
	if b.companions != lead.group {
		from = b.companions.state
	}
	b.node = t.BlankOpenNode(from, t.Within(lead.group.mask))
	b.node.UpdateSlack()
	b.node.Trial = true
	if b.node.Batches == nil {
		b.node.Batches = make([]compile.Batch, 0, typicalAssignments)
	}
	if rp.put(lead, 1) == 0 {
		return packedBin{}
	}
	b.state = b.node.State
	column, assignments := b.last.column, b.last.assignments
	if again {
		b.last.times--
	} else {
		rp.findCandidates()
		column, assignments = rp.choose()
		b.remember(column, assignments)
	}
	if st := t.States[b.state]; len(st.Minimums) == 0 {
		rp.cheapen(t.Prices(st), column)
	}
	// Who looks at others goes first, while there are few.
	for _, picky := range []bool{true, false} {
		for _, p := range assignments {
			if p.hostConstrained == picky {
				rp.put(p.itemType, p.n)
			}
		}
	}
	b.dropCompanions()
	return packedBin{b.node, b.assignments}
}

// remember keeps a filling for the next machine, if it goes well with any.
func (b *openBin) remember(column int, assignments []assignment) {
	b.last.lead, b.last.column, b.last.assignments, b.last.times = b.lead, column, assignments, math.MaxInt
	for _, p := range assignments {
		if p.hostConstrained {
			b.last.times = 0
		}
		b.last.times = min(b.last.times, int(repeatShare*float64(p.pods)/float64(p.n)))
	}
}

// cheapen leaves the claim the columns that cost no more than one of them.
func (rp *repacker) cheapen(prices []float64, column int) {
	on := rp.bin.node
	for c := range on.Mask.All() {
		if prices[c] > prices[column] {
			on.Mask.Remove(c)
		}
	}
	on.UpdateSlack()
}

// part takes the labels of the company back if none of it came.
func (b *openBin) dropCompanions() {
	if b.companions == b.lead.group || slices.ContainsFunc(b.node.Batches, func(f compile.Batch) bool { return f.Form == b.companions.form }) {
		return
	}
	state := b.node.T.Root
	for _, f := range b.node.Batches {
		if state = b.node.T.Step(state, f.Form); state == compile.NoState {
			return
		}
	}
	b.node.State = state
}

// put moves up to n pods of a pile to the machine and returns how many.
func (rp *repacker) put(p *itemType, n int) int {
	b, placed := &rp.bin, 0
	for i := range p.segments {
		st := &p.segments[i]
		want := min(n-placed, len(st.pods))
		if want == 0 {
			continue
		}
		o, on := &rp.offer, compile.Bin{Host: b.host, Open: b.node}
		rp.s.Fit(o, on, st.Class, st.Level, p.group.form.List[:], st.pods[:want])
		if o.Pods == 0 || !rp.keepsPins(o.State, p.group) {
			continue
		}
		rp.s.Take(o, on, st.Class, st.Level, st.pods[:o.Pods:o.Pods])
		st.pods = st.pods[o.Pods:]
		if placed += o.Pods; placed == n {
			break
		}
	}
	if placed > 0 {
		p.pods -= placed
		p.segments = slices.DeleteFunc(p.segments, func(st segment) bool { return len(st.pods) == 0 })
		b.assignments = append(b.assignments, assignment{p, placed})
	}
	return placed
}

// findMates lists the piles that may join without changing what can be bought.
func (rp *repacker) findCandidates() {
	b := &rp.bin
	b.candidates, b.amounts, b.least = b.candidates[:0], b.amounts[:0], append(b.least[:0], b.lead.amounts...)
	for r := range b.least {
		b.least[r] = math.Inf(1)
	}
	living := 0
	for _, p := range rp.itemTypes {
		if p.pods > 0 {
			living++
		}
	}
	b.stride = (living + maxCandidates - 1) / maxCandidates
	b.candidates = slices.Grow(b.candidates, min(living, maxCandidates)+1)
	var asked *compatibilityGroup
	welcome, seen := false, 0
	for _, p := range rp.itemTypes {
		if p.pods == 0 {
			continue
		}
		if seen++; seen%b.stride != 0 && p != b.lead {
			continue
		}
		if p.group != asked {
			asked, welcome = p.group, rp.compatible(p.group)
		}
		if !welcome {
			continue
		}
		most := p.pods
		if p.hostConstrained {
			most = p.hostCapacity(b.host)
		}
		if most > 0 {
			b.candidates = append(b.candidates, candidateItem{p, most, p.group.priceList == b.lead.group.priceList})
			b.amounts = append(b.amounts, p.amounts...)
			for r, amount := range p.amounts {
				b.least[r] = min(b.least[r], amount)
			}
		}
	}
}

// tolerate is how many pods of a picky pile may join a machine, as far as a look at some of them tells.
func (p *itemType) hostCapacity(number int) int {
	n := 0
	for i := range p.segments[:min(len(p.segments), maxSampled)] {
		st := &p.segments[i]
		n += min(len(st.pods), st.Class.HostCapacity(st.Level, number))
		if p.selfExclusive && n > 0 {
			break
		}
	}
	return n
}

// welcome reports whether k may join without changing what can be bought or where pods are counted.
func (rp *repacker) compatible(k *compatibilityGroup) bool {
	t, b := rp.t, &rp.bin
	if k == b.companions {
		return true
	}
	to := t.Step(b.state, k.form)
	if to == compile.NoState {
		return false
	}
	have, next := t.States[b.state], t.States[to]
	same := to == b.state || slices.Equal(have.Kinds, next.Kinds) && slices.Equal(have.Mask, next.Mask)
	return same && rp.keepsPins(to, k)
}

// keepsPins reports whether pods of k and those that are on the machine are counted where they should be in a state.
func (rp *repacker) keepsPins(to compile.StateID, k *compatibilityGroup) bool {
	st, b := rp.t.States[to], &rp.bin
	for _, pins := range [][]index.Term{b.lead.group.pins, b.companions.pins, k.pins} {
		for _, pin := range pins {
			if st.Get(pin.Key) != pin.Set {
				return false
			}
		}
	}
	return true
}

// companyOf is the kin with the most pods that may join a pod which needs a machine of its own, at no other price than the pod
// alone would have.
func (rp *repacker) companionsOf(lead *itemType) *compatibilityGroup {
	best, most := lead.group, 0.0
	if !lead.selfExclusive {
		return best
	}
	t, b := rp.t, &rp.bin
	for _, k := range rp.groups {
		stock := 0.0
		for _, p := range k.itemTypes {
			if !p.selfExclusive {
				stock += p.value * float64(p.pods)
			}
		}
		if stock <= most || k.priceList != lead.group.priceList {
			continue
		}
		if k != lead.group {
			b.companions = k
			to := t.Step(lead.group.state, k.form)
			if to == compile.NoState || !k.offers(t.States[to].Mask, t.Prices(t.States[to])) || !rp.keepsPins(to, k) {
				continue
			}
		}
		best, most = k, stock
	}
	return best
}
