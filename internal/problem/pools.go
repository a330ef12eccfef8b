package problem

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Deleting is why a pool is skipped that is being deleted.
const Deleting = "it is being deleted"

// Pools are the NodePools of an input.
type Pools struct {
	// Usable are the pools that may launch, by name, as the engine reads them.
	Usable []*model.Pool
	// ByName are the objects of these.
	ByName map[string]*v1.NodePool
	// Skipped are the pools that may not launch, by name.
	Skipped []SkippedPool
}

// SkippedPool is a pool that may not launch.
type SkippedPool struct {
	Pool string
	// Why is the reason in the pool itself; empty when its instance types are the problem.
	Why string
	// Unmanaged is set for pools of another Karpenter, or of none.
	Unmanaged bool
	// Static is set for pools whose nodes are never launched for pods.
	Static bool
	// Err is why the instance types cannot be listed; nil when there are none.
	Err error
	// model is the pool as the engine reads it.
	model *model.Pool
}

// forReasons are the skipped pools as the engine reads them.
func (p Pools) forReasons() []model.SkippedPool {
	out := make([]model.SkippedPool, len(p.Skipped))
	for i, s := range p.Skipped {
		out[i] = model.SkippedPool{Pool: s.model, Why: s.Why, ForOthers: s.Static || s.Unmanaged}
		if s.Why == "" {
			out[i].Why = "its instance types are not known"
		}
	}
	return out
}

// pools are those that may launch: managed, not static, ready, not being deleted, with instance types to choose from.
func (b Builder) pools(ctx context.Context, learned model.LearnedFeatures) (Pools, error) {
	list, err := b.Reader.NodePools(ctx)
	if err != nil {
		return Pools{}, fmt.Errorf("listing node pools: %w", err)
	}
	list = slices.SortedFunc(slices.Values(list), func(a, b *v1.NodePool) int { return strings.Compare(a.Name, b.Name) })
	out := Pools{ByName: map[string]*v1.NodePool{}}
	for _, pool := range list {
		if why := unusable(pool, b.Cloud); why != "" {
			out.Skipped = append(out.Skipped, SkippedPool{
				Pool: pool.Name, Why: why, Static: pool.Spec.Replicas != nil,
				Unmanaged: !b.Cloud.Manages(pool.Spec.Template.Spec.NodeClassRef), model: b.Translator.Pool(pool, nil),
			})
			continue
		}
		types, err := b.Cloud.Provider.InstanceTypes(ctx, pool)
		if ctx.Err() != nil {
			return Pools{}, ctx.Err()
		}
		if err != nil || len(types) == 0 {
			out.Skipped = append(out.Skipped, SkippedPool{Pool: pool.Name, Err: err, model: b.Translator.Pool(pool, nil)})
			continue
		}
		out.ByName[pool.Name] = pool
		usable := b.Translator.Pool(pool, b.Catalogs.Of(types))
		usable.NodeFeatures, usable.LackedDrivers = b.Translator.ExpectedFeatures(pool, learned)
		out.Usable = append(out.Usable, usable)
	}
	return out, nil
}

// unusable returns why no node may be launched from the pool; empty for pools that may be used.
// Source: scheduling specification, building the scheduler input.
func unusable(pool *v1.NodePool, c cloud.Cloud) string {
	ref := pool.Spec.Template.Spec.NodeClassRef
	switch {
	case !c.Manages(ref):
		if ref == nil {
			return "it has no nodeClassRef"
		}
		return fmt.Sprintf("its node class is a %s of %s, which cloud %s does not have", ref.Kind, ref.Group, c.Name)
	case pool.Spec.Replicas != nil:
		return "it is static: its number of nodes is spec.replicas"
	case !pool.DeletionTimestamp.IsZero():
		return Deleting
	case condition.Status(pool, v1.ConditionTypeReady) != "True":
		return "it is not ready"
	}
	return ""
}
