package bookkeeper

import (
	"sync"

	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// fleet is what the NodeClaims with an instance cost. The sum is kept up to date with each change, because a pass over thousands of nodes
// should not have to look at each of them once more. It is safe for concurrent use.
type fleet struct {
	mu       sync.Mutex
	known    bool
	dollars  float64
	unpriced int
}

// set replaces the sum.
func (f *fleet) set(dollars float64, unpriced int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known, f.dollars, f.unpriced = true, dollars, unpriced
}

// change replaces a NodeClaim; the zero state is none.
func (f *fleet) change(before, now ledger.NodeClaimState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, wasUnpriced := costOf(before)
	is, isUnpriced := costOf(now)
	f.dollars += is - was
	f.unpriced += isUnpriced - wasUnpriced
}

func (f *fleet) cost(delta float64, unpriced int) *ledger.Cost {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known {
		return nil
	}
	return &ledger.Cost{Before: f.dollars, After: f.dollars + delta, Unpriced: f.unpriced + unpriced}
}

// costOf is what a NodeClaim costs, and whether its price is not known, as a number.
func costOf(s ledger.NodeClaimState) (dollars float64, unpriced int) {
	switch {
	case s.InstanceType == "":
		return 0, 0
	case s.Price == nil:
		return 0, 1
	default:
		return *s.Price, 0
	}
}
