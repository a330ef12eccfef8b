package kwok

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// provider is the kwok cloud's Provider. It holds no state: instances are the cluster's Node objects.
type provider struct {
	client        client.Client
	types         []*cloud.InstanceType
	offeringLists *offeringLists
	rules         v1.LabelRules
}

var _ cloud.Provider = (*provider)(nil)

// Create chooses the instance of the claim; the joiner creates its Node once the launch is recorded. It changes
// nothing in the cluster and always returns the same result for the same claim and catalog.
func (p *provider) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	if claim.UID == "" {
		return nil, fmt.Errorf("launching nodeclaim %q: it has no UID; only objects read from the API server can be launched", claim.Name)
	}
	if err := p.classReady(ctx, claim); err != nil {
		return nil, err
	}
	offerings, err := p.offeringLists.of(claim)
	if err != nil {
		return nil, fmt.Errorf("launching nodeclaim %q: %w", claim.Name, err)
	}
	out := claim.DeepCopy()
	chosen, err := choose(offerings, p.bound(claim))
	if err != nil {
		return nil, err
	}
	out.Labels = launchLabels(claim, chosen, p.rules)
	maps.Copy(out.Labels, claim.Labels)
	out.Annotations = maps.Clone(claim.Annotations)
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[labelNode] = nodeFake
	out.Status.ProviderID = providerID(nodeName(claim))
	out.Status.Capacity = chosen.Type.CapacityOf(chosen.Offering).DeepCopy()
	out.Status.Allocatable = chosen.Type.AllocatableOf(chosen.Offering)
	return out, nil
}

// bound is claim with its labels among its requirements. An interrupted launch may have left labels on record, and users may set
// labels on claims; either way the instance must match its claim, even if the catalog has changed since.
func (p *provider) bound(claim *v1.NodeClaim) *v1.NodeClaim {
	out := claim.DeepCopy()
	for key, value := range claim.Labels {
		if p.rules.WellKnown[key] && key != v1.NodePoolLabelKey {
			out.Spec.Requirements = append(out.Spec.Requirements, cloud.In(key, value))
		}
	}
	return out
}

// classReady is nil when the claim's node class exists and is not known to be unready. A class without the condition is
// ready: no controller writes it.
func (p *provider) classReady(ctx context.Context, claim *v1.NodeClaim) error {
	ref := claim.Spec.NodeClassRef
	if ref == nil {
		return cloud.NewInsufficientCapacityError(fmt.Errorf("nodeclaim %q names no node class", claim.Name))
	}
	class := &v1alpha1.KWOKNodeClass{}
	switch err := p.client.Get(ctx, client.ObjectKey{Name: ref.Name}, class); {
	case apierrors.IsNotFound(err):
		return cloud.NewInsufficientCapacityError(fmt.Errorf("resolving node class of nodeclaim %q: %w", claim.Name, err))
	case err != nil:
		return fmt.Errorf("resolving node class of nodeclaim %q: %w", claim.Name, err)
	case condition.Status(class, v1alpha1.ConditionTypeReady) == metav1.ConditionFalse:
		return cloud.NewNodeClassNotReadyError(fmt.Errorf("node class %q has condition Ready=False", ref.Name))
	}
	return nil
}

// Delete ends the instance by deleting its Node. It never writes the NodeClaim, which the caller owns. A missing Node
// or one that is already being deleted counts as a terminated instance, so that neither the Node's nor the claim's finalizer
// ever waits for the other.
func (p *provider) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	node, err := p.node(ctx, claim.Status.ProviderID)
	if err != nil {
		return err
	}
	err = p.client.Delete(ctx, node, client.Preconditions{UID: &node.UID})
	if apierrors.IsNotFound(err) {
		return notFound(claim.Status.ProviderID)
	}
	if err != nil {
		return fmt.Errorf("deleting node %q: %w", node.Name, err)
	}
	return nil
}

// Get returns the claim of the Node that the provider ID names. A Node that is being deleted is returned with its deletion
// timestamp: its pods still have to be drained, and no controller drains a terminated instance.
func (p *provider) Get(ctx context.Context, providerID string) (*v1.NodeClaim, error) {
	node, err := p.named(ctx, providerID)
	if err != nil {
		return nil, err
	}
	return claimOf(node), nil
}

// List returns a claim for every Node of this provider. A Node with the provider ID of another one is none: kubelets choose theirs. Instances whose Node has not joined yet are not listed, and are not garbage
// collected either, because only registered claims are checked against the list.
func (p *provider) List(ctx context.Context) ([]*v1.NodeClaim, error) {
	var nodes corev1.NodeList
	if err := p.client.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	var claims []*v1.NodeClaim
	for i := range nodes.Items {
		if name, ours := nodeNameOf(nodes.Items[i].Spec.ProviderID); ours && name == nodes.Items[i].Name {
			claims = append(claims, claimOf(&nodes.Items[i]))
		}
	}
	return claims, nil
}

// InstanceTypes is the whole catalog, the same for every pool.
func (p *provider) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	return slices.Clone(p.types), nil
}

// IsDrifted returns no drift: a node class has no properties of an instance.
func (p *provider) IsDrifted(context.Context, *v1.NodeClaim) (cloud.DriftReason, error) {
	return "", nil
}

// node returns the Node of an instance that is not being deleted, or NodeClaimNotFoundError.
func (p *provider) node(ctx context.Context, providerID string) (*corev1.Node, error) {
	node, err := p.named(ctx, providerID)
	if err == nil && !node.DeletionTimestamp.IsZero() {
		return nil, notFound(providerID)
	}
	return node, err
}

// named is the Node of an instance, or NodeClaimNotFoundError.
func (p *provider) named(ctx context.Context, providerID string) (*corev1.Node, error) {
	name, ours := nodeNameOf(providerID)
	if !ours {
		return nil, notFound(providerID)
	}
	node := &corev1.Node{}
	err := p.client.Get(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case apierrors.IsNotFound(err):
		return nil, notFound(providerID)
	case err != nil:
		return nil, fmt.Errorf("getting node %q: %w", name, err)
	case node.Spec.ProviderID != providerID:
		return nil, notFound(providerID)
	}
	return node, nil
}

func notFound(providerID string) error {
	return cloud.NewNodeClaimNotFoundError(fmt.Errorf("instance %q does not exist", providerID))
}
