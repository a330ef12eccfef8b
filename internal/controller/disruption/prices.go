package disruption

import (
	"context"
	"log/slog"
	"math"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
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
	types := map[string]map[string]*cloud.InstanceType{}
	for i := range candidates {
		pool := candidates[i].Node.Pool
		if types[pool] == nil {
			types[pool] = byTypeName(p.instanceTypes(ctx, pools[pool]))
		}
		candidates[i].Price = price(types[pool], candidates[i].Node)
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

func byTypeName(types []*cloud.InstanceType) map[string]*cloud.InstanceType {
	out := make(map[string]*cloud.InstanceType, len(types))
	for _, t := range types {
		out[t.Name] = t
	}
	return out
}

// price is that of the offering the node was bought as, whether it is on offer now or not.
func price(types map[string]*cloud.InstanceType, n *model.Node) float64 {
	t := types[n.Labels[corev1.LabelInstanceTypeStable]]
	if t == nil {
		return 0
	}
	zone, capacityType := n.Labels[corev1.LabelTopologyZone], n.Labels[v1.CapacityTypeLabelKey]
	for i := range t.Offerings {
		if o := &t.Offerings[i]; o.Zone() == zone && o.CapacityType() == capacityType {
			if math.IsNaN(o.Price) {
				return 0
			}
			return o.Price
		}
	}
	return 0
}
