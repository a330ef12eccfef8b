package metering

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// pools are the managed NodePools.
type pools struct {
	Deps

	mu     sync.Mutex
	byName map[string]*v1.NodePool
}

// newPools exposes limits and usage.
func newPools(d Deps) *pools {
	p := &pools{Deps: d, byName: map[string]*v1.NodePool{}}
	perResource := func(gauge *observe.GaugeFuncVec, list func(*v1.NodePool) corev1.ResourceList) {
		gauge.AddSource(func(add observe.AddSeries) {
			for _, pool := range p.all() {
				for _, a := range amountsOf(list(pool)) {
					add(a.value, a.resource, pool.Name)
				}
			}
		})
	}
	perResource(d.Metrics.NodePools.Limit, func(pool *v1.NodePool) corev1.ResourceList { return corev1.ResourceList(pool.Spec.Limits) })
	perResource(d.Metrics.NodePools.Usage, func(pool *v1.NodePool) corev1.ResourceList { return pool.Status.Resources })
	return p
}

func (p *pools) put(pool *v1.NodePool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !managed.Is(p.Cloud, pool) {
		delete(p.byName, pool.Name)
		return
	}
	p.byName[pool.Name] = pool
}

func (p *pools) drop(pool *v1.NodePool) {
	p.mu.Lock()
	delete(p.byName, pool.Name)
	p.mu.Unlock()
	p.Metrics.ForgetNodePool(pool.Name)
}

// dropMember forgets a NodePool once more: its NodeClaims and nodes are deleted after it, and their ends are counted.
func (p *pools) dropMember(o client.Object) {
	pool := o.GetLabels()[v1.NodePoolLabelKey]
	if pool == "" {
		return
	}
	p.mu.Lock()
	_, exists := p.byName[pool]
	p.mu.Unlock()
	if !exists {
		p.Metrics.ForgetNodePool(pool)
	}
}

func (p *pools) all() []*v1.NodePool {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*v1.NodePool, 0, len(p.byName))
	for _, pool := range p.byName {
		out = append(out, pool)
	}
	return out
}
