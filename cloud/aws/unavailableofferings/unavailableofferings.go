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
	MinDuration = 3 * time.Minute
	// LongestPause is how long a pool is left alone at most.
	MaxDuration = time.Hour
)

// Pool is what can run out: an instance type, the way it is bought and where; within a placement group and one of its
// partitions, or outside, where both are empty.
type Offering struct {
	InstanceType, CapacityType, Zone string
	PlacementGroup, Partition        string
}

// Memory is what has run out. Make one with New; it may be used from many goroutines.
type Cache struct {
	clock clock.PassiveClock

	mu            sync.Mutex
	offerings     map[Offering]mark
	capacityTypes map[string]time.Time
	subnets       map[string]time.Time
	// next is when the first mark ends; zero when there is none.
	nextEnd time.Time
	// changes count what happened: by instance type, and to everything.
	changes    map[string]uint64
	allChanges uint64
}

// pause is one time of leaving a pool alone. It is kept for as long again after its end, so that it is known whether the pool
// fails again.
type mark struct {
	end    time.Time
	length time.Duration
	ended  bool
}

// New makes an empty memory.
func New(now clock.PassiveClock) *Cache {
	return &Cache{clock: now, offerings: map[Offering]mark{}, capacityTypes: map[string]time.Time{}, subnets: map[string]time.Time{}, changes: map[string]uint64{}}
}

// Mark says that a pool has run out, and returns for how long it will be left alone. Marking what is marked already only
// makes it last as long from now: complaints that come together count once.
func (m *Cache) MarkUnavailable(p Offering) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.advance()
	length := MinDuration
	switch have, ok := m.offerings[p]; {
	case ok && have.ended:
		length = min(2*have.length, MaxDuration)
	case ok:
		length = have.length
	}
	m.offerings[p] = mark{end: now.Add(length), length: length}
	m.changes[p.InstanceType]++
	m.expect(now.Add(length))
	return length
}

// MarkCapacityType says that nothing of a capacity type can be had.
func (m *Cache) MarkCapacityTypeUnavailable(capacityType string) {
	m.markAll(m.capacityTypes, capacityType)
}

// MarkSubnet says that a subnet has no free addresses.
func (m *Cache) MarkSubnetFull(id string) { m.markAll(m.subnets, id) }

func (m *Cache) markAll(marks map[string]time.Time, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	end := m.advance().Add(MinDuration)
	marks[key] = end
	m.allChanges++
	m.expect(end)
}

// Succeeded says that a pool had capacity: what was held against it is forgotten.
func (m *Cache) MarkAvailable(p Offering) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	if have, ok := m.offerings[p]; ok {
		delete(m.offerings, p)
		if !have.ended {
			m.changes[p.InstanceType]++
		}
	}
}

// Short reports whether a pool is to be left alone: it is marked, its capacity type is, or every subnet that could be used in
// its zone is. A mark inside a placement group says nothing about what is outside, and the other way round.
func (m *Cache) IsUnavailable(p Offering, subnetsInZone []string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	if have, ok := m.offerings[p]; ok && !have.ended {
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
func (m *Cache) Sequence(instanceType string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return m.changes[instanceType] + m.allChanges
}

// expect notes when a mark ends.
func (m *Cache) expect(end time.Time) {
	if m.nextEnd.IsZero() || end.Before(m.nextEnd) {
		m.nextEnd = end
	}
}

// advance ends the marks whose time has come and returns the time. It looks at the marks only when there is one to end.
func (m *Cache) advance() time.Time {
	now := m.clock.Now()
	if m.nextEnd.IsZero() || now.Before(m.nextEnd) {
		return now
	}
	m.nextEnd = time.Time{}
	for p, have := range m.offerings {
		if !have.ended && !have.end.After(now) {
			have.ended = true
			m.offerings[p] = have
			m.changes[p.InstanceType]++
		}
		switch forget := have.end.Add(have.length); {
		case !have.ended:
			m.expect(have.end)
		case forget.After(now):
			m.expect(forget)
		default:
			delete(m.offerings, p)
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
