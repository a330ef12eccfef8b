package cloud

import (
	"slices"
	"sync"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// OfferingLists keep the list of offerings of each NodePool until its types change: to prepare one takes longer than all else that a launch computes.
// The zero value is ready.
type OfferingLists struct {
	mu     sync.Mutex
	byPool map[string]pricedTypes
}

type pricedTypes struct {
	types     []*InstanceType
	offerings *OfferingList
}

// Of returns the offerings of types; the list from before if they are the same.
func (m *OfferingLists) Of(pool string, types []*InstanceType, rules v1.LabelRules) *OfferingList {
	m.mu.Lock()
	defer m.mu.Unlock()
	if have, ok := m.byPool[pool]; ok && slices.Equal(have.types, types) {
		return have.offerings
	}
	if m.byPool == nil {
		m.byPool = map[string]pricedTypes{}
	}
	made := pricedTypes{slices.Clone(types), NewOfferingList(types, rules)}
	m.byPool[pool] = made
	return made.offerings
}
