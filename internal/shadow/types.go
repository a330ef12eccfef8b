package shadow

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cost"
)

// Types are the instance types of a cluster.
type Types struct {
	// All are those of all NodePools, each once: a type that several NodePools list is that of the first.
	All []*cloud.InstanceType
	// Prices are by NodePool; those of another NodePool for one that came later.
	Prices Prices
}

// ListTypes lists the instance types of all NodePools among objects. It is an error if there are none.
func ListTypes(ctx context.Context, c cloud.Cloud, objects []client.Object) (Types, error) {
	var all []*cloud.InstanceType
	seen, prices := map[string]bool{}, map[string]cost.Prices{}
	for _, o := range objects {
		pool, ok := o.(*v1.NodePool)
		if !ok || !c.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		types, err := c.Provider.InstanceTypes(ctx, pool)
		if err != nil {
			return Types{}, fmt.Errorf("listing the instance types of NodePool %q: %w", pool.Name, err)
		}
		prices[pool.Name] = cost.PricesOf(types)
		for _, t := range types {
			if !seen[t.Name] {
				seen[t.Name] = true
				all = append(all, t)
			}
		}
	}
	if len(all) == 0 {
		return Types{}, errors.New("no NodePool of the cluster has instance types: there is nothing to compare")
	}
	fallback := cost.PricesOf(all)
	return Types{All: all, Prices: func(pool string) cost.Prices {
		if own, ok := prices[pool]; ok {
			return own
		}
		return fallback
	}}, nil
}

// Unknown is what no comparison knows.
func Unknown() []string {
	return []string{
		"simulated nodes never run out of capacity, are never interrupted and never fail",
		"changes of node classes, images and subnets have no effect in the shadow fleet: nodes do not drift because of them",
		"nodes of the shadow fleet are as old as the comparison: expireAfter and consolidateAfter count from its start",
		"pods of the shadow fleet start at once, and end at once when they are evicted; a PodDisruptionBudget is the number of pods that it amounts to in the cluster",
		"volumes are where the cluster has them: the shadow fleet follows the zones that the incumbent chose",
	}
}
