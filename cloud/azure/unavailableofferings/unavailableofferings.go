// Package unavailableofferings caches offerings for which Azure has insufficient capacity (ICE) or the subscription has no quota, so that
// launches use others.
//
// A mark makes an instance type unavailable in some zones with some capacity types for a while, and with it the types of the same family that
// have as many vCPUs or more: where a size does not fit, a larger one does not fit either, and a smaller one may. A mark never shortens or
// weakens an earlier one.
//
// Source: Azure provider specification, unavailable-offerings cache; deviation 29.
package unavailableofferings

import (
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// DefaultDuration is how long a mark without a duration lasts.
const DefaultDuration = 3 * time.Minute

// InstanceType is what the cache has to know about an instance type.
type InstanceType struct {
	// Name is that of the SKU, such as Standard_D2s_v3.
	Name string
	// Family is the name of the SKU's family, for which quotas hold, such as standardDSv3Family. Upper and lower case do not differ. If it
	// is empty, other types are not affected.
	Family string
	// VCPUs is the number of vCPUs.
	VCPUs int
}

// Mark says what is unavailable. The zero value says that nothing is.
type Mark struct {
	// InstanceType is unavailable with each of CapacityTypes in each of Zones, which are values of labels.
	InstanceType         InstanceType
	CapacityTypes, Zones []string
	// Spot says that no instance type is available with capacity type spot, whatever the zone. The fields above are then ignored.
	Spot bool
	// Duration is how long the mark lasts; DefaultDuration if it is not positive.
	Duration time.Duration
}

// offering is one instance type with a capacity type in a zone.
type offering struct{ instanceType, capacityType, zone string }

// family is the instance types of a family with a capacity type in a zone; its name is in lower case.
type family struct{ name, capacityType, zone string }

// Cache holds the unavailable offerings. Make one with New. It is safe for concurrent use.
type Cache struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// spot is when spot capacity is available again; zero if it is. offerings holds ends of marks, families those by the number of vCPUs
	// from which on types are unavailable.
	spot      time.Time
	offerings map[offering]time.Time
	families  map[family]map[int]time.Time
	// nextEnd is when the first mark ends; zero when there is none.
	nextEnd  time.Time
	sequence uint64
}

// New returns an empty cache.
func New(now clock.PassiveClock) *Cache {
	return &Cache{clock: now, offerings: map[offering]time.Time{}, families: map[family]map[int]time.Time{}}
}

// Mark makes offerings unavailable.
func (c *Cache) Mark(m Mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.advance()
	end := now.Add(DefaultDuration)
	if m.Duration > 0 {
		end = now.Add(m.Duration)
	}
	changed := false
	if m.Spot {
		changed, c.spot = c.spot.IsZero(), later(c.spot, end)
		c.expect(end)
	} else {
		for _, capacityType := range m.CapacityTypes {
			for _, zone := range m.Zones {
				changed = c.mark(m.InstanceType, capacityType, zone, end) || changed
			}
		}
	}
	if changed {
		c.sequence++
	}
}

// mark marks an offering and its family, and reports whether that changes what is available.
func (c *Cache) mark(t InstanceType, capacityType, zone string, end time.Time) bool {
	changed := c.until(t, capacityType, zone).IsZero()
	one := offering{t.Name, capacityType, zone}
	c.offerings[one] = later(c.offerings[one], end)
	c.expect(end)
	if t.Family == "" {
		return changed
	}
	all := family{strings.ToLower(t.Family), capacityType, zone}
	if c.families[all] == nil {
		c.families[all] = map[int]time.Time{}
	}
	changed = changed || c.familyUntil(all, t.VCPUs).IsZero()
	c.families[all][t.VCPUs] = later(c.families[all][t.VCPUs], end)
	return changed
}

// IsUnavailable reports whether an offering is marked: by itself, with its family, or with all spot capacity.
func (c *Cache) IsUnavailable(t InstanceType, capacityType, zone string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return !c.until(t, capacityType, zone).IsZero()
}

// Until returns when an offering that IsUnavailable is available again, as far as is known now; zero for one that is available.
func (c *Cache) Until(t InstanceType, capacityType, zone string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return c.until(t, capacityType, zone)
}

// Sequence returns a number that increases whenever the availability of an offering may have changed: with every mark that makes something
// unavailable that was available, with every end of a mark, and with Flush.
func (c *Cache) Sequence() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return c.sequence
}

// Flush removes all marks.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spot, c.nextEnd = time.Time{}, time.Time{}
	clear(c.offerings)
	clear(c.families)
	c.sequence++
}

// until is when the last mark of an offering ends; zero for no mark.
func (c *Cache) until(t InstanceType, capacityType, zone string) time.Time {
	until := c.offerings[offering{t.Name, capacityType, zone}]
	if capacityType == v1.CapacityTypeSpot {
		until = later(until, c.spot)
	}
	if t.Family != "" {
		until = later(until, c.familyUntil(family{strings.ToLower(t.Family), capacityType, zone}, t.VCPUs))
	}
	return until
}

// familyUntil is until when types of a family with so many vCPUs are unavailable; zero if they are not.
func (c *Cache) familyUntil(f family, vcpus int) (until time.Time) {
	for threshold, end := range c.families[f] {
		if threshold <= vcpus {
			until = later(until, end)
		}
	}
	return until
}

// expect records when a mark ends.
func (c *Cache) expect(end time.Time) {
	if c.nextEnd.IsZero() || end.Before(c.nextEnd) {
		c.nextEnd = end
	}
}

// advance removes marks that have ended and returns the time. It looks at the marks only when one has ended.
func (c *Cache) advance() time.Time {
	now := c.clock.Now()
	if c.nextEnd.IsZero() || now.Before(c.nextEnd) {
		return now
	}
	c.nextEnd = time.Time{}
	if ended := c.ended(c.spot, now); ended {
		c.spot = time.Time{}
	}
	for key, end := range c.offerings {
		if c.ended(end, now) {
			delete(c.offerings, key)
		}
	}
	for key, thresholds := range c.families {
		for threshold, end := range thresholds {
			if c.ended(end, now) {
				delete(thresholds, threshold)
			}
		}
		if len(thresholds) == 0 {
			delete(c.families, key)
		}
	}
	return now
}

// ended reports whether a mark has ended, and counts that; if not, it records when it will. The zero time stands for no mark.
func (c *Cache) ended(end, now time.Time) bool {
	switch {
	case end.IsZero():
		return false
	case end.After(now):
		c.expect(end)
		return false
	default:
		c.sequence++
		return true
	}
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
