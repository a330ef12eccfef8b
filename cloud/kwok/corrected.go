package kwok

import (
	"fmt"
	"slices"
	"sync"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// rememberedLists limits the cached lists of corrected types.
const rememberedLists = 16

// offeringLists caches the offerings of each list of instance types. Lists of the same pointers have the same content.
type offeringLists struct {
	rules v1.LabelRules
	plain *cloud.OfferingList
	types []*cloud.InstanceType

	mu      sync.Mutex
	correct cloud.Correction // nil: no corrections
	known   []correctedList  // most recent first
}

type correctedList struct {
	types     []*cloud.InstanceType
	offerings *cloud.OfferingList
}

func newOfferingLists(types []*cloud.InstanceType, rules v1.LabelRules) *offeringLists {
	return &offeringLists{rules: rules, plain: cloud.NewOfferingList(types, rules), types: types}
}

// use implements cloud.Cloud.UseCorrection.
func (m *offeringLists) use(correct cloud.Correction) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.correct = correct
}

// of is the offerings of a claim, with the corrections for its pool.
func (m *offeringLists) of(claim *v1.NodeClaim) (*cloud.OfferingList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pool := claim.Labels[v1.NodePoolLabelKey]
	if m.correct == nil || pool == "" {
		return m.plain, nil
	}
	types, err := m.correct(pool, m.types)
	if err != nil {
		return nil, fmt.Errorf("correcting instance types: %w", err)
	}
	if slices.Equal(types, m.types) {
		return m.plain, nil
	}
	for _, k := range m.known {
		if slices.Equal(k.types, types) {
			return k.offerings, nil
		}
	}
	fresh := correctedList{types, cloud.NewOfferingList(types, m.rules)}
	m.known = append([]correctedList{fresh}, m.known[:min(len(m.known), rememberedLists-1)]...)
	return fresh.offerings, nil
}
