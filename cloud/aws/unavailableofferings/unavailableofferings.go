// Package unavailableofferings caches offerings for which EC2 has insufficient capacity (ICE), so that launches use others.
//
// An offering is unavailable for three minutes the first time. If it fails again as soon as it is available again, the time doubles, up
// to an hour. A launch that succeeds, or no failure for as long as the last time, resets it.
//
// Source: AWS provider specification, unavailable-offerings cache.
package unavailableofferings

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// MinDuration is how long an offering is unavailable the first time.
	MinDuration = 3 * time.Minute
	// MaxDuration is how long an offering is unavailable at most.
	MaxDuration = time.Hour
)

// Offering is what can be unavailable: an instance type with a capacity type in a zone; within a placement group and one of its
// partitions, or outside, where both are empty; for reserved capacity, in one reservation.
type Offering struct {
	InstanceType, CapacityType, Zone string
	PlacementGroup, Partition        string
	// Reservation is the ID of a capacity reservation; empty for capacity that is not reserved, and for what holds for all reservations.
	Reservation string
}

// Cache holds the unavailable offerings. Make one with New. It is safe for concurrent use.
type Cache struct {
	clock clock.PassiveClock

	mu            sync.Mutex
	offerings     map[Offering]mark
	capacityTypes map[string]time.Time
	subnets       map[string]time.Time
	// nextEnd is when the first mark ends; zero when there is none.
	nextEnd time.Time
	// changes count changes by instance type; allChanges those of all types.
	changes    map[string]uint64
	allChanges uint64
}

// mark makes an offering unavailable until its end. It is kept for the same time again, to notice when the offering fails again.
type mark struct {
	end    time.Time
	length time.Duration
	ended  bool
}

// New returns an empty cache.
func New(now clock.PassiveClock) *Cache {
	return &Cache{clock: now, offerings: map[Offering]mark{}, capacityTypes: map[string]time.Time{}, subnets: map[string]time.Time{}, changes: map[string]uint64{}}
}

// MarkUnavailable makes an offering unavailable, and returns for how long. Marking an unavailable offering restarts its time without
// extending it: failures of concurrent launches count once.
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

// MarkCapacityTypeUnavailable makes all offerings of a capacity type unavailable.
func (m *Cache) MarkCapacityTypeUnavailable(capacityType string) {
	m.markAll(m.capacityTypes, capacityType)
}

// MarkSubnetFull says that a subnet has no free IP addresses.
func (m *Cache) MarkSubnetFull(id string) { m.markAll(m.subnets, id) }

func (m *Cache) markAll(marks map[string]time.Time, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	end := m.advance().Add(MinDuration)
	marks[key] = end
	m.allChanges++
	m.expect(end)
}

// MarkAvailable makes an offering available, after a launch succeeded.
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

// IsUnavailable reports whether an offering, its capacity type, or every subnet of its zone that could be used is marked. A mark inside a
// placement group says nothing about offerings outside, nor the other way round.
func (m *Cache) IsUnavailable(p Offering, subnetsInZone []string) bool {
	until, _ := m.Unavailable(p, subnetsInZone)
	return !until.IsZero()
}

// Reasons of Unavailable.
const (
	ReasonCapacity     = "insufficient capacity"
	ReasonCapacityType = "the account cannot launch instances of this capacity type"
	ReasonSubnets      = "the subnets of the zone have no free IP addresses"
)

// Unavailable returns until when IsUnavailable is true, as far as is known now, and the reason that lasts longest. It returns the zero time and
// no reason for an offering that no mark makes unavailable.
func (m *Cache) Unavailable(p Offering, subnetsInZone []string) (until time.Time, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	if have, ok := m.offerings[p]; ok && !have.ended {
		until, reason = have.end, ReasonCapacity
	}
	if end, ok := m.capacityTypes[p.CapacityType]; ok && end.After(until) {
		until, reason = end, ReasonCapacityType
	}
	if end := m.firstFree(subnetsInZone); end.After(until) {
		until, reason = end, ReasonSubnets
	}
	return until, reason
}

// firstFree is when the first of the subnets is expected to have free addresses; zero if one has now, or there are none.
func (m *Cache) firstFree(subnets []string) time.Time {
	var first time.Time
	for _, id := range subnets {
		end, full := m.subnets[id]
		if !full {
			return time.Time{}
		}
		if first.IsZero() || end.Before(first) {
			first = end
		}
	}
	return first
}

// Sequence returns a number that increases whenever the availability of an instance type may have changed: with every mark and with
// every end of one.
func (m *Cache) Sequence(instanceType string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return m.changes[instanceType] + m.allChanges
}

// expect records when a mark ends.
func (m *Cache) expect(end time.Time) {
	if m.nextEnd.IsZero() || end.Before(m.nextEnd) {
		m.nextEnd = end
	}
}

// advance removes expired marks and returns the time. It checks the marks only when one has expired.
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
