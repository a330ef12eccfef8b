package operator

import (
	"fmt"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// newManager returns the manager with caches, client and lease. It discovers from the API server which kinds are namespaced.
// shared says that other managers of this process have controllers of the same names.
func newManager(c *rest.Config, l lease, o options.Options, p Process, stop *drain, shared bool) (manager.Manager, error) {
	scheme, err := newScheme(p.Provider)
	if err != nil {
		return nil, err
	}
	timeout := drainTimeout
	opts := manager.Options{
		Scheme:                  scheme,
		Logger:                  logr.FromSlogHandler(&stopHandler{Handler: p.Log.Handler(), stopping: stop.stopping}),
		Cache:                   cacheOptions(),
		Metrics:                 metricsserver.Options{BindAddress: "0"}, // served by endpoints, from before the manager starts
		HealthProbeBindAddress:  "0",
		GracefulShutdownTimeout: &timeout,
		NewClient: func(c *rest.Config, opts client.Options) (client.Client, error) {
			inner, err := client.New(c, opts)
			if err != nil {
				return nil, err
			}
			return stop.client(inner), nil
		},
		Controller: config.Controller{
			RecoverPanic:       ptr.To(true),
			SkipNameValidation: ptr.To(shared),
			EnableWarmup:       ptr.To(!o.LeaderElection.Disable && !o.LeaderElection.DisableWarmup),
		},
	}
	l.apply(&opts)
	m, err := manager.New(c, opts)
	if err != nil {
		return nil, fmt.Errorf("building the manager: %w", err)
	}
	return m, nil
}

// cacheOptions reduces memory: objects are cached without fields that no controller reads, and of the leases only those of nodes are
// watched.
func cacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: newLean().transform,
		NewInformer:      newInformer,
		ByObject: map[client.Object]cache.ByObject{
			&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{corev1.NamespaceNodeLease: {}}},
		},
	}
}
