package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// placer is first fit: it places the pods of a run.
type placer struct {
	*run
	devices *devices
	// unschedulable are pods that fit nowhere, deferred those that wait for a reservation, undecided those that the run did not
	// get to.
	unschedulable       []podRun
	deferred, undecided []*model.Pod
	// offer and buffer are memory for one offer, and for the options of one level.
	offer   offer
	buffer  []option
	scratch scratch
}

// podRun is consecutive pods of one class in the queue.
type podRun struct {
	class *class
	pods  []*model.Pod
}

func newPlacer(r *run) *placer {
	s := &placer{run: r, devices: newDevices(r)}
	s.expectDevices()
	return s
}

// placeAll places the queue, and then once more, as long as that helps, the pods that were refused and may have been
// waiting for others. It ends early when the run is stopped.
func (s *placer) placeAll(queue []podRun) {
	for len(queue) > 0 {
		var again []podRun
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
				again = append(again, podRun{r.class, rest})
			default:
				s.unschedulable = append(s.unschedulable, podRun{r.class, rest})
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
func (s *placer) stop(unseen, again []podRun) {
	for _, r := range unseen {
		s.undecided = append(s.undecided, r.pods...)
	}
	s.unschedulable = append(s.unschedulable, again...)
}

// place finds places for the pods of a run and returns those it found none for. Machines that exist and claims that are open
// come first, whatever wish that costs: no machine is opened for a wish alone. When one has to be opened, it is one that
// grants as many wishes as possible. deferred says that the rest should wait for a reservation.
func (s *placer) place(r podRun) (pods []*model.Pod, deferred bool) {
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
func (s *placer) placeOnExisting(c *class, pods []*model.Pod) []*model.Pod {
	for _, st := range c.levels {
		options := s.options(s.buffer[:0], c, st)
		s.buffer = options
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
func (s *placer) openNew(c *class, pods []*model.Pod) (rest []*model.Pod, deferred bool) {
	for _, st := range c.levels {
		if st.requiresExisting() {
			continue
		}
		options := s.options(s.buffer[:0], c, st)
		s.buffer = options
		for _, t := range s.templates {
			for _, o := range options {
				if rest, deferred = s.openFrom(t, c, st, o, pods); deferred || len(rest) < len(pods) {
					return rest, deferred
				}
			}
		}
	}
	return pods, false
}

// inhabit puts pods on existing nodes, the first that accepts first, and returns the rest.
func (s *placer) placeOnNodes(c *class, st *level, o option, pods []*model.Pod) []*model.Pod {
	ts, dv := s.targets, o.domainVariant
	want := min(len(pods), o.room)
	if hosts, ok := st.affineHosts(); ok {
		for _, m := range slices.Sorted(slices.Values(hosts)) {
			if m < len(ts.list) && ts.satisfyingAny(dv.forms).Has(m) {
				if n := s.put(s.existingBin(m), c, st, o, pods[:want]); n > 0 {
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
		n := s.put(s.existingBin(m), c, st, o, pods[:want])
		pods, want = pods[n:], want-n
		if want == 0 || n > 0 && st.hostAffinity {
			dv.nodes = m
			return pods
		}
	}
	dv.nodes = len(ts.list)
	return pods
}

// join puts pods into open claims and returns the rest.
func (s *placer) placeOnOpen(c *class, st *level, o option, pods []*model.Pod) []*model.Pod {
	dv, base := o.domainVariant, len(s.targets.list)
	want := min(len(pods), o.room)
	if hosts, ok := st.affineHosts(); ok {
		for _, m := range slices.Sorted(slices.Values(hosts)) {
			if m >= base && !dv.cursor(st, s.open[m-base].t).rejects {
				if n := s.put(s.openBin(m-base, s.open[m-base]), c, st, o, pods[:want]); n > 0 {
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
			sp := dv.cursor(st, s.templates[i])
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

// joinOf puts pods into the open claims of one template, or into those that float, and returns how many.
func (s *placer) placeOnOpenOf(t *template, sp *templateCursor, c *class, st *level, o option, pods []*model.Pod, floating bool) int {
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
		n := s.put(s.openBin(number, s.open[number]), c, st, o, pods[placed:])
		if placed += n; placed == len(pods) || n > 0 && st.hostAffinity {
			break
		}
		sp.cursor++
	}
	return placed
}

// launch opens claims of one pool for pods and returns the rest.
func (s *placer) openFrom(t *template, c *class, st *level, o option, pods []*model.Pod) (rest []*model.Pod, deferred bool) {
	want := min(len(pods), o.room)
	sp := o.cursor(st, t)
	for want > 0 && !sp.closed && !sp.rejects {
		opened, later := s.tryOpen(t, c, st, o, pods[:want])
		if later {
			return pods, true
		}
		if opened == 0 {
			// Limits give way when other claims shrink; everything else is for good.
			sp.closed = t.limits.unlimited()
			break
		}
		pods, want = pods[opened:], want-opened
		if len(c.levels) > 1 || t.attaches(c) {
			// What was opened may take pods that have to give up a wish for it.
			break
		}
	}
	return pods, false
}

// tryOpen opens a node of a template for as many of the pods as it takes.
func (s *placer) tryOpen(t *template, c *class, st *level, o option, pods []*model.Pod) (opened int, deferred bool) {
	if t.limits.exhausted() {
		return 0, false
	}
	b := s.openBin(len(s.open), t.newOpenNode(t.within(t.states[t.root].mask)))
	if s.fit(&s.offer, b, c, st, o.forms, pods); s.offer.pods == 0 {
		t.freeList = append(t.freeList, b.open)
		return 0, s.offer.deferred
	}
	opened = s.offer.pods
	s.open = append(s.open, b.open)
	s.take(&s.offer, b, c, st, pods[:opened])
	t.open.add(b.number, b.open.slack)
	return opened, false
}
