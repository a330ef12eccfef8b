package disruption

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"slices"
	"strings"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// prices knows what nodes cost. It keeps the last instance types of each pool, so that a provider that cannot answer for
// a while changes the order in which nodes are disrupted at most, and never whether they are. It belongs to the loop.
type prices struct {
	provider cloud.Provider
	log      *slog.Logger
	last     map[string]list
}

// list is what one pool may launch, as it was known last.
type list struct {
	types  []*cloud.InstanceType
	prices problem.PoolPrices
	// digest tells lists apart. Instance types are never changed in place, so it goes by where they are.
	digest uint64
}

func newPrices(provider cloud.Provider, log *slog.Logger) *prices {
	return &prices{provider: provider, log: log, last: map[string]list{}}
}

// set fills in the prices of the candidates; 0 where there is none to find, and whether their types are known.
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

// of is the price of a node by what is known now; 0 where there is none to find.
func (p *prices) of(pools map[string]*v1.NodePool, n *model.Node) float64 {
	if pools[n.Pool] == nil {
		return 0
	}
	return p.last[n.Pool].prices.Of(n)
}

// ask keeps what a pool may launch now, or what it could last.
func (p *prices) ask(ctx context.Context, name string, pool *v1.NodePool) {
	types, err := p.provider.InstanceTypes(ctx, pool)
	if err != nil {
		p.log.Warn("cannot list instance types, using the last known prices", "NodePool", name, "error", err)
		return
	}
	if len(types) == 0 {
		return
	}
	h := fnv.New64a()
	for _, it := range types {
		_, _ = fmt.Fprintf(h, "%p ", it) // never fails
	}
	if known := p.last[name]; known.digest == h.Sum64() && slices.Equal(known.types, types) {
		return
	}
	p.last[name] = list{types: types, prices: problem.PricesOf(types), digest: h.Sum64()}
}

// digest tells apart what all pools may launch.
func (p *prices) digest() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.last)) {
		fmt.Fprintf(&b, "%s %x ", name, p.last[name].digest)
	}
	return b.String()
}
