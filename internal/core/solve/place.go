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
			rest, deferred := s.place(r)
			if deferred {
				s.deferred = append(s.deferred, rest...)
				rest = nil
			}
			progress = progress || len(rest) < len(r.pods)
			switch {
			case len(rest) == 0:
			case r.class.pinned:
				again = append(again, run{r.class, rest})
			default:
				s.unschedulable = append(s.unschedulable, run{r.class, rest})
			}
		}
		if !progress {
			s.unschedulable = append(s.unschedulable, again...)
			return
		}
		queue = again
	}
}

// stop leaves pods undecided that were not looked at, and refuses those that were.
func (s *solver) stop(unseen, again []run) {
	for _, r := range unseen {
		s.undecided = append(s.undecided, r.pods...)
	}
	s.unschedulable = append(s.unschedulable, again...)
}

// place finds places for the pods of a run and returns those it found none for. Machines that exist and claims that are open
// come first, whatever wish that costs: no machine is opened for a wish alone. When one has to be opened, it is one that
// grants as many wishes as possible. deferred says that the rest should wait for a reservation.
func (s *solver) place(r run) (pods []*model.Pod, deferred bool) {
	pods = r.pods
	for len(pods) > 0 && !deferred {
		rest := s.placeOnExisting(r.class, pods)
		if len(rest) == len(pods) {
			rest, deferred = s.openNew(r.class, pods)
		}
		if len(rest) == len(pods) {
			break
		}
		pods = rest
	}
	return pods, deferred
}

// settle puts pods onto machines that exist or are being planned. It returns as soon as counts may have changed.
func (s *solver) placeOnExisting(c *class, pods []*model.Pod) []*model.Pod {
	for _, st := range c.levels {
		options := s.options(c, st)
		for _, o := range options {
			if rest := s.placeOnNodes(c, st, o, pods); len(rest) < len(pods) {
				if pods = rest; c.pinned || len(pods) == 0 {
					return pods
				}
			}
		}
		for _, o := range options {
			if rest := s.placeOnOpen(c, st, o, pods); len(rest) < len(pods) {
				if pods = rest; c.pinned || len(pods) == 0 {
					return pods
				}
			}
		}
	}
	return pods
}

// expand opens claims, from the first pool that accepts and for the most wishes. A pool that could launch from a
// reservation, if others did not hold it, puts the pods off: neither a lesser pool nor fewer wishes is tried.
func (s *solver) openNew(c *class, pods []*model.Pod) (rest []*model.Pod, deferred bool) {
	for _, st := range c.levels {
		if s.requiresExisting(st) {
			continue
		}
		options := s.options(c, st)
		for i, t := range s.templates {
			for _, o := range options {
				if rest, deferred = s.openFrom(t, i, c, st, o, pods); deferred || len(rest) < len(pods) {
					return rest, deferred
				}
			}
		}
	}
	return pods, false
}

// tied reports whether the stage's pods must join others on a machine that is there already.
func (s *solver) requiresExisting(st *level) bool {
	return slices.ContainsFunc(st.hosts, func(o owned) bool {
		return o.isAffinity() && !o.Bootstraps(o.self, anyDomain)
	})
}

// joinable are the machines that hold what the stage's pods must be near to. ok is false when any machine will do, because
// there is nothing to be near to or the first pod may choose.
func (s *solver) affineHosts(st *level) (hosts []int, ok bool) {
	for _, o := range st.hosts {
		if o.isAffinity() && !o.Bootstraps(o.self, anyDomain) {
			return o.Counted(), true
		}
	}
	return nil, false
}

// hostRoom is how many more pods of the class a machine may take by the groups that count per machine.
func (c *class) hostCapacity(st *level, number int) int {
	for _, g := range c.avoidHosts {
		if g.Count(number) > 0 {
			return 0
		}
	}
	room := math.MaxInt
	for _, o := range st.hosts {
		if o.isAffinity() && o.Count(number) == 0 && o.Bootstraps(o.self, anyDomain) {
			continue
		}
		room = min(room, o.AllowedOnHost(number, 0, o.self))
	}
	return room
}

// inhabit puts pods on existing nodes, the first that accepts first, and returns the rest.
func (s *solver) placeOnNodes(c *class, st *level, o option, pods []*model.Pod) []*model.Pod {
	ts, dv := s.targets, o.domainVariant
	want := min(len(pods), o.room)
	if hosts, ok := s.affineHosts(st); ok {
		for _, m := range slices.Sorted(slices.Values(hosts)) {
			if m < len(ts.list) && ts.satisfyingAny(dv.forms).Has(m) {
				if n := s.placeOnNode(c, st, m, pods[:want]); n > 0 {
					return pods[n:]
				}
			}
		}
		return pods
	}
	if dv.nodes >= len(ts.list) {
		return pods
	}
	for m := range ts.satisfyingAny(dv.forms).From(dv.nodes) {
		n := s.placeOnNode(c, st, m, pods[:want])
		pods, want = pods[n:], want-n
		if want == 0 || n > 0 && st.hostAffinity {
			dv.nodes = m
			return pods
		}
	}
	dv.nodes = len(ts.list)
	return pods
}

// move puts as many of the pods on an existing node as it takes.
func (s *solver) placeOnNode(c *class, st *level, number int, pods []*model.Pod) int {
	t := s.targets.list[number]
	n := c.count(t.room, nil, c.maxPerNode(min(len(pods), c.hostCapacity(st, number))))
	if n == 0 || !t.accepts(c, st) {
		return 0
	}
	if n = t.volumes.fits(pods[:n]); n == 0 {
		return 0
	}
	if len(c.deviceClaims) > 0 && !s.allocateOn(number, c.deviceClaims) {
		return 0
	}
	t.take(c, pods[:n])
	if c.counted() {
		s.record(c, s.targetSite(number), n)
	}
	return n
}

// join puts pods into open claims and returns the rest.
func (s *solver) placeOnOpen(c *class, st *level, o option, pods []*model.Pod) []*model.Pod {
	dv, base := o.domainVariant, len(s.targets.list)
	want := min(len(pods), o.room)
	if hosts, ok := s.affineHosts(st); ok {
		for _, m := range slices.Sorted(slices.Values(hosts)) {
			if m >= base && !s.cursorOf(c, st, dv, s.open[m-base].t.number).rejects {
				if n := s.placeOnOpenNode(c, st, o, m-base, pods[:want]); n > 0 {
					return pods[n:]
				}
			}
		}
		return pods
	}
	for _, floating := range []bool{true, false} {
		if floating && len(c.uncountedKeys) == 0 {
			continue
		}
		for i := range s.templates {
			sp := s.cursorOf(c, st, dv, i)
			if sp.rejects {
				continue
			}
			if floating {
				sp = dv.floatingCursor(i, s.classes.templates)
			}
			n := s.placeOnOpenOf(s.templates[i], sp, c, st, o, pods[:want], floating)
			pods, want = pods[n:], want-n
			if want == 0 || n > 0 && st.hostAffinity {
				return pods
			}
		}
	}
	return pods
}

// floats reports whether on is not bound yet to a domain in which pods of the class would count. Pods that do not care where
// they are go there first: elsewhere they would upset the balance of those that do.
func (on *openNode) floats(c *class) bool {
	st := on.t.states[on.state]
	return !slices.ContainsFunc(c.uncountedKeys, func(key int) bool { return on.t.decided(st, key) })
}

// joinOf puts pods into the open claims of one template, or into those that float, and returns how many.
func (s *solver) placeOnOpenOf(t *template, sp *templateCursor, c *class, st *level, o option, pods []*model.Pod, floating bool) int {
	placed, full := 0, 0
	for sp.cursor < len(t.open.numbers) {
		block := sp.cursor / blockSize
		if sp.cursor%blockSize == 0 {
			full = 0
			if !c.mayFit(t.open.upperBounds[block]) {
				sp.cursor = min((block+1)*blockSize, len(t.open.numbers))
				continue
			}
		}
		number := t.open.numbers[sp.cursor]
		if !c.mayFit(s.open[number].slack) {
			sp.cursor++
			if full++; full == blockSize {
				t.open.refresh(block, s.open)
			}
			continue
		}
		if floating && !s.open[number].floats(c) {
			sp.cursor++
			continue
		}
		n := s.placeOnOpenNode(c, st, o, number, pods[placed:])
		if placed += n; placed == len(pods) || n > 0 && st.hostAffinity {
			break
		}
		sp.cursor++
	}
	return placed
}

// admit puts as many of the pods into an open claim as it takes.
func (s *solver) placeOnOpenNode(c *class, st *level, o option, number int, pods []*model.Pod) int {
	on := s.open[number]
	host, admitted := len(s.targets.list)+number, 0
	for admitted < len(pods) {
		n := min(len(pods)-admitted, c.hostCapacity(st, host))
		if n == 0 {
			break
		}
		var got offer
		if on.t.attaches(c) {
			got = s.offerOne(on, number, c, o.forms, pods[admitted])
		} else {
			got = s.offer(on, number, c, o.forms, n)
		}
		if got.pods == 0 {
			break
		}
		s.accept(on, number, c, st, got, pods[admitted:admitted+got.pods])
		admitted += got.pods
		if !on.t.attaches(c) {
			break
		}
	}
	return admitted
}

// fill takes an offer up.
func (s *solver) accept(on *openNode, number int, c *class, st *level, got offer, pods []*model.Pod) {
	on.put(c, st, got, pods)
	s.commitDevices(on, number, got)
	on.t.limits.charge(on)
	on.t.reservations.update(on)
	if c.counted() {
		s.record(c, s.claimSite(number), got.pods)
	}
}

// launch opens claims of one pool for pods and returns the rest.
func (s *solver) openFrom(t *template, number int, c *class, st *level, o option, pods []*model.Pod) (rest []*model.Pod, deferred bool) {
	want := min(len(pods), o.room)
	sp := s.cursorOf(c, st, o.domainVariant, number)
	for want > 0 && !sp.closed && !sp.rejects {
		got := s.tryOpen(t, c, st, o, pods[:want])
		if got.deferred {
			return pods, true
		}
		if got.pods == 0 {
			// Limits give way when other claims shrink; everything else is for good.
			sp.closed = t.limits.unlimited()
			break
		}
		pods, want = pods[got.pods:], want-got.pods
		if len(c.levels) > 1 || t.attaches(c) {
			// What was opened may take pods that have to give up a wish for it.
			break
		}
	}
	return pods, false
}

func (s *solver) tryOpen(t *template, c *class, st *level, o option, pods []*model.Pod) offer {
	if t.limits.exhausted() {
		return offer{}
	}
	number := len(s.open)
	on := t.newOpenNode(t.within(t.states[t.root].mask))
	var got offer
	if t.attaches(c) {
		got = s.offerOne(on, number, c, o.forms, pods[0])
	} else {
		got = s.offer(on, number, c, o.forms, min(len(pods), c.hostCapacity(st, len(s.targets.list)+number)))
	}
	if got.pods == 0 {
		t.freeList = append(t.freeList, on)
		return got
	}
	s.open = append(s.open, on)
	s.accept(on, number, c, st, got, pods[:got.pods])
	t.open.add(number, on.slack)
	return got
}
