package cluster

import "time"

// maxStateAge is how long the consolidation state stays the same without any event: changes without an event, such as prices, are
// considered after that.
const maxStateAge = 5 * time.Minute

// consolidation counts events that could make consolidation possible.
//
// Source: scheduling specification, consolidation timestamp; disruption specification, consolidation clock.
type consolidation struct {
	count uint64
	// fresh is set until count is read for the first time after a change; at is the time of that read.
	fresh bool
	at    time.Time
}

// recordChange counts an event if changed is set.
func (m *consolidation) recordChange(changed bool) {
	if changed {
		m.count++
		m.fresh = true
	}
}

// ConsolidationState returns a number that changes with every event that could make consolidation possible: a pod ends, is deleted or
// bound, a node is added, removed, initialized, consolidatable or marked for deletion, or MarkUnconsolidated is called. Without
// events it changes every five minutes. A caller that found no node to consolidate need not search again while the number from
// before its search is unchanged.
func (s *Store) ConsolidationState(now time.Time) uint64 {
	s.Snapshot() // counts the changes of nodes
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

// MarkUnconsolidated counts a change that the Store does not observe: of NodePools, or of prices.
func (s *Store) MarkUnconsolidated() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consolidation.recordChange(true)
}
