package disruption

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/cost"
)

// prices knows what nodes cost. It keeps the last instance types of each pool, so that a provider that cannot answer for
// a while changes the order in which nodes are disrupted at most, and never whether they are. It belongs to the loop.
type prices struct {
	provider cloud.Provider
	log      *slog.Logger
	last     map[string][]*cloud.InstanceType
}

func newPrices(provider cloud.Provider, log *slog.Logger) *prices {
	return &prices{provider: provider, log: log, last: map[string][]*cloud.InstanceType{}}
}

// set fills in the prices of the candidates; 0 where there is none to find.
func (p *prices) set(ctx context.Context, pools map[string]*v1.NodePool, candidates []disrupt.Candidate) {
	for name := range p.last {
		if pools[name] == nil {
			delete(p.last, name)
		}
	}
	known := map[string]cost.Prices{}
	for i := range candidates {
		node := candidates[i].Node
		if _, asked := known[node.Pool]; !asked {
			known[node.Pool] = cost.PricesOf(p.instanceTypes(ctx, pools[node.Pool]))
		}
		candidates[i].Price, _ = known[node.Pool].Of(cost.Offering{
			InstanceType: node.Labels[corev1.LabelInstanceTypeStable],
			Zone:         node.Labels[corev1.LabelTopologyZone],
			CapacityType: node.Labels[v1.CapacityTypeLabelKey],
		})
	}
}

func (p *prices) instanceTypes(ctx context.Context, pool *v1.NodePool) []*cloud.InstanceType {
	types, err := p.provider.InstanceTypes(ctx, pool)
	if err != nil {
		p.log.Warn("cannot list instance types, using the last known prices", "NodePool", pool.Name, "error", err)
		return p.last[pool.Name]
	}
	if len(types) > 0 {
		p.last[pool.Name] = types
	}
	return p.last[pool.Name]
}
