package cluster

import "time"

// refresh is how long a Moves value holds without any change: what no event tells of, such as prices, is looked at again
// after that.
const maxStateAge = 5 * time.Minute

// moves counts what could make consolidation possible.
//
// Source: scheduling specification, consolidation timestamp; disruption specification, consolidation clock.
type consolidation struct {
	count uint64
	// fresh is set while count has not been read since it changed; at is when it was first read after that.
	fresh bool
	at    time.Time
}

// note counts a change, if there was one.
func (m *consolidation) recordChange(changed bool) {
	if changed {
		m.count++
		m.fresh = true
	}
}

// Moves is a number that changes whenever something happens that could make consolidation possible: a pod ends, is deleted, bound
// or moved, a machine comes or goes, becomes initialized, consolidatable or marked for deletion, or somebody calls Moved.
// When nothing happens for five minutes it changes all the same. Whoever finds nothing to do remembers the number from
// before the search, and need not search again while it stays.
func (s *Store) ConsolidationState(now time.Time) uint64 {
	s.Snapshot() // notices what became of machines
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.consolidation.fresh || s.consolidation.at.IsZero():
		s.consolidation.fresh, s.consolidation.at = false, now
	case now.Sub(s.consolidation.at) >= maxStateAge:
		s.consolidation.count++
		s.consolidation.at = now
	}
	return s.consolidation.count
}

// Moved notes a change that the Store itself does not see: of pools, or of what their machines cost.
func (s *Store) MarkUnconsolidated() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consolidation.recordChange(true)
}
