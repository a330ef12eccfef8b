package kwok

import (
	"fmt"
	"slices"
	"sync"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// rememberedMenus limits the cached menus of corrected types.
const rememberedMenus = 16

// menus caches the menu of each list of instance types. Lists of the same pointers have the same content.
type menus struct {
	rules v1.LabelRules
	plain *cloud.Menu
	types []*cloud.InstanceType

	mu      sync.Mutex
	correct cloud.Correction // nil: no corrections
	known   []correctedMenu  // most recent first
}

type correctedMenu struct {
	types []*cloud.InstanceType
	menu  *cloud.Menu
}

func newMenus(types []*cloud.InstanceType, rules v1.LabelRules) *menus {
	return &menus{rules: rules, plain: cloud.NewMenu(types, rules), types: types}
}

// use implements cloud.Cloud.UseCorrection.
func (m *menus) use(correct cloud.Correction) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.correct = correct
}

// of is the menu of a claim, with the corrections for its pool.
func (m *menus) of(claim *v1.NodeClaim) (*cloud.Menu, error) {
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
			return k.menu, nil
		}
	}
	fresh := correctedMenu{types, cloud.NewMenu(types, m.rules)}
	m.known = append([]correctedMenu{fresh}, m.known[:min(len(m.known), rememberedMenus-1)]...)
	return fresh.menu, nil
}
