package solve

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// placeAll places the queue, and then once more, as long as that helps, the pods that were refused and may have been
// waiting for others. It ends early when the run is stopped.
func (s *solver) placeAll(queue []run) {
	for len(queue) > 0 {
		var again []run
		progress := false
		for i, r := range queue {
			if s.problem.Options.Stop != nil && s.problem.Options.Stop() {
				s.stop(queue[i:], again)
				return
			}
			rest, putOff := s.place(r)
			if putOff {
				s.putOff = append(s.putOff, rest...)
				rest = nil
			}
			progress = progress || len(rest) < len(r.pods)
			switch {
			case len(rest) == 0:
			case r.class.bound:
				again = append(again, run{r.class, rest})
			default:
				s.refused = append(s.refused, run{r.class, rest})
			}
		}
		if !progress {
			s.refused = append(s.refused, again...)
			return
		}
		queue = again
	}
}

// stop leaves pods undecided that were not looked at, and refuses those that were.
func (s *solver) stop(unseen, again []run) {
	for _, r := range unseen {
		s.left = append(s.left, r.pods...)
	}
	s.refused = append(s.refused, again...)
}

// place finds places for the pods of a run and returns those it found none for. Machines that exist and claims that are open
// come first, whatever wish that costs: no machine is opened for a wish alone. When one has to be opened, it is one that
// grants as many wishes as possible. putOff says that the rest should wait for a reservation.
func (s *solver) place(r run) (pods []*model.Pod, putOff bool) {
	pods = r.pods
	for len(pods) > 0 && !putOff {
		rest := s.settle(r.class, pods)
		if len(rest) == len(pods) {
			rest, putOff = s.expand(r.class, pods)
		}
		if len(rest) == len(pods) {
			break
		}
		pods = rest
	}
	return pods, putOff
}

// settle puts pods onto machines that exist or are being planned. It returns as soon as counts may have changed.
func (s *solver) settle(c *class, pods []*model.Pod) []*model.Pod {
	for _, st := range c.stages {
		options := s.options(c, st)
		for _, o := range options {
			if rest := s.inhabit(c, st, o, pods); len(rest) < len(pods) {
				if pods = rest; c.bound || len(pods) == 0 {
					return pods
				}
			}
		}
		for _, o := range options {
			if rest := s.join(c, st, o, pods); len(rest) < len(pods) {
				if pods = rest; c.bound || len(pods) == 0 {
					return pods
				}
			}
		}
	}
	return pods
}

// expand opens claims, from the first pool that accepts and for the most wishes. A pool that could launch from a
// reservation, if others did not hold it, puts the pods off: neither a lesser pool nor fewer wishes is tried.
func (s *solver) expand(c *class, pods []*model.Pod) (rest []*model.Pod, putOff bool) {
	for _, st := range c.stages {
		if s.tied(st) {
			continue
		}
		options := s.options(c, st)
		for i, t := range s.templates {
			for _, o := range options {
				if rest, putOff = s.launch(t, i, c, st, o, pods); putOff || len(rest) < len(pods) {
					return rest, putOff
				}
			}
		}
	}
	return pods, false
}

// tied reports whether the stage's pods must join others on a machine that is there already.
func (s *solver) tied(st *stage) bool {
	return slices.ContainsFunc(st.hosts, func(o owned) bool {
		return o.attracts() && !o.Bootstraps(o.self, anyDomain)
	})
}

// joinable are the machines that hold what the stage's pods must be near to. ok is false when any machine will do, because
// there is nothing to be near to or the first pod may choose.
func (s *solver) joinable(st *stage) (machines []int, ok bool) {
	for _, o := range st.hosts {
		if o.attracts() && !o.Bootstraps(o.self, anyDomain) {
			return o.Counted(), true
		}
	}
	return nil, false
}

// hostRoom is how many more pods of the class a machine may take by the groups that count per machine.
func (c *class) hostRoom(st *stage, machine int) int {
	for _, g := range c.avoidHosts {
		if g.Count(machine) > 0 {
			return 0
		}
	}
	room := math.MaxInt
	for _, o := range st.hosts {
		if o.attracts() && o.Count(machine) == 0 && o.Bootstraps(o.self, anyDomain) {
			continue
		}
		room = min(room, o.AllowedOnHost(machine, 0, o.self))
	}
	return room
}

// inhabit puts pods on existing nodes, the first that accepts first, and returns the rest.
func (s *solver) inhabit(c *class, st *stage, o option, pods []*model.Pod) []*model.Pod {
	ts, ln := s.targets, o.lane
	want := min(len(pods), o.room)
	if machines, ok := s.joinable(st); ok {
		for _, m := range slices.Sorted(slices.Values(machines)) {
			if m < len(ts.list) && ts.satisfyingAny(ln.forms).Has(m) {
				if n := s.move(c, st, m, pods[:want]); n > 0 {
					return pods[n:]
				}
			}
		}
		return pods
	}
	if ln.nodes >= len(ts.list) {
		return pods
	}
	for m := range ts.satisfyingAny(ln.forms).From(ln.nodes) {
		n := s.move(c, st, m, pods[:want])
		pods, want = pods[n:], want-n
		if want == 0 || n > 0 && st.near {
			ln.nodes = m
			return pods
		}
	}
	ln.nodes = len(ts.list)
	return pods
}

// move puts as many of the pods on an existing node as it takes.
func (s *solver) move(c *class, st *stage, machine int, pods []*model.Pod) int {
	t := s.targets.list[machine]
	n := c.count(t.room, nil, c.most(min(len(pods), c.hostRoom(st, machine))))
	if n == 0 || !t.accepts(c, st) {
		return 0
	}
	if n = t.volumes.fits(pods[:n]); n == 0 {
		return 0
	}
	if len(c.claims) > 0 && !s.provide(machine, c.claims) {
		return 0
	}
	t.take(c, pods[:n])
	if c.counted() {
		s.record(c, s.targetSite(machine), n)
	}
	return n
}

// join puts pods into open claims and returns the rest.
func (s *solver) join(c *class, st *stage, o option, pods []*model.Pod) []*model.Pod {
	ln, base := o.lane, len(s.targets.list)
	want := min(len(pods), o.room)
	if machines, ok := s.joinable(st); ok {
		for _, m := range slices.Sorted(slices.Values(machines)) {
			if m >= base && !s.spot(c, st, ln, s.claims[m-base].t.number).barred {
				if n := s.admit(c, st, o, m-base, pods[:want]); n > 0 {
					return pods[n:]
				}
			}
		}
		return pods
	}
	for _, floating := range []bool{true, false} {
		if floating && len(c.drifting) == 0 {
			continue
		}
		for i := range s.templates {
			sp := s.spot(c, st, ln, i)
			if sp.barred {
				continue
			}
			if floating {
				sp = ln.floatingSpot(i, s.classes.templates)
			}
			n := s.joinOf(s.templates[i], sp, c, st, o, pods[:want], floating)
			pods, want = pods[n:], want-n
			if want == 0 || n > 0 && st.near {
				return pods
			}
		}
	}
	return pods
}

// floats reports whether cl is not bound yet to a domain in which pods of the class would count. Pods that do not care where
// they are go there first: elsewhere they would upset the balance of those that do.
func (cl *claim) floats(c *class) bool {
	st := cl.t.states[cl.state]
	return !slices.ContainsFunc(c.drifting, func(key int) bool { return cl.t.decided(st, key) })
}

// joinOf puts pods into the open claims of one template, or into those that float, and returns how many.
func (s *solver) joinOf(t *template, sp *spot, c *class, st *stage, o option, pods []*model.Pod, floating bool) int {
	placed, full := 0, 0
	for sp.cursor < len(t.roster.numbers) {
		block := sp.cursor / blockSize
		if sp.cursor%blockSize == 0 {
			full = 0
			if !c.roomy(t.roster.bounds[block]) {
				sp.cursor = min((block+1)*blockSize, len(t.roster.numbers))
				continue
			}
		}
		number := t.roster.numbers[sp.cursor]
		if !c.roomy(s.claims[number].slack) {
			sp.cursor++
			if full++; full == blockSize {
				t.roster.refresh(block, s.claims)
			}
			continue
		}
		if floating && !s.claims[number].floats(c) {
			sp.cursor++
			continue
		}
		n := s.admit(c, st, o, number, pods[placed:])
		if placed += n; placed == len(pods) || n > 0 && st.near {
			break
		}
		sp.cursor++
	}
	return placed
}

// admit puts as many of the pods into an open claim as it takes.
func (s *solver) admit(c *class, st *stage, o option, number int, pods []*model.Pod) int {
	cl := s.claims[number]
	machine, admitted := len(s.targets.list)+number, 0
	for admitted < len(pods) {
		n := min(len(pods)-admitted, c.hostRoom(st, machine))
		if n == 0 {
			break
		}
		var got offer
		if cl.t.attaches(c) {
			got = s.offerOne(cl, number, c, o.forms, pods[admitted])
		} else {
			got = s.offer(cl, number, c, o.forms, n)
		}
		if got.pods == 0 {
			break
		}
		s.fill(cl, number, c, st, got, pods[admitted:admitted+got.pods])
		admitted += got.pods
		if !cl.t.attaches(c) {
			break
		}
	}
	return admitted
}

// fill takes an offer up.
func (s *solver) fill(cl *claim, number int, c *class, st *stage, got offer, pods []*model.Pod) {
	cl.put(c, st, got, pods)
	s.settleDevices(cl, number, got)
	cl.t.limits.charge(cl)
	cl.t.reservations.update(cl)
	if c.counted() {
		s.record(c, s.claimSite(number), got.pods)
	}
}

// launch opens claims of one pool for pods and returns the rest.
func (s *solver) launch(t *template, number int, c *class, st *stage, o option, pods []*model.Pod) (rest []*model.Pod, putOff bool) {
	want := min(len(pods), o.room)
	sp := s.spot(c, st, o.lane, number)
	for want > 0 && !sp.closed && !sp.barred {
		got := s.tryLaunch(t, c, st, o, pods[:want])
		if got.putOff {
			return pods, true
		}
		if got.pods == 0 {
			// Limits give way when other claims shrink; everything else is for good.
			sp.closed = t.limits.unlimited()
			break
		}
		pods, want = pods[got.pods:], want-got.pods
		if len(c.stages) > 1 || t.attaches(c) {
			// What was opened may take pods that have to give up a wish for it.
			break
		}
	}
	return pods, false
}

func (s *solver) tryLaunch(t *template, c *class, st *stage, o option, pods []*model.Pod) offer {
	if t.limits.exhausted() {
		return offer{}
	}
	number := len(s.claims)
	cl := t.open(t.within(t.states[t.root].mask))
	var got offer
	if t.attaches(c) {
		got = s.offerOne(cl, number, c, o.forms, pods[0])
	} else {
		got = s.offer(cl, number, c, o.forms, min(len(pods), c.hostRoom(st, len(s.targets.list)+number)))
	}
	if got.pods == 0 {
		t.spare = append(t.spare, cl)
		return got
	}
	s.claims = append(s.claims, cl)
	s.fill(cl, number, c, st, got, pods[:got.pods])
	t.roster.add(number, cl.slack)
	return got
}
