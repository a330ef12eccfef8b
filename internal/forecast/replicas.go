package forecast

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// fillStaticPools launches at the start what static pools lack of their replicas, within limits.nodes, and notes what is not launched or would be
// removed. A node that is being deleted is no replica any more, but counts against the limit until it is gone.
//
// Source: lifecycle specification, static capacity.
func fillStaticPools(ctx context.Context, r *run) error {
	active := map[string]int{}
	for _, n := range r.view.Snapshot.Nodes.Sorted() {
		if n.Managed && !n.Deleting {
			active[n.Pool]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.view.Pools)) {
		pool := r.view.Pools[name]
		if pool.Spec.Replicas == nil || pool.DeletionTimestamp != nil {
			continue
		}
		want := int(*pool.Spec.Replicas)
		switch {
		case active[name] == want:
		case active[name] > want:
			r.note("NodePool %q is static and has %s, and spec.replicas is %d: which nodes are removed is not forecast", name, nodes(active[name], "at the start", "at the start"), want)
		case r.opts.IgnoreReplicas:
			r.note("NodePool %q is static and lacks %s: none is launched while the feature gate StaticCapacity is off", name, nodes(want-active[name], "at the start", "at the start"))
		case condition.Status(pool, v1.ConditionTypeReady) != metav1.ConditionTrue:
			r.note("NodePool %q is static and lacks %s: none is launched while the NodePool is not ready", name, nodes(want-active[name], "at the start", "at the start"))
		default:
			if err := fill(ctx, r, name, want-active[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill launches nodes that a static pool lacks.
func fill(ctx context.Context, r *run, name string, lacks int) error {
	granted := r.view.Grant(name, lacks)
	if granted < lacks {
		r.note("NodePool %q is static and lacks %s: limits.nodes allows %d of them", name, nodes(lacks, "at the start", "at the start"), granted)
	}
	for range granted {
		pool := r.cluster.Pools()[name]
		node, ok, err := r.launch(ctx, name, r.cluster.Builder().Translator.StaticNodeClaim(pool, r.gracePeriod()))
		if err != nil {
			return err
		}
		if !ok {
			return nil // launch has noted why, and it is so for the others too
		}
		r.out.Replicas = append(r.out.Replicas, node)
	}
	return nil
}
