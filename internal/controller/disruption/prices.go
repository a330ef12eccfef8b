package disruption

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// prices has the prices of nodes. It keeps the last instance types of each pool, so that a temporary failure of the provider can
// change the order in which nodes are disrupted, but never whether they are. Only the loop accesses it.
type prices struct {
	provider cloud.Provider
	log      *slog.Logger
	last     map[string]list
	// changes counts the lists that differed from the one before.
	changes uint64
}

// list has the instance types that one pool may launch, as last returned by the provider.
type list struct {
	types  []*cloud.InstanceType
	prices problem.PoolPrices
	// number identifies the list: the number of changes with it.
	number uint64
}

func newPrices(provider cloud.Provider, log *slog.Logger) *prices {
	return &prices{provider: provider, log: log, last: map[string]list{}}
}

// set sets the prices of the candidates, 0 if unknown, and whether their instance types are known.
func (p *prices) set(ctx context.Context, pools map[string]*v1.NodePool, candidates []disrupt.Candidate) {
	for name := range p.last {
		if pools[name] == nil {
			delete(p.last, name)
		}
	}
	asked := map[string]bool{}
	for i := range candidates {
		node := candidates[i].Node
		if !asked[node.Pool] {
			asked[node.Pool] = true
			p.ask(ctx, node.Pool, pools[node.Pool])
		}
		p.last[node.Pool].prices.Set(&candidates[i])
	}
}

// of returns the price of a node; 0 if unknown.
func (p *prices) of(pools map[string]*v1.NodePool, n *model.Node) float64 {
	if pools[n.Pool] == nil {
		return 0
	}
	return p.last[n.Pool].prices.Of(n)
}

// ask updates the instance types of a pool. After an error or an empty list it keeps the last ones.
func (p *prices) ask(ctx context.Context, name string, pool *v1.NodePool) {
	types, err := p.provider.InstanceTypes(ctx, pool)
	if err != nil {
		p.log.Warn("cannot list instance types, using the last known prices", logfield.NodePool(name), logfield.Error(err))
		return
	}
	if len(types) == 0 {
		return
	}
	if slices.Equal(p.last[name].types, types) { // instance types are never changed in place
		return
	}
	p.changes++
	p.last[name] = list{types: types, prices: problem.PricesOf(types), number: p.changes}
}

// digest identifies the instance types that all pools may launch.
func (p *prices) digest() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.last)) {
		fmt.Fprintf(&b, "%s %d ", name, p.last[name].number)
	}
	return b.String()
}
