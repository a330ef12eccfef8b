package periodic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/discovery"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// deletedAtOnce is how many claims are deleted concurrently.
const deletedAtOnce = 10

// Reservations updates the claims of capacity reservations that end.
type Reservations struct {
	Instances *instance.Client
	Finder    *discovery.Finder
	Client    client.Client
	// Manages reports whether a claim belongs to this provider.
	Manages func(*v1.NodeClassReference) bool
}

// Demote labels claims and nodes as on-demand whose instance is no longer in a reservation. It writes the claim before its node, and
// finds nodes that an earlier run did not write. Without reserved claims, it makes no calls to EC2.
func (c Reservations) Demote(ctx context.Context) error {
	claims, err := c.claims(ctx)
	if err != nil {
		return err
	}
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes, client.MatchingLabels{v1.CapacityTypeLabelKey: v1.CapacityTypeReserved, v1.NodeRegisteredLabelKey: "true"}); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	var reserved []client.Object
	owned := map[string]bool{}
	providerIDs := map[client.Object]string{}
	for i := range claims {
		claim := &claims[i]
		owned[claim.Status.ProviderID] = true
		if claim.Labels[v1.CapacityTypeLabelKey] == v1.CapacityTypeReserved {
			reserved, providerIDs[claim] = append(reserved, claim), claim.Status.ProviderID
		}
	}
	for i := range nodes.Items {
		if node := &nodes.Items[i]; node.DeletionTimestamp.IsZero() && owned[node.Spec.ProviderID] {
			reserved, providerIDs[node] = append(reserved, node), node.Spec.ProviderID
		}
	}
	if len(reserved) == 0 {
		return nil
	}
	instances, err := c.Instances.List(ctx)
	if err != nil {
		return err
	}
	capacityTypes := map[string]string{}
	for _, i := range instances {
		capacityTypes[i.ProviderID()] = i.CapacityType
	}
	var errs []error
	for _, o := range reserved {
		if id := providerIDs[o]; capacityTypes[id] == v1.CapacityTypeOnDemand {
			errs = append(errs, c.demote(ctx, o, id))
		}
	}
	return errors.Join(errs...)
}

// claims are this provider's claims that have an instance and are not being deleted.
func (c Reservations) claims(ctx context.Context) ([]v1.NodeClaim, error) {
	var all v1.NodeClaimList
	if err := c.Client.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing nodeclaims: %w", err)
	}
	return slices.DeleteFunc(all.Items, func(claim v1.NodeClaim) bool {
		return !c.Manages(claim.Spec.NodeClassRef) || claim.Status.ProviderID == "" || !claim.DeletionTimestamp.IsZero()
	}), nil
}

// demote changes the labels of a claim or a node. It fails on a conflict; the next run retries.
func (c Reservations) demote(ctx context.Context, o client.Object, providerID string) error {
	before := o.DeepCopyObject().(client.Object)
	labels := maps.Clone(o.GetLabels())
	labels[v1.CapacityTypeLabelKey] = v1.CapacityTypeOnDemand
	for _, key := range []string{awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType, awsv1.LabelCapacityReservationInterruptible} {
		delete(labels, key)
	}
	o.SetLabels(labels)
	if err := c.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("making %T %q on-demand: %w", o, o.GetName(), err)
	}
	observe.Log(ctx).InfoContext(ctx, "an instance left its capacity reservation and is on-demand now", logfield.ProviderID(providerID),
		awsfield.CapacityReservationID(before.GetLabels()[awsv1.LabelCapacityReservationID]))
	return nil
}

// Expire deletes claims in capacity blocks that are about to end, so that their nodes are drained before EC2 reclaims them. It reads
// each reservation once; instances of other reservations outlive them.
func (c Reservations) Expire(ctx context.Context) error {
	claims, err := c.claims(ctx)
	if err != nil {
		return err
	}
	claims = slices.DeleteFunc(claims, func(claim v1.NodeClaim) bool { return claim.Labels[awsv1.LabelCapacityReservationID] == "" })
	held := map[string]bool{}
	for _, claim := range claims {
		held[claim.Labels[awsv1.LabelCapacityReservationID]] = true
	}
	question := &awsv1.EC2NodeClass{}
	for _, id := range slices.Sorted(maps.Keys(held)) {
		question.Spec.CapacityReservationSelectorTerms = append(question.Spec.CapacityReservationSelectorTerms, awsv1.CapacityReservationSelectorTerm{ID: id})
	}
	found, err := c.Finder.CapacityReservations(ctx, question)
	if err != nil {
		return fmt.Errorf("reading the capacity reservations of nodeclaims: %w", err)
	}
	expiring := map[string]bool{}
	for _, r := range found {
		expiring[r.ID] = r.State == awsv1.CapacityReservationStateExpiring
	}
	errs := make([]error, len(claims))
	slots := make(chan struct{}, deletedAtOnce)
	var all sync.WaitGroup
	for n := range claims {
		if !expiring[claims[n].Labels[awsv1.LabelCapacityReservationID]] {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[n] = c.expire(ctx, &claims[n])
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// expire deletes a claim. A missing one is not an error.
func (c Reservations) expire(ctx context.Context, claim *v1.NodeClaim) error {
	if err := c.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("deleting nodeclaim %q: %w", claim.Name, err)
	}
	observe.Log(ctx).InfoContext(ctx, "deleted nodeclaim because its capacity block is about to end", logfield.NodeClaim(claim.Name),
		awsfield.CapacityReservationID(claim.Labels[awsv1.LabelCapacityReservationID]))
	return nil
}
