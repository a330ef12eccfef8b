package cloud

import (
	"maps"
	"slices"
	"sync"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// keepOfferingLists is for how long the list of a NodePool without launches is kept.
const keepOfferingLists = time.Hour

// OfferingLists keep the list of offerings of each NodePool until its types change: to prepare one takes longer than all else that a launch computes.
// They are bounded by the NodePools with a launch in the last hour. The zero value is ready.
type OfferingLists struct {
	mu     sync.Mutex
	byPool map[string]pricedTypes
}

type pricedTypes struct {
	types     []*InstanceType
	offerings *OfferingList
	used      time.Time
}

// Of returns the offerings of types; the list from before if they are the same. When it makes a list, it drops those that were not used for an hour.
func (m *OfferingLists) Of(pool string, types []*InstanceType, rules v1.LabelRules, now time.Time) *OfferingList {
	m.mu.Lock()
	defer m.mu.Unlock()
	if have, ok := m.byPool[pool]; ok && slices.Equal(have.types, types) {
		have.used = now
		m.byPool[pool] = have
		return have.offerings
	}
	if m.byPool == nil {
		m.byPool = map[string]pricedTypes{}
	}
	maps.DeleteFunc(m.byPool, func(_ string, p pricedTypes) bool { return now.Sub(p.used) >= keepOfferingLists })
	made := pricedTypes{slices.Clone(types), NewOfferingList(types, rules), now}
	m.byPool[pool] = made
	return made.offerings
}
