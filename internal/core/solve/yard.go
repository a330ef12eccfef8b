package solve

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// yard is where the pods of one template's claims are packed again, all together.
//
// Problem: first fit decides pod by pod. It does not see that a machine which must be there anyway has room for others, nor
// that pods which ask for much of one resource should share a machine with pods that ask for much of another; and a claim
// that can hold everything ends on the dearest machine there is. Approach: one machine after the other, each the best found by
// its price against the worth of what it would hold, at the going rate of room (see going). Pods that cannot share a machine
// with their like lead first, so that others fill up what they leave; then those with the least choice of machines.
//
// Invariants: no pod loses its place or a wish; a pod that is counted in a domain is counted in the same domain afterwards;
// constraints on single machines are judged by the counts that placing uses.
type yard struct {
	s *solver
	t *template
	// scale turns amounts into parts of what all pods ask for, by place in t.wanted; room of columns is in these units.
	scale []float64
	room  [][]float64
	piles []*pile
	kin   []*kin
	// kinBy finds a kin by what its pods ask for and where they are counted.
	kinBy map[string]*kin
	shops []*shop
	// upkeep is what every machine is held to cost beside its price, the same for all ways to pack that are compared.
	upkeep float64
	// known finds the pile of a fill, same those that ask for the same.
	known map[fillKey]*pile
	same  map[pileKey]*pile
	// favourite is the cheapest alternative of classes that have several, populations how many pods these have.
	favourite   map[*class]*stage
	populations map[*class]int
	// next is a machine number that nobody has.
	next int
	// grants is how many pods of a class may be kept away from their like only because they wish it, granted how many are.
	grants, granted int
	granting        map[*class]int
	load            load
	// taken are the piles and fills of the claim that is moved in.
	taken struct {
		piles []*pile
		fills []fill
	}
}

// pile is pods that ask for the same room and the same labels.
type pile struct {
	kin *kin
	// amounts are what one pod asks for, in parts of everything; worth is what it may cost, in dollars an hour.
	amounts []float64
	worth   float64
	// markup is how much dearer the pods have turned out to be than their room.
	markup float64
	// picky is set when the pods look at who else is on a machine, lone when a machine takes only so many of a class.
	picky, lone bool
	stock
}

// stock is pods that are to be packed.
type stock struct {
	// stacks are the pods by stage, pods is their number.
	stacks []stack
	pods   int
}

// stack is pods of one stage.
type stack struct {
	*stage
	pods []*model.Pod
}

// kin is piles that ask for the same labels.
type kin struct {
	// form is the question with the domains in which the pods are counted; pins are the labels that must keep their values.
	form *conjunction
	pins []term
	// state is that of a claim with nothing else.
	state stateID
	piles []*pile
	*shop
}

type fillKey struct {
	stage *stage
	form  *conjunction
	state stateID
}

type pileKey struct {
	kin *kin
	// needs is the first of what the pods need: equal requests share their needs.
	needs       *need
	picky, lone bool
}

// newYard is an empty yard whose machines are numbered from next, and which grants so many pods of a class the wish to be away
// from their like.
func newYard(s *solver, t *template, next, grants int) *yard {
	return &yard{
		s: s, t: t,
		kinBy: map[string]*kin{}, known: map[fillKey]*pile{}, same: map[pileKey]*pile{}, favourite: map[*class]*stage{},
		next: next, grants: grants, granting: map[*class]int{},
	}
}

// take moves the pods of a claim into the yard, unless some of them have to stay where they are.
func (y *yard) take(cl *claim) bool {
	if cl.indivisible() || cl.devices != "" || len(cl.lowered) > 0 {
		return false
	}
	piles, fills := y.taken.piles[:0], y.taken.fills[:0]
	for _, f := range cl.fills {
		f = y.grant(y.reconsider(f))
		key := fillKey{f.stage, f.form, cl.state}
		p, ok := y.known[key]
		if !ok {
			p = y.pileOf(cl, f)
			y.known[key] = p
		}
		if p == nil {
			return false
		}
		piles, fills = append(piles, p), append(fills, f)
	}
	y.taken.piles, y.taken.fills = piles, fills
	for i, p := range piles {
		f := fills[i]
		p.pods += len(f.pods)
		if last := len(p.stacks) - 1; last >= 0 && p.stacks[last].stage == f.stage {
			p.stacks[last].pods = append(p.stacks[last].pods, f.pods...)
			continue
		}
		p.stacks = append(p.stacks, stack{f.stage, slices.Clip(f.pods)})
	}
	return true
}

// pileOf is the pile for pods of a claim; nil if they could be launched from a reservation when they are alone.
func (y *yard) pileOf(cl *claim, f fill) *pile {
	k := y.kinOf(cl, f)
	if k == nil {
		return nil
	}
	ports := len(f.class().shape.HostPorts) > 0
	key := pileKey{
		kin:   k,
		picky: ports || len(f.stage.hosts) > 0 || len(f.class().avoidHosts) > 0,
		lone:  ports || slices.ContainsFunc(f.stage.hosts, func(o owned) bool { return o.self }),
	}
	if needs := f.class().needs; len(needs) > 0 {
		key.needs = &needs[0]
	}
	if p, ok := y.same[key]; ok {
		return p
	}
	p := &pile{kin: k, picky: key.picky, lone: key.lone, markup: 1, amounts: make([]float64, len(y.t.wanted))}
	for i, r := range y.t.wanted {
		p.amounts[i] = float64(f.class().shape.Requests.At(r))
	}
	y.same[key] = p
	y.piles, k.piles = append(y.piles, p), append(k.piles, p)
	return p
}

// kinOf is the kin of pods of a claim.
func (y *yard) kinOf(cl *claim, f fill) *kin {
	var counts []count
	key := binary.AppendVarint(nil, int64(f.form.number))
	for _, list := range f.class().counting() {
		for _, g := range list {
			if g.host || slices.ContainsFunc(counts, func(c count) bool { return c.key == g.key }) {
				continue
			}
			c := count{g.key, y.s.claimDomains(cl, g.key)}
			counts = append(counts, c)
			key = binary.AppendVarint(binary.AppendVarint(key, int64(c.key)), int64(len(c.domains)))
			for _, d := range c.domains {
				key = binary.AppendVarint(key, int64(d))
			}
		}
	}
	k, ok := y.kinBy[string(key)]
	if !ok {
		k = y.newKin(f.form, counts)
		y.kinBy[string(key)] = k
	}
	return k
}

// count is the domains of a label in which pods are counted.
type count struct {
	key     int
	domains []int
}

// newKin is the kin of pods that ask for form and have to stay in the domains in which they are counted; nil if they could be
// launched from a reservation.
func (y *yard) newKin(form *conjunction, counts []count) *kin {
	t := y.t
	var within []requirement.Requirement
	var pins []term
	for _, c := range counts {
		pins = append(pins, term{key: c.key})
		within = append(within, y.s.inDomains(c))
	}
	if len(within) > 0 {
		form = y.s.classes.intern(form.set.And(requirement.NewSet(within...)))
	}
	for _, k := range y.kin {
		if k.form == form {
			return k
		}
	}
	to := t.step(t.root, form)
	if to == refused || t.reservations.mayServe(t, t.states[to]) {
		return nil
	}
	for i := range pins {
		pins[i].set = t.states[to].get(pins[i].key)
	}
	k := &kin{form: form, pins: pins, state: to, shop: y.shopOf(t.states[to])}
	y.kin = append(y.kin, k)
	return k
}

// inDomains is the demand for one of the domains.
func (s *solver) inDomains(c count) requirement.Requirement {
	names := make([]string, len(c.domains))
	for i, d := range c.domains {
		names[i] = s.domains.of(c.key).names[d]
	}
	return requirement.New(s.classes.u.keys[c.key].name, requirement.In, names...)
}

// measure turns amounts into parts of what all pods ask for.
func (y *yard) measure() {
	t := y.t
	total := make([]float64, len(t.wanted))
	for _, p := range y.piles {
		for r, amount := range p.amounts {
			total[r] += amount * float64(p.pods)
		}
	}
	y.scale = make([]float64, len(total))
	for r, amount := range total {
		if amount > 0 {
			y.scale[r] = 1 / amount
		}
	}
	for _, p := range y.piles {
		for r := range p.amounts {
			p.amounts[r] *= y.scale[r]
		}
	}
	flat := make([]float64, len(total)*t.columns.len())
	y.room = make([][]float64, t.columns.len())
	for c := range y.room {
		y.room[c], flat = flat[:len(total):len(total)], flat[len(total):]
		for i, r := range t.wanted {
			y.room[c][i] = float64(t.room[c].At(r)) * y.scale[i]
		}
	}
}
