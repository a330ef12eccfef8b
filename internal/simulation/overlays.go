package simulation

import (
	"context"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

// IgnoredOverlay is a NodeOverlay that does not apply, and why.
type IgnoredOverlay struct {
	Name, Why string
	// Unmatched is set if it would apply, but no instance type meets its requirements.
	Unmatched bool
	// With is the overlay that it conflicts with, if that is why.
	With string
}

// WithOverlays returns the provider of the cloud with the NodeOverlays among objects applied.
func WithOverlays(ctx context.Context, objects []client.Object, c cloud.Cloud) cloud.Provider {
	provider, _ := gather(objects, c, Options{}).provider(ctx, Options{})
	return provider
}

// provider is the provider of the cloud with the overlays applied, and the overlays that do not apply.
func (w *clusterObjects) provider(ctx context.Context, opts Options) (cloud.Provider, []IgnoredOverlay) {
	plain := w.cloud.Provider
	if len(w.overlays) == 0 {
		return plain, nil
	}
	if opts.IgnoreOverlays {
		var out []IgnoredOverlay
		for _, o := range w.overlays {
			out = append(out, IgnoredOverlay{Name: o.Name, Why: "the feature gate NodeOverlay is off"})
		}
		return plain, out
	}
	var pools []overlay.Pool
	listed := true
	for _, name := range slices.Sorted(maps.Keys(w.pools)) {
		pool := w.pools[name]
		if !w.cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		// The error comes again when the instance types of the pool are listed for the problem.
		if types, err := plain.InstanceTypes(ctx, pool); err == nil {
			pools = append(pools, overlay.Pool{NodePool: pool, Types: types})
		} else {
			listed = false
		}
	}
	corrections, verdicts := overlay.Evaluate(w.overlays, pools, w.cloud.Labels)
	var out []IgnoredOverlay
	for _, v := range verdicts {
		switch {
		case v.Reason != "":
			out = append(out, IgnoredOverlay{Name: v.Overlay.Name, Why: v.Message, With: v.With})
		case v.Unmatched && listed:
			out = append(out, IgnoredOverlay{Name: v.Overlay.Name, Why: "no instance type of a NodePool meets its requirements", Unmatched: true})
		}
	}
	store := &overlay.Store{}
	store.Swap(corrections)
	return overlay.Decorate(plain, store), out
}

// InstanceTypes are those that the cloud lists for each NodePool among objects, with NodeOverlays, by name. Pools whose instance types cannot be
// listed are left out. It costs little beside a simulation: only pools, node classes and overlays are read.
func InstanceTypes(ctx context.Context, objects []client.Object, c cloud.Cloud, opts Options) map[string][]*cloud.InstanceType {
	var few []client.Object
	for _, o := range objects {
		switch o.(type) {
		case *v1.NodeClaim: // it has conditions, as node classes
		case *v1.NodePool, *v1alpha1.NodeOverlay, cloud.NodeClassObject:
			few = append(few, o)
		}
	}
	w := gather(few, c, opts)
	provider, _ := w.provider(ctx, opts)
	out := map[string][]*cloud.InstanceType{}
	for name, pool := range w.pools {
		if !c.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		if types, err := provider.InstanceTypes(ctx, pool); err == nil {
			out[name] = types
		}
	}
	return out
}
