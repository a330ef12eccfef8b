// Package place is first fit: it queues the pods of a compiled problem and places them on existing nodes, on open nodes and on new
// ones, level by level and domain by domain.
package place

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Placer is first fit: it places the pods of a run.
type Placer struct {
	*compile.Run
	Devices  *Devices
	strategy Strategy
	// Unschedulable are pods that fit nowhere, Deferred those that wait for a reservation, Undecided those that the run did not
	// get to.
	Unschedulable       []PodRun
	Deferred, Undecided []*model.Pod
	// Unwelcome are pods on nodes with a PreferNoSchedule taint that they do not tolerate.
	Unwelcome []*model.Pod
	// Offer and buffer are memory for one offer, and for the options of one level.
	Offer   compile.Offer
	buffer  []Option
	scratch scratch
	prices  struct {
		// demanded is what the pods request, largest the capacity of the largest node, both in the unit of the vectors for CPU; 0 until
		// they are needed.
		demanded, largest float64
		// launches are the results of launchPrice.
		launches map[launch]float64
		// alone are the results of priceAlone.
		alone map[*compile.Class]float64
	}
	// halted is set once the run is stopped; ticks counts how often that was asked.
	halted bool
	ticks  int
}

// PodRun is consecutive pods of one class in the queue.
type PodRun struct {
	Class *compile.Class
	Pods  []*model.Pod
}

// NewPlacer prepares a compiled problem for placing its pods.
func NewPlacer(r *compile.Run, strategy Strategy) *Placer {
	s := &Placer{Run: r, strategy: strategy, Devices: newDevices(r), Undecided: r.Undecided, halted: len(r.Undecided) > 0}
	s.expectDevices()
	return s
}

// PlaceAll places the queue, and then repeats, as long as that helps, for the pods that were not placed and may depend on
// others or on volumes that may be elsewhere. It ends early when the run is stopped.
func (s *Placer) PlaceAll(queue []PodRun) {
	for len(queue) > 0 {
		var again []PodRun
		progress := false
		for i, r := range queue {
			if s.Stopped() {
				s.stop(queue[i:], again)
				return
			}
			rest, deferred := s.place(r)
			if s.halted {
				s.stop(append([]PodRun{{r.Class, rest}}, queue[i+1:]...), again)
				return
			}
			s.forgetStates()
			if deferred {
				s.Deferred = append(s.Deferred, rest...)
				rest = nil
			}
			progress = progress || len(rest) < len(r.Pods)
			switch {
			case len(rest) == 0:
			case r.Class.Pinned:
				again = append(again, PodRun{r.Class, rest})
			default:
				s.Unschedulable = append(s.Unschedulable, PodRun{r.Class, rest})
			}
		}
		if !progress && !widenLate(again) {
			s.Unschedulable = append(s.Unschedulable, again...)
			return
		}
		queue = again
	}
}

// widenLate gives the volumes of pods that were not placed more domains, and reports whether any has more.
func widenLate(runs []PodRun) (widened bool) {
	for _, r := range runs {
		widened = r.Class.WidenLate() || widened
	}
	return widened
}

// Stopped asks whether the run is to end.
func (s *Placer) Stopped() bool {
	s.halted = s.halted || s.Classes.Exhausted() || s.Problem.Options.Stop != nil && s.Problem.Options.Stop()
	return s.halted
}

// ticksPerStop is how many steps of placing pass between two questions whether to stop.
const ticksPerStop = 64

// tick is called for every step of placing, and reports whether the run is to end.
func (s *Placer) tick() bool {
	if s.ticks++; s.ticks%ticksPerStop == 0 {
		return s.Stopped()
	}
	return s.halted
}

// forgetStates frees memory between two runs of pods.
func (s *Placer) forgetStates() {
	for _, t := range s.Templates {
		t.ForgetStates(s.Open)
	}
}

// stop leaves pods undecided that were not considered; those that were are unschedulable.
func (s *Placer) stop(unseen, again []PodRun) {
	for _, r := range unseen {
		s.Undecided = append(s.Undecided, r.Pods...)
	}
	s.Unschedulable = append(s.Unschedulable, again...)
}

// place places the pods of a run and returns those that fit nowhere. deferred reports that the rest are deferred for a reservation.
func (s *Placer) place(r PodRun) (pods []*model.Pod, deferred bool) {
	pods = r.Pods
	for len(pods) > 0 && !deferred {
		if s.Daemons.Active() {
			r.Class.Retry() // what nodes reject changes with pods elsewhere
		}
		var rest []*model.Pod
		if rest, deferred = placeSome(s, r.Class, pods); len(rest) == len(pods) {
			break
		}
		pods = rest
	}
	return pods, deferred
}

// placeSome places at least one of the pods, if any fits anywhere, and returns the rest. Where preferences are respected, a node is opened
// before one of them is relaxed. Otherwise existing nodes and open nodes come first, even if all preferences are relaxed for them: no node
// is opened for a preference alone, and when one has to be opened, it meets as many preferences as possible.
func placeSome(s *Placer, c *compile.Class, pods []*model.Pod) (rest []*model.Pod, deferred bool) {
	s.scratch.several = len(pods) > 1
	for _, levels := range s.Classes.Tiers(c) {
		rest = s.placeOnExisting(c, levels, pods)
		if len(rest) == len(pods) {
			rest, deferred = s.openNew(c, levels, pods)
		}
		if len(rest) == len(pods) && !deferred {
			rest, deferred = s.placeRoomier(c, levels, pods)
		}
		if len(rest) < len(pods) || deferred {
			return rest, deferred
		}
	}
	return pods, false
}

// placeOnExisting puts pods on existing or open nodes. It returns as soon as counts may have changed.
func (s *Placer) placeOnExisting(c *compile.Class, levels []*compile.Level, pods []*model.Pod) []*model.Pod {
	for _, st := range levels {
		options := s.Options(s.buffer[:0], c, st)
		s.buffer = options
		for _, o := range options {
			if s.tick() {
				return pods
			}
			if rest := s.placeOnNodes(c, st, o, pods); len(rest) < len(pods) {
				if pods = rest; c.Pinned || len(pods) == 0 {
					return pods
				}
			}
		}
		if s.strategy.Fit != FirstFit {
			if rest := placeOnBest(s, c, st, options, pods); len(rest) < len(pods) {
				return rest
			}
			continue
		}
		for _, o := range options {
			if s.tick() {
				return pods
			}
			if rest := s.placeOnOpen(c, st, o, pods); len(rest) < len(pods) {
				if pods = rest; c.Pinned || len(pods) == 0 {
					return pods
				}
			}
		}
	}
	return pods
}

// openNew opens nodes, from the first pool that accepts and for the most preferences. A pool that could launch from a
// reservation, if other open nodes did not hold it, defers the pods: neither a pool of lower weight nor fewer preferences
// are tried.
func (s *Placer) openNew(c *compile.Class, levels []*compile.Level, pods []*model.Pod) (rest []*model.Pod, deferred bool) {
	for _, st := range levels {
		if st.RequiresExisting() {
			continue
		}
		options := s.Options(s.buffer[:0], c, st)
		s.buffer = options
		for _, t := range s.Templates {
			for _, o := range options {
				if s.tick() {
					return pods, false
				}
				if rest, deferred = s.openFrom(t, c, st, o, pods); deferred || len(rest) < len(pods) {
					return rest, deferred
				}
			}
		}
	}
	return pods, false
}

// placeOnNodes puts pods on existing nodes, the first that accepts first, and returns the rest.
func (s *Placer) placeOnNodes(c *compile.Class, st *compile.Level, o Option, pods []*model.Pod) []*model.Pod {
	ts, dv := s.Targets, o.DomainVariant
	want := min(len(pods), o.maxPods)
	if hosts, ok := st.AffineHosts(); ok {
		for _, m := range slices.Sorted(slices.Values(hosts)) {
			if m < len(ts.List) && ts.SatisfyingAny(dv.Forms).Has(m) {
				if n := s.put(s.ExistingBin(m), c, st, o, pods[:want]); n > 0 {
					return pods[n:]
				}
			}
		}
		return pods
	}
	if dv.Nodes >= len(ts.List) {
		return pods
	}
	for m := range ts.SatisfyingAny(dv.Forms).From(dv.Nodes) {
		n := s.put(s.ExistingBin(m), c, st, o, pods[:want])
		pods, want = pods[n:], want-n
		if want == 0 || n > 0 && st.HostAffinity {
			dv.Nodes = m
			return pods
		}
	}
	dv.Nodes = len(ts.List)
	return pods
}

// placeOnOpen puts pods on open nodes and returns the rest.
func (s *Placer) placeOnOpen(c *compile.Class, st *compile.Level, o Option, pods []*model.Pod) []*model.Pod {
	dv, base := o.DomainVariant, len(s.Targets.List)
	want := min(len(pods), o.maxPods)
	if hosts, ok := st.AffineHosts(); ok {
		for _, m := range slices.Sorted(slices.Values(hosts)) {
			if m >= base && !dv.Cursor(st, s.Open[m-base].Template).Rejects {
				if n := s.put(s.OpenBin(m-base, s.Open[m-base]), c, st, o, pods[:want]); n > 0 {
					return pods[n:]
				}
			}
		}
		return pods
	}
	for _, floating := range []bool{true, false} {
		if floating && len(c.UncountedKeys) == 0 {
			continue
		}
		for i := range s.Templates {
			sp := dv.Cursor(st, s.Templates[i])
			if sp.Rejects {
				continue
			}
			if floating {
				sp = dv.FloatingCursor(i, s.Classes.Templates)
			}
			n := s.placeOnOpenOf(s.Templates[i], sp, c, st, o, pods[:want], floating)
			pods, want = pods[n:], want-n
			if want == 0 || n > 0 && st.HostAffinity {
				return pods
			}
		}
	}
	return pods
}

// placeOnOpenOf puts pods on the open nodes of one template, or on those that float, and returns how many.
func (s *Placer) placeOnOpenOf(t *compile.Template, sp *compile.TemplateCursor, c *compile.Class, st *compile.Level, o Option, pods []*model.Pod, floating bool) int {
	placed, full := 0, 0
	for sp.Cursor < len(t.Open.Numbers) {
		block := sp.Cursor / compile.BlockSize
		if sp.Cursor%compile.BlockSize == 0 {
			full = 0
			if !c.MayFit(t.Open.UpperBounds[block]) {
				sp.Cursor = min((block+1)*compile.BlockSize, len(t.Open.Numbers))
				continue
			}
		}
		number := t.Open.Numbers[sp.Cursor]
		if !c.MayFit(s.Open[number].Slack) {
			sp.Cursor++
			if full++; full == compile.BlockSize {
				t.Open.Refresh(block, s.Open)
			}
			continue
		}
		if floating && !s.Open[number].Floats(c) {
			sp.Cursor++
			continue
		}
		n := s.put(s.OpenBin(number, s.Open[number]), c, st, o, pods[placed:])
		if placed += n; placed == len(pods) || n > 0 && st.HostAffinity {
			break
		}
		sp.Cursor++
	}
	return placed
}

// openFrom opens nodes of one pool for pods and returns the rest.
func (s *Placer) openFrom(t *compile.Template, c *compile.Class, st *compile.Level, o Option, pods []*model.Pod) (rest []*model.Pod, deferred bool) {
	want := min(len(pods), o.maxPods)
	single := s.strategy.Single && len(st.Owned) > 0
	if single {
		want = 1
	}
	sp := o.Cursor(st, t)
	for want > 0 && !sp.Closed && !sp.Rejects {
		opened, later := s.tryOpen(t, c, st, o, pods[:want])
		if later {
			return pods, true
		}
		if opened == 0 {
			// Limits may admit more when other open nodes shrink; everything else is final.
			sp.Closed = t.Limits.Unlimited()
			break
		}
		pods, want = pods[opened:], want-opened
		if single {
			break
		}
		if len(c.Levels) > 1 || t.Attaches(c) || c.Extended != nil {
			// The node just opened may take pods that have to relax a preference for it, or more pods one by one.
			break
		}
		if s.Daemons.Active() && st.CountsDaemonsOnly() {
			break // the pods of DaemonSets on the node change which domain is the emptiest
		}
	}
	return pods, false
}

// placeRoomier places pods that fit on no node beside DaemonSets that only some nodes of a pool run, or that other pods keep away from some
// nodes: without these. It opens a node, or narrows an open one with pods that these have to join.
func (s *Placer) placeRoomier(c *compile.Class, levels []*compile.Level, pods []*model.Pod) (rest []*model.Pod, deferred bool) {
	for _, st := range levels {
		hosts, affine := st.AffineHosts()
		var options []Option
		for _, t := range s.Templates {
			if _, repelled := t.Repels(c, st); repelled {
				continue
			}
			if t.Most == t.NodeCapacity && !c.AvoidsDaemons() {
				continue
			}
			if options == nil {
				options = s.Options(nil, c, st)
			}
			for _, o := range options {
				if s.tick() {
					return pods, false
				}
				roomier := *o.DomainVariant
				roomier.Forms = s.Classes.Sheltered(c, o.Forms)
				if t.Most != t.NodeCapacity {
					roomier.Forms = append(roomier.Forms, s.Classes.Roomier(t, o.Forms)...)
				}
				if len(roomier.Forms) == 0 {
					continue
				}
				o.DomainVariant = &roomier
				if affine {
					if n := joinOpen(s, t, hosts, c, st, o, pods); n > 0 {
						return pods[n:], false
					}
					continue
				}
				if opened, later := s.tryOpen(t, c, st, o, pods[:min(len(pods), o.maxPods)]); later || opened > 0 {
					return pods[opened:], later
				}
			}
		}
	}
	return pods, false
}

// joinOpen puts pods on the first of some hosts that is an open node of the template and takes any, and returns how many.
func joinOpen(s *Placer, t *compile.Template, hosts []int, c *compile.Class, st *compile.Level, o Option, pods []*model.Pod) int {
	base := len(s.Targets.List)
	for _, host := range slices.Sorted(slices.Values(hosts)) {
		if host >= base && s.Open[host-base].Template == t {
			if n := s.put(s.OpenBin(host-base, s.Open[host-base]), c, st, o, pods[:min(len(pods), o.maxPods)]); n > 0 {
				return n
			}
		}
	}
	return 0
}

// tryOpen opens a node of a template for as many of the pods as it takes.
func (s *Placer) tryOpen(t *compile.Template, c *compile.Class, st *compile.Level, o Option, pods []*model.Pod) (opened int, deferred bool) {
	if t.Limits.Exhausted() {
		return 0, false
	}
	b := s.OpenBin(len(s.Open), t.NewOpenNode(t.Within(t.States[t.Root].Mask)))
	if s.Fit(&s.Offer, b, c, st, o.Forms, pods); s.Offer.Pods == 0 {
		t.FreeList = append(t.FreeList, b.Open)
		return 0, s.Offer.Deferred
	}
	opened = s.Offer.Pods
	s.Open = append(s.Open, b.Open)
	s.Take(&s.Offer, b, c, st, pods[:opened])
	t.Open.Add(b.Number, b.Open.Slack)
	return opened, false
}
