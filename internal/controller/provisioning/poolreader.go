package provisioning

import (
	"context"
	"log/slog"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// poolReader reads NodePools from the cache, and those that are not ready there from the API server.
//
// Problem: a watch that lags shows a NodePool as not ready that is. The pass skips it, and launches from a NodePool with a lower weight, which
// consolidation may never undo. Approach: before a NodePool is skipped for that, list NodePools from the API server, once a pass, and only
// while there is one. The opposite does no harm: the launch from a NodePool that is no longer ready fails and is repeated.
type poolReader struct {
	problem.ClientReader
	live client.Reader
	log  *slog.Logger
}

// NodePools implements problem.Reader.
func (r poolReader) NodePools(ctx context.Context) ([]*v1.NodePool, error) {
	cached, err := r.ClientReader.NodePools(ctx)
	if err != nil || !slices.ContainsFunc(cached, unready) {
		return cached, err //nolint:wrapcheck // the caller says what it lists
	}
	var list v1.NodePoolList
	if err := r.live.List(ctx, &list); err != nil {
		r.log.Debug("cannot read NodePools from the API server, skipping those that are not ready in the cache", logfield.Error(err))
		return cached, nil
	}
	current := map[types.UID]*v1.NodePool{}
	for i := range list.Items {
		current[list.Items[i].UID] = &list.Items[i]
	}
	out := slices.Clone(cached)
	for i, pool := range cached {
		if now := current[pool.UID]; unready(pool) && now != nil {
			out[i] = now
		}
	}
	return out, nil
}

// unready reports whether a NodePool could launch nodes for pods if it were ready.
func unready(pool *v1.NodePool) bool {
	return pool.Spec.Replicas == nil && pool.DeletionTimestamp.IsZero() && condition.Status(pool, v1.ConditionTypeReady) != "True"
}
