package repack

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

const (
	// maxRanked is how many columns are tried for a bin, and maxSampled how many classes of an item type are checked for
	// whether they may join it.
	maxRanked = 5
	// fewItemTypes is how many item types may go into a bin for its columns to be compared by what they would take.
	fewItemTypes = 3
	maxSampled   = 8
	// maxCandidates is how many item types are considered for one bin: where there are more, every second, every third, and
	// so on. Considering all of them for every bin would take time by the square of the item types.
	maxCandidates = 512
	// repeatShare is the part of an item type that may be used up by bins like the one before, without ranking columns
	// again.
	repeatShare = 0.125
	// typicalAssignments is for how many item types the lists of a bin have capacity from the start: most end with no more.
	typicalAssignments = 5
	// headroom is by how much a bin for pods that exclude each other may be larger than their fair share of the others. Source: bench cases
	// preference-mix and diverse-mix; 2 and 4 give more nodes or a higher price.
	headroom = 3
)

// openBin is a bin while it is being filled.
type openBin struct {
	// weighs is set in attempts that compare columns by the pods that fill them where few item types may join.
	fillsToRank bool
	lead        *itemType
	// companions is the compatibility group whose labels the bin takes over from the start; that of the lead, if nothing is
	// gained.
	companions *compatibilityGroup
	node       *compile.OpenNode
	host       int
	state      compile.StateID
	candidates []candidateItem
	// stride is how many item types each of the candidates stands for.
	stride      int
	assignments []assignment
	// deferred are those of the assignments whose pods are chosen after the attempt.
	deferred []assignment
	fillScratch
	// last is the lead of the bin before, with what it was filled with and how many more may be like it.
	last struct {
		lead        *itemType
		column      int
		assignments []assignment
		times       int
	}
}

// candidateItem is an item type that a bin may take from, and how many of its pods at most. It is like the lead if it has
// the same price list.
type candidateItem struct {
	*itemType
	max  int
	like bool
}

// assignment is a number of pods of an item type.
type assignment struct {
	*itemType
	n int
}

// open fills a bin with the first pod of an item type and with the items that fit best. It has no open node if the pod is
// not accepted.
func (rp *repacker) open(lead *itemType) packedBin {
	t, b := rp.t, &rp.bin
	again := b.last.lead == lead && b.last.times > 0 && !slices.ContainsFunc(b.last.assignments, func(p assignment) bool { return p.pods < p.n })
	b.lead, b.host, b.assignments = lead, rp.nextHost, make([]assignment, 0, typicalAssignments)
	b.deferred = nil
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
	if lead.interchangeable && rp.constrained == 0 {
		hold(rp, lead, 1)
	} else {
		rp.put(lead, 1)
	}
	if len(b.assignments) == 0 {
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
	// Pods with constraints on others go first, while there are few.
	for _, p := range assignments {
		if p.hostConstrained {
			rp.put(p.itemType, p.n)
		}
	}
	if !holdAll(rp, assignments) {
		for _, p := range assignments {
			switch {
			case p.interchangeable:
				hold(rp, p.itemType, p.n)
			case !p.hostConstrained:
				rp.put(p.itemType, p.n)
			}
		}
	}
	b.dropCompanions()
	return packedBin{b.node, b.assignments, b.deferred}
}

// remember keeps a filling for the next bin, unless it depends on the host.
func (b *openBin) remember(column int, assignments []assignment) {
	b.last.lead, b.last.column, b.last.assignments, b.last.times = b.lead, column, assignments, math.MaxInt
	for _, p := range assignments {
		if p.hostConstrained {
			b.last.times = 0
		}
		b.last.times = min(b.last.times, int(repeatShare*float64(p.pods)/float64(p.n)))
	}
}

// cheapen restricts the bin to the columns that cost no more than one of them.
func (rp *repacker) cheapen(prices []float64, column int) {
	on := rp.bin.node
	for c := range on.Mask.All() {
		if prices[c] > prices[column] {
			on.Mask.Remove(c)
		}
	}
	on.UpdateSlack()
}

// dropCompanions removes the labels of the companions if none of them was added.
func (b *openBin) dropCompanions() {
	if b.companions == b.lead.group || slices.ContainsFunc(b.assignments, func(p assignment) bool { return p.group.form == b.companions.form }) {
		return
	}
	state := b.node.Template.Root
	for _, p := range b.assignments {
		if state = b.node.Template.Step(state, p.group.form); state == compile.NoState {
			return
		}
	}
	// DaemonSets that the companions excluded may run on the node now.
	t, mask := b.node.Template, b.node.Mask
	if capacity := t.CapacityIn(t.States[state]); capacity != t.CapacityIn(t.States[b.node.State]) {
		mask = mask.Clone()
		for column := range b.node.Mask.All() {
			if !b.node.Total.Fits(capacity.Available[column]) {
				mask.Remove(column)
			}
		}
		for _, f := range b.node.Batches {
			t.AwayFromDaemons(mask, t.States[state], f.Class())
		}
	}
	if !mask.Empty() {
		b.node.State, b.node.Mask = state, mask
	}
}

// put moves up to n pods of an item type to the bin.
func (rp *repacker) put(p *itemType, n int) {
	b, placed := &rp.bin, 0
	p.ownSegments()
	for i := range p.segments {
		st := &p.segments[i]
		o, on := &rp.offer, compile.Bin{Host: b.host, Open: b.node}
		want := min(n-placed, len(st.pods))
		if p.hostConstrained {
			want = min(want, st.Class.ForeignHostCapacity(st.Level, on))
		}
		if want == 0 {
			continue
		}
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
		if p.pods -= placed; p.hostConstrained {
			rp.constrained -= placed
		}
		p.segments = slices.DeleteFunc(p.segments, func(st segment) bool { return len(st.pods) == 0 })
		b.assignments = append(b.assignments, assignment{p, placed})
	}
}

// findCandidates lists the item types that may join without a change of the price list.
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

// hostCapacity is how many pods of a host-constrained item type may join a host, estimated from a sample of its segments.
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

// compatible reports whether k may join without a change of the price list or of where pods are counted.
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

// keepsPins reports whether pods of k and those in the bin are counted where they should be in a state.
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

// companionsOf is the compatibility group with the most value of pods that may join a pod which needs a separate bin, at
// the price list of the pod alone.
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
