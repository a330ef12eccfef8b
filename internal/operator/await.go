package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// How long a start waits for missing definitions. A restart of the API server takes less than the first; the second covers manifests that
// are applied together. Afterwards the process exits, so that its pod restarts and the failure is visible.
const (
	serverPatience     = 2 * time.Minute
	definitionPatience = 30 * time.Second
	longestRetry       = 5 * time.Second
	attemptTimeout     = 5 * time.Second
)

// discoverer is the discovery API that the wait needs.
type discoverer interface {
	ServerVersionWithContext(ctx context.Context) (*version.Info, error)
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

// kindsOf lists the kinds whose definitions must be installed.
func kindsOf(c cloud.Cloud, gates options.FeatureGates) []schema.GroupVersionKind {
	out := []schema.GroupVersionKind{v1.SchemeGroupVersion.WithKind("NodePool"), v1.SchemeGroupVersion.WithKind("NodeClaim")}
	if gates.NodeOverlay {
		out = append(out, v1alpha1.SchemeGroupVersion.WithKind("NodeOverlay"))
	}
	if gates.CapacityBuffer {
		out = append(out, v1beta1.SchemeGroupVersion.WithKind("CapacityBuffer"))
	}
	if gates.OperationsPolicy {
		out = append(out, opsv1alpha1.SchemeGroupVersion.WithKind("OperationsPolicy"), opsv1alpha1.SchemeGroupVersion.WithKind("DisruptionPlan"))
	}
	if gates.LegacyProvisioner {
		out = append(out, v1alpha5.SchemeGroupVersion.WithKind("Provisioner"))
	}
	if gates.LegacyProvisioner {
		out = append(out, c.LegacyKinds...)
	}
	for _, class := range c.NodeClasses {
		out = append(out, class.GVK)
	}
	return out
}

// waiter waits for what the process needs from the API server. Its methods return nil early when the context ends: to be stopped while
// waiting is not a failure.
type waiter struct {
	server discoverer
	host   string
	log    *slog.Logger
}

// newWaiter returns a waiter for the API server of config.
func newWaiter(config *rest.Config, log *slog.Logger) (waiter, error) {
	config = rest.CopyConfig(config)
	config.Timeout = attemptTimeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return waiter{}, fmt.Errorf("building a client for the API server at %s: %w", config.Host, err)
	}
	return waiter{server: client, host: config.Host, log: log.With(logfield.Server(config.Host))}, nil
}

// forServer waits until the API server answers.
func (w waiter) forServer(ctx context.Context) error {
	err := retry(ctx, serverPatience, func(left time.Duration) error {
		info, err := w.server.ServerVersionWithContext(ctx)
		if err != nil {
			w.log.Warn("the API server does not answer, retrying", logfield.Error(err), logfield.GivingUpIn(left))
			return err
		}
		w.log.Info("the API server answers", logfield.ServerVersion(info.GitVersion))
		return nil
	})
	if err != nil {
		return fmt.Errorf("the API server at %s did not answer for %s: %w; check the address and credentials in the kubeconfig, and the network", w.host, serverPatience, err)
	}
	return nil
}

// forKinds waits until the API server serves kinds.
func (w waiter) forKinds(ctx context.Context, kinds []schema.GroupVersionKind) error {
	err := retry(ctx, definitionPatience, func(left time.Duration) error {
		missing, err := missingKinds(ctx, w.server, kinds)
		switch {
		case err != nil:
			w.log.Warn("the API server does not list what it serves, retrying", logfield.Error(err), logfield.GivingUpIn(left))
			return err
		case len(missing) > 0:
			w.log.Warn("CustomResourceDefinitions of the Helm chart karpenter-crd are not installed, waiting for them", logfield.Missing(missing), logfield.GivingUpIn(left))
			return &missingError{kinds: missing}
		}
		return nil
	})
	var missing *missingError
	if errors.As(err, &missing) {
		return fmt.Errorf("%w on the API server at %s: apply the CustomResourceDefinitions of the Helm chart karpenter-crd of this version, with the value cloudProvider that settings.cloudProvider has in the chart karpenter, then start again", err, w.host)
	}
	if err != nil {
		return fmt.Errorf("asking the API server at %s what it serves: %w", w.host, err)
	}
	return nil
}

// missingError lists the kinds that the API server does not serve.
type missingError struct{ kinds []string }

func (e *missingError) Error() string {
	return fmt.Sprintf("kinds %s are not served", strings.Join(e.kinds, ", "))
}

// missingKinds returns the kinds that are not served, as <kind>.<version>.<group>.
func missingKinds(ctx context.Context, d discoverer, kinds []schema.GroupVersionKind) ([]string, error) {
	var missing []string
	for _, kind := range kinds {
		served, err := d.ServerResourcesForGroupVersionWithContext(ctx, kind.GroupVersion().String())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("listing the resources of %s: %w", kind.GroupVersion(), err)
		}
		if err != nil || !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }) {
			missing = append(missing, fmt.Sprintf("%s.%s.%s", kind.Kind, kind.Version, kind.Group))
		}
	}
	return missing, nil
}

// retry calls attempt with growing pauses until it succeeds, patience runs out, which returns the last error, or ctx ends.
func retry(ctx context.Context, patience time.Duration, attempt func(left time.Duration) error) error {
	end := time.Now().Add(patience)
	delays := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Cap: longestRetry, Steps: math.MaxInt}
	for ctx.Err() == nil {
		err := attempt(time.Until(end).Round(time.Second))
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // being stopped is not a failure
		}
		delay := delays.Step()
		if !time.Now().Add(delay).Before(end) {
			return err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
	return nil
}
