package launcher

import (
	"slices"
	"sync"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// offeringLists keep the list of prices of each pool until its types change. The zero value is ready.
type offeringLists struct {
	mu     sync.Mutex
	byPool map[string]pricedTypes
}

type pricedTypes struct {
	types     []*cloud.InstanceType
	offerings *cloud.OfferingList
}

// of is the offerings of types; the one from before if they are the same.
func (m *offeringLists) of(pool string, types []*cloud.InstanceType, rules v1.LabelRules) *cloud.OfferingList {
	m.mu.Lock()
	defer m.mu.Unlock()
	if have, ok := m.byPool[pool]; ok && slices.Equal(have.types, types) {
		return have.offerings
	}
	if m.byPool == nil {
		m.byPool = map[string]pricedTypes{}
	}
	made := pricedTypes{slices.Clone(types), cloud.NewOfferingList(types, rules)}
	m.byPool[pool] = made
	return made.offerings
}
