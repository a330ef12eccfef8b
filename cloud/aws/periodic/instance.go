package periodic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
)

// youngFor is how long a new instance is not collected: its NodeClaim may not have the provider ID yet.
const youngFor = 30 * time.Second

// atOnce is how many instances are terminated concurrently: they share calls.
const atOnce = 100

// Instances terminates instances of the cluster without a NodeClaim, and deletes their nodes: those of launches whose record was lost.
type Instances struct {
	Instances *instance.Client
	Client    client.Client
	Clock     clock.PassiveClock
	// Launched reports whether this process launched an instance recently: its NodeClaim may not have the provider ID yet.
	Launched func(providerID string) bool
	// Manages reports whether a claim belongs to this provider.
	Manages func(*v1.NodeClassReference) bool
}

// Collect runs once. It lists instances before NodeClaims, so that it does not see instances launched in between.
func (c Instances) Collect(ctx context.Context) error {
	found, err := c.Instances.List(ctx)
	if err != nil {
		return err
	}
	var claims v1.NodeClaimList
	if err := c.Client.List(ctx, &claims); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	owned := map[string]bool{}
	for _, claim := range claims.Items {
		if c.Manages(claim.Spec.NodeClassRef) {
			owned[claim.Status.ProviderID] = true
		}
	}
	now := c.Clock.Now()
	errs := make([]error, len(found))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for n, i := range found {
		id := i.ProviderID()
		if i.Ending || owned[id] || now.Sub(i.Launched) <= youngFor || c.Launched(id) {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[n] = c.end(ctx, i)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// end terminates an instance and deletes its node. A missing one is not an error.
func (c Instances) end(ctx context.Context, i *instance.Instance) error {
	if err := c.Instances.Terminate(ctx, i.ID); err != nil && !errors.Is(err, instance.ErrNotFound) {
		if errors.Is(err, instance.ErrShifted) {
			return nil // its time will come
		}
		return fmt.Errorf("collecting an instance without nodeclaim: %w", err)
	}
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for n := range nodes.Items {
		node := &nodes.Items[n]
		if node.Spec.ProviderID != i.ProviderID() {
			continue
		}
		if err := c.Client.Delete(ctx, node); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting node %q of an instance without nodeclaim: %w", node.Name, err)
		}
	}
	return nil
}
