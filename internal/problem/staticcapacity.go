package problem

import (
	"context"
	"fmt"
	"slices"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// expectStaticCapacity gives nodes of static pools that are not launched yet the allocatable resources that they will have at
// least. Their NodeClaims have no requests, so that their capacity is unknown until their launch; without this, pods that are
// created together with the pool would get additional nodes.
func (b Builder) expectStaticCapacity(ctx context.Context, nodes []*model.Node) ([]*model.Node, error) {
	var pools []*v1.NodePool
	known := map[string]resource.Vector{}
	out, copied := nodes, false
	for i, n := range nodes {
		if !n.Managed || n.Launched || n.Pool == "" || n.Allocatable.At(resource.Pods) > 0 {
			continue
		}
		if pools == nil {
			var err error
			if pools, err = b.Reader.NodePools(ctx); err != nil {
				return nil, fmt.Errorf("listing node pools: %w", err)
			}
		}
		least, found := known[n.Pool]
		if !found {
			least = b.leastAllocatable(ctx, pools, n.Pool)
			known[n.Pool] = least
		}
		if least == nil {
			continue
		}
		if !copied {
			out, copied = slices.Clone(nodes), true
		}
		expected := *n
		expected.Allocatable = least
		out[i] = &expected
	}
	return out, nil
}

// leastAllocatable returns the minimum allocatable of the nodes of a static pool; nil when it is unknown. That is not an error:
// the nodes count once they are launched.
func (b Builder) leastAllocatable(ctx context.Context, pools []*v1.NodePool, name string) resource.Vector {
	i := slices.IndexFunc(pools, func(pool *v1.NodePool) bool { return pool.Name == name })
	if i < 0 || pools[i].Spec.Replicas == nil || !b.Cloud.Manages(pools[i].Spec.Template.Spec.NodeClassRef) {
		return nil
	}
	pool, err := b.StaticPool(ctx, pools[i])
	if err != nil {
		return nil
	}
	return pool.MinAllocatable()
}

// StaticPool is the template of a static pool, with the instance types that it may launch.
func (b Builder) StaticPool(ctx context.Context, pool *v1.NodePool) (*model.Pool, error) {
	types, err := b.Cloud.Provider.InstanceTypes(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("listing the instance types of nodepool %q: %w", pool.Name, err)
	}
	return b.Translator.Pool(pool, b.Catalogs.Of(types)), nil
}
