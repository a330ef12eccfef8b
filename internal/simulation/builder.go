package simulation

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/prediction"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// maxDeviceSteps is how often a search for devices checks its timeout before it ends: some seconds of work. A count, unlike a
// clock, makes results reproducible.
const maxDeviceSteps = 100_000

func deviceTimeout() func() bool {
	n := 0
	return func() bool {
		n++
		return n > maxDeviceSteps
	}
}

// builder builds the problem as the controllers do, with the instance types of provider and caps on cost; nil for none.
func (w *clusterObjects) builder(provider cloud.Provider, opts Options, caps *costCaps) problem.Builder {
	vendor := w.cloud
	vendor.Provider = provider
	predictions := &prediction.Store{}
	predictions.Replace(prediction.Resolve(w.autoscalers), true)
	out := problem.Builder{
		Reader: w, Pods: w.store, Cloud: vendor, Translator: w.translator, Catalogs: translate.NewCatalogs(w.translator),
		Policy: problem.Policy{
			Preferences:         opts.Preferences,
			BestEffortMinValues: opts.BestEffortMinValues,
			ReservedCapacity:    !opts.IgnoreReservations,
			SpotToSpot:          opts.SpotToSpot,
			OpensDestinations:   opts.OpensDestinations,
			MaxInstanceTypes:    opts.MaxInstanceTypes,
			DeviceTimeout:       deviceTimeout,
		},
		Predictions: predictions,
	}
	if caps != nil {
		out.Caps = caps
	}
	return out
}

// NodePools implements problem.Reader.
func (w *clusterObjects) NodePools(context.Context) ([]*v1.NodePool, error) {
	return slices.Collect(maps.Values(w.pools)), nil
}

// PodsOn implements problem.Reader.
func (w *clusterObjects) PodsOn(_ context.Context, node string) ([]*corev1.Pod, error) {
	return w.podsOn[node], nil
}

// DisruptionBudgets implements problem.Reader.
func (w *clusterObjects) DisruptionBudgets(context.Context) ([]policyv1.PodDisruptionBudget, error) {
	return w.budgets, nil
}
