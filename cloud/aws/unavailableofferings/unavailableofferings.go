// Package unavailableofferings remembers for a while what EC2 had no capacity for, so that launches go elsewhere.
//
// A pool is left alone for three minutes the first time. One that fails again as soon as it is tried again is left alone
// twice as long each time, up to an hour; one that works, or that nobody had to complain about for as long as it was last
// left alone, starts over.
//
// Source: AWS provider specification, unavailable-offerings cache.
package unavailableofferings

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// FirstPause is how long anything is left alone at first.
	FirstPause = 3 * time.Minute
	// LongestPause is how long a pool is left alone at most.
	LongestPause = time.Hour
)

// Pool is what can run out: an instance type, the way it is bought and where; within a placement group and one of its
// partitions, or outside, where both are empty.
type Pool struct {
	InstanceType, CapacityType, Zone string
	PlacementGroup, Partition        string
}

// Memory is what has run out. Make one with New; it may be used from many goroutines.
type Memory struct {
	clock clock.PassiveClock

	mu            sync.Mutex
	pools         map[Pool]pause
	capacityTypes map[string]time.Time
	subnets       map[string]time.Time
	// next is when the first mark ends; zero when there is none.
	next time.Time
	// changes count what happened: by instance type, and to everything.
	changes    map[string]uint64
	allChanges uint64
}

// pause is one time of leaving a pool alone. It is kept for as long again after its end, so that it is known whether the pool
// fails again.
type pause struct {
	end    time.Time
	length time.Duration
	ended  bool
}

// New makes an empty memory.
func New(now clock.PassiveClock) *Memory {
	return &Memory{clock: now, pools: map[Pool]pause{}, capacityTypes: map[string]time.Time{}, subnets: map[string]time.Time{}, changes: map[string]uint64{}}
}

// Mark says that a pool has run out, and returns for how long it will be left alone. Marking what is marked already only
// makes it last as long from now: complaints that come together count once.
func (m *Memory) Mark(p Pool) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.advance()
	length := FirstPause
	switch have, ok := m.pools[p]; {
	case ok && have.ended:
		length = min(2*have.length, LongestPause)
	case ok:
		length = have.length
	}
	m.pools[p] = pause{end: now.Add(length), length: length}
	m.changes[p.InstanceType]++
	m.expect(now.Add(length))
	return length
}

// MarkCapacityType says that nothing of a capacity type can be had.
func (m *Memory) MarkCapacityType(capacityType string) { m.markAll(m.capacityTypes, capacityType) }

// MarkSubnet says that a subnet has no free addresses.
func (m *Memory) MarkSubnet(id string) { m.markAll(m.subnets, id) }

func (m *Memory) markAll(marks map[string]time.Time, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	end := m.advance().Add(FirstPause)
	marks[key] = end
	m.allChanges++
	m.expect(end)
}

// Succeeded says that a pool had capacity: what was held against it is forgotten.
func (m *Memory) Succeeded(p Pool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	if have, ok := m.pools[p]; ok {
		delete(m.pools, p)
		if !have.ended {
			m.changes[p.InstanceType]++
		}
	}
}

// Short reports whether a pool is to be left alone: it is marked, its capacity type is, or every subnet that could be used in
// its zone is. A mark inside a placement group says nothing about what is outside, and the other way round.
func (m *Memory) Short(p Pool, subnetsInZone []string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	if have, ok := m.pools[p]; ok && !have.ended {
		return true
	}
	if _, ok := m.capacityTypes[p.CapacityType]; ok {
		return true
	}
	for _, id := range subnetsInZone {
		if _, ok := m.subnets[id]; !ok {
			return false
		}
	}
	return len(subnetsInZone) > 0
}

// Sequence is a number that rises whenever the answers for an instance type may have changed: with every mark and with
// every end of one.
func (m *Memory) Sequence(instanceType string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return m.changes[instanceType] + m.allChanges
}

// expect notes when a mark ends.
func (m *Memory) expect(end time.Time) {
	if m.next.IsZero() || end.Before(m.next) {
		m.next = end
	}
}

// advance ends the marks whose time has come and returns the time. It looks at the marks only when there is one to end.
func (m *Memory) advance() time.Time {
	now := m.clock.Now()
	if m.next.IsZero() || now.Before(m.next) {
		return now
	}
	m.next = time.Time{}
	for p, have := range m.pools {
		if !have.ended && !have.end.After(now) {
			have.ended = true
			m.pools[p] = have
			m.changes[p.InstanceType]++
		}
		switch forget := have.end.Add(have.length); {
		case !have.ended:
			m.expect(have.end)
		case forget.After(now):
			m.expect(forget)
		default:
			delete(m.pools, p)
		}
	}
	for _, marks := range []map[string]time.Time{m.capacityTypes, m.subnets} {
		for key, end := range marks {
			if end.After(now) {
				m.expect(end)
				continue
			}
			delete(marks, key)
			m.allChanges++
		}
	}
	return now
}
