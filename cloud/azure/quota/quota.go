// Package quota holds how many vCPUs a subscription may use in a location, by family of SKUs, and how many it uses.
//
// Only on-demand virtual machines count against the quota of a family; spot ones have a quota for the whole location, which this package
// does not judge. What is not known is allowed: an unnecessary attempt fails quickly, and what was assumed exhausted would never be tried.
//
// Source: Azure provider specification, vCPU quota; deviation 28.
package quota

import (
	"maps"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// maxAge is how long after the last successful refresh the usages are kept when refreshes fail.
const maxAge = 15 * time.Minute

// Usage is how much of one quota a subscription uses in a location, as Azure lists it.
type Usage struct {
	// Name is that of the quota. Quotas of families have the name of the family of a SKU, such as standardDSv3Family or
	// "Standard NCASv3_T4 Family"; the one for the whole location is called cores. Upper and lower case do not differ.
	Name string
	// Limit is the quota, Current how much of it is used; for families in vCPUs.
	Limit, Current int64
}

// Quota is the usages as of the last refresh. Make one with New; it is safe for concurrent use.
type Quota struct {
	clock clock.PassiveClock

	mu sync.RWMutex
	// usages are by name in lower case; nil if they are not known, which is the case before the first refresh and after a discard.
	usages    map[string]amount
	refreshed time.Time
	sequence  uint64
}

// amount is the numbers of a Usage.
type amount struct{ limit, current int64 }

// left is how much can still be used; negative if more is used than allowed.
func (a amount) left() int64 { return a.limit - a.current }

// New returns a quota whose usages are not known.
func New(now clock.PassiveClock) *Quota { return &Quota{clock: now} }

// Refresh replaces the usages by those that Azure has just listed. If names differ in upper and lower case only, the usage with the least
// left counts.
func (q *Quota) Refresh(usages []Usage) {
	fresh := make(map[string]amount, len(usages))
	for _, u := range usages {
		name, a := strings.ToLower(u.Name), amount{u.Limit, u.Current}
		if known, ok := fresh[name]; !ok || a.before(known) {
			fresh[name] = a
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refreshed = q.clock.Now()
	if !maps.Equal(fresh, q.usages) {
		q.sequence++
	}
	q.usages = fresh
}

// before orders usages of one name, so that the order in which Azure lists them does not matter.
func (a amount) before(b amount) bool {
	if a.left() != b.left() {
		return a.left() < b.left()
	}
	return a.limit < b.limit
}

// RefreshFailed keeps the usages for up to 15 minutes after the last successful refresh, and then discards them. It reports whether it has
// discarded some.
func (q *Quota) RefreshFailed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.usages == nil || q.clock.Since(q.refreshed) <= maxAge {
		return false
	}
	had := len(q.usages) > 0
	q.usages = nil
	if had {
		q.sequence++
	}
	return had
}

// Exceeded reports whether the quota of a family does not allow another on-demand virtual machine with so many vCPUs. It is false if the
// usage of the family is not known.
func (q *Quota) Exceeded(family string, vcpus int64) bool {
	q.mu.RLock()
	defer q.mu.RUnlock()
	known, ok := q.usages[strings.ToLower(family)]
	return ok && known.left() < vcpus
}

// Sequence returns a number that increases whenever the usages change: with every refresh that differs from the one before, and with a
// discard. A refresh with the same usages leaves it.
func (q *Quota) Sequence() uint64 {
	q.mu.RLock()
	defer q.mu.RUnlock()
	return q.sequence
}
