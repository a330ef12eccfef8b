package solve

import (
	"math"
	"slices"
)

const (
	// looked is how many columns are tried for a machine, and sampled how many classes of a pile are asked whether they may
	// join it.
	looked = 5
	// weighed is how many piles may go into a machine for its columns to be compared by what they would take.
	weighed = 3
	sampled = 8
	// crowd is how many piles are looked at for one machine: where there are more, every second, every third, and so on. A look at all of
	// them for every machine would take time by the square of the kinds of pods.
	crowd = 512
	// repeated is the part of a pile that may be used up by machines like the one before, without another look.
	repeated = 0.125
	// usual is for how many kinds of pods a machine has room in its lists from the start: most end with no more.
	usual = 5
	// headroom is by how much a machine for pods that cannot share one may be larger than their fair share of the others.
	headroom = 2
)

// load is a machine while it is being filled.
type load struct {
	// weighs is set in attempts that look at what really goes into a column where few kinds of pods may come.
	weighs bool
	lead   *pile
	// company is the kin whose labels the machine takes over from the start; that of the lead, if nothing is gained.
	company *kin
	cl      *claim
	number  int
	state   stateID
	mates   []mate
	// stride is how many piles each of the mates stands for.
	stride int
	done   []pick
	filling
	// last is the lead of the machine before, with what it was filled with and how many more may be like it.
	last struct {
		lead   *pile
		column int
		picks  []pick
		times  int
	}
}

// mate is a pile that a machine may take from, and how many of its pods at most. It is like the lead if it buys in the same shop.
type mate struct {
	*pile
	most int
	like bool
}

// pick is a number of pods of a pile.
type pick struct {
	*pile
	n int
}

// open makes a machine for the first pod of a pile, and for what goes well with it. It has no claim if the pod is not
// accepted.
func (y *yard) open(lead *pile) laden {
	t, m := y.t, &y.load
	again := m.last.lead == lead && m.last.times > 0 && !slices.ContainsFunc(m.last.picks, func(p pick) bool { return p.pods < p.n })
	m.lead, m.number, m.done = lead, y.next, make([]pick, 0, usual)
	if !again {
		m.company = y.companyOf(lead)
	}
	y.next++
	from := t.root
	if m.company != lead.kin {
		from = m.company.state
	}
	m.cl = t.blank(from, t.within(lead.kin.mask))
	m.cl.measure()
	m.cl.trial = true
	if m.cl.fills == nil {
		m.cl.fills = make([]fill, 0, usual)
	}
	if y.put(lead, 1) == 0 {
		return laden{}
	}
	m.state = m.cl.state
	column, picks := m.last.column, m.last.picks
	if again {
		m.last.times--
	} else {
		y.findMates()
		column, picks = y.choose()
		m.remember(column, picks)
	}
	if st := t.states[m.state]; len(st.minimums) == 0 {
		y.cheapen(t.prices(st), column)
	}
	// Who looks at others goes first, while there are few.
	for _, picky := range []bool{true, false} {
		for _, p := range picks {
			if p.picky == picky {
				y.put(p.pile, p.n)
			}
		}
	}
	m.part()
	return laden{m.cl, m.done}
}

// remember keeps a filling for the next machine, if it goes well with any.
func (m *load) remember(column int, picks []pick) {
	m.last.lead, m.last.column, m.last.picks, m.last.times = m.lead, column, picks, math.MaxInt
	for _, p := range picks {
		if p.picky {
			m.last.times = 0
		}
		m.last.times = min(m.last.times, int(repeated*float64(p.pods)/float64(p.n)))
	}
}

// cheapen leaves the claim the columns that cost no more than one of them.
func (y *yard) cheapen(prices []float64, column int) {
	cl := y.load.cl
	for c := range cl.mask.All() {
		if prices[c] > prices[column] {
			cl.mask.Remove(c)
		}
	}
	cl.measure()
}

// part takes the labels of the company back if none of it came.
func (m *load) part() {
	if m.company == m.lead.kin || slices.ContainsFunc(m.cl.fills, func(f fill) bool { return f.form == m.company.form }) {
		return
	}
	state := m.cl.t.root
	for _, f := range m.cl.fills {
		if state = m.cl.t.step(state, f.form); state == refused {
			return
		}
	}
	m.cl.state = state
}

// put moves up to n pods of a pile to the machine and returns how many.
func (y *yard) put(p *pile, n int) int {
	m, placed := &y.load, 0
	for i := range p.stacks {
		st := &p.stacks[i]
		want := min(n-placed, len(st.pods))
		if p.picky && want > 0 {
			want = min(want, st.class.hostRoom(st.stage, m.number))
		}
		if want == 0 {
			continue
		}
		o := m.cl.consider(st.class, p.kin.form, want)
		if o.pods == 0 || !y.keepsPins(o.state, p.kin) {
			continue
		}
		m.cl.put(st.class, st.stage, o, st.pods[:o.pods:o.pods])
		for _, list := range st.class.counting() {
			for _, g := range list {
				if g.host {
					g.Add(m.number, o.pods)
				}
			}
		}
		st.pods = st.pods[o.pods:]
		if placed += o.pods; placed == n {
			break
		}
	}
	if placed > 0 {
		p.pods -= placed
		p.stacks = slices.DeleteFunc(p.stacks, func(st stack) bool { return len(st.pods) == 0 })
		m.done = append(m.done, pick{p, placed})
	}
	return placed
}

// findMates lists the piles that may join without changing what can be bought.
func (y *yard) findMates() {
	m := &y.load
	m.mates, m.amounts, m.least = m.mates[:0], m.amounts[:0], append(m.least[:0], m.lead.amounts...)
	for r := range m.least {
		m.least[r] = math.Inf(1)
	}
	living := 0
	for _, p := range y.piles {
		if p.pods > 0 {
			living++
		}
	}
	m.stride = (living + crowd - 1) / crowd
	m.mates = slices.Grow(m.mates, min(living, crowd)+1)
	var asked *kin
	welcome, seen := false, 0
	for _, p := range y.piles {
		if p.pods == 0 {
			continue
		}
		if seen++; seen%m.stride != 0 && p != m.lead {
			continue
		}
		if p.kin != asked {
			asked, welcome = p.kin, y.welcome(p.kin)
		}
		if !welcome {
			continue
		}
		most := p.pods
		if p.picky {
			most = p.tolerate(m.number)
		}
		if most > 0 {
			m.mates = append(m.mates, mate{p, most, p.kin.shop == m.lead.kin.shop})
			m.amounts = append(m.amounts, p.amounts...)
			for r, amount := range p.amounts {
				m.least[r] = min(m.least[r], amount)
			}
		}
	}
}

// tolerate is how many pods of a picky pile may join a machine, as far as a look at some of them tells.
func (p *pile) tolerate(machine int) int {
	n := 0
	for i := range p.stacks[:min(len(p.stacks), sampled)] {
		st := &p.stacks[i]
		n += min(len(st.pods), st.class.hostRoom(st.stage, machine))
		if p.lone && n > 0 {
			break
		}
	}
	return n
}

// welcome reports whether k may join without changing what can be bought or where pods are counted.
func (y *yard) welcome(k *kin) bool {
	t, m := y.t, &y.load
	if k == m.company {
		return true
	}
	to := t.step(m.state, k.form)
	if to == refused {
		return false
	}
	have, next := t.states[m.state], t.states[to]
	same := to == m.state || slices.Equal(have.kinds, next.kinds) && slices.Equal(have.mask, next.mask)
	return same && y.keepsPins(to, k)
}

// keepsPins reports whether pods of k and those that are on the machine are counted where they should be in a state.
func (y *yard) keepsPins(to stateID, k *kin) bool {
	st, m := y.t.states[to], &y.load
	for _, pins := range [][]term{m.lead.kin.pins, m.company.pins, k.pins} {
		for _, pin := range pins {
			if st.get(pin.key) != pin.set {
				return false
			}
		}
	}
	return true
}

// companyOf is the kin with the most pods that may join a pod which needs a machine of its own, at no other price than the pod
// alone would have.
func (y *yard) companyOf(lead *pile) *kin {
	best, most := lead.kin, 0.0
	if !lead.lone {
		return best
	}
	t, m := y.t, &y.load
	for _, k := range y.kin {
		stock := 0.0
		for _, p := range k.piles {
			if !p.lone {
				stock += p.worth * float64(p.pods)
			}
		}
		if stock <= most || k.shop != lead.kin.shop {
			continue
		}
		if k != lead.kin {
			m.company = k
			to := t.step(lead.kin.state, k.form)
			if to == refused || !k.sells(t.states[to].mask, t.prices(t.states[to])) || !y.keepsPins(to, k) {
				continue
			}
		}
		best, most = k, stock
	}
	return best
}
