// Package provider launches, finds and deletes the virtual machines of AKS nodes for NodeClaims. Other packages have the instance types of a
// class (catalog), make requests (request), launch (launcher) and call Azure (instance). This package assembles them.
//
// Source: Azure provider specification, the cloud-provider contract.
package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/catalog"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/launcher"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// launchedFor is how long this process remembers the instance of a NodeClaim: longer than a launch may take.
	launchedFor = 15 * time.Minute
	// startedFor is how long it knows for which NodeClaim it launched an instance: longer than a launched NodeClaim may stay without its
	// provider ID.
	startedFor = time.Hour
)

// Options are what a provider is made of.
type Options struct {
	Catalog  *catalog.Catalog
	Launcher *launcher.Launcher
	// VMs and AKSMachines have the instances; AKSMachinesPool is the name of the agent pool of AKSMachines, empty for none.
	VMs, AKSMachines Path
	AKSMachinesPool  string
	// Cluster is the name of the cluster, which tags of its instances have.
	Cluster string
	// Client reads NodePools, NodeClaims and Nodes.
	Client client.Client
	// Publish publishes events.
	Publish func(...observe.Event)
}

// Provider is the cloud.Provider of AKS. Make one with New.
type Provider struct {
	Options
	launched *ttlcache.Cache[string, *v1.NodeClaim]
	// started are the UIDs of the NodeClaims that instances were launched for, by provider ID.
	started *ttlcache.Cache[string, types.UID]
}

var _ cloud.Provider = (*Provider)(nil)

// New returns a provider.
func New(o Options) *Provider {
	return &Provider{
		Options: o, launched: ttlcache.New[string, *v1.NodeClaim](o.Catalog.Clock, launchedFor),
		started: ttlcache.New[string, types.UID](o.Catalog.Clock, startedFor),
	}
}

// Create launches an instance for a claim. Called again for the same claim it finds the same instance, by its name.
func (p *Provider) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	if claim.UID == "" {
		return nil, fmt.Errorf("launching nodeclaim %q: it has no UID; only objects read from the API server can be launched", claim.Name)
	}
	created, err := p.launched.GetOrLoad(ctx, string(claim.UID), func(ctx context.Context) (*v1.NodeClaim, error) {
		if claim.Status.ProviderID != "" {
			return p.recorded(ctx, claim)
		}
		launched, err := p.Launcher.Launch(ctx, claim)
		if err != nil {
			return nil, err
		}
		out, err := p.describe(claim, &launched)
		if err == nil {
			p.started.Set(out.Status.ProviderID, claim.UID)
		}
		return out, err
	})
	if err != nil {
		return nil, err
	}
	return created.DeepCopy(), nil
}

// recorded is a claim whose instance is already recorded.
func (p *Provider) recorded(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	found, err := p.Get(ctx, claim.Status.ProviderID)
	if err != nil {
		return nil, err
	}
	out := claim.DeepCopy()
	out.Labels = found.Labels
	maps.Copy(out.Labels, claim.Labels)
	out.Status.ImageID, out.Status.Capacity, out.Status.Allocatable = found.Status.ImageID, found.Status.Capacity, found.Status.Allocatable
	return out, nil
}

// nameOf is the name of the virtual machine of a provider ID. The error says that there is no such instance.
func nameOf(providerID string) (string, error) {
	id, err := naming.ParseProviderID(providerID)
	if err != nil {
		return "", cloud.NewNodeClaimNotFoundError(err)
	}
	return id.Name, nil
}

// Get is the claim that describes an instance.
func (p *Provider) Get(ctx context.Context, providerID string) (*v1.NodeClaim, error) {
	name, err := nameOf(providerID)
	if err != nil {
		return nil, err
	}
	i, err := p.pathOf(nil, name).Get(ctx, name)
	if err != nil {
		return nil, err
	}
	return p.claimOf(ctx, i)
}

// errIncomplete says that instances may be missing in a list.
var errIncomplete = errors.New("some virtual machines cannot be read; the log names them")

// List is a claim for every instance of the cluster. It fails if some cannot be read: nothing may be deleted because another is not listed.
func (p *Provider) List(ctx context.Context) ([]*v1.NodeClaim, error) {
	var out []*v1.NodeClaim
	for _, path := range []Path{p.AKSMachines, p.VMs} {
		found, complete, err := path.List(ctx)
		if err != nil {
			return nil, err
		}
		if !complete {
			return nil, errIncomplete
		}
		for _, i := range found {
			claim, err := p.listed(ctx, i)
			if err != nil {
				return nil, err
			}
			if claim != nil {
				out = append(out, claim)
			}
		}
	}
	return out, nil
}

// listed is the claim for an instance of a list. One that cannot be read is that of the NodeClaim which it was launched for, so that this
// does not seem to have lost it; nil if there is none.
func (p *Provider) listed(ctx context.Context, i *instance.Instance) (*v1.NodeClaim, error) {
	if i.ID != "" {
		return p.claimOf(ctx, i)
	}
	owner := &v1.NodeClaim{}
	err := p.Client.Get(ctx, client.ObjectKey{Name: i.Tags[label.TagAKSMachineNodeClaim]}, owner)
	if apierrors.IsNotFound(err) || err == nil && owner.Status.ProviderID == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting nodeclaim %q, whose AKSMachine cannot be read: %w", i.Tags[label.TagAKSMachineNodeClaim], err)
	}
	out := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		CreationTimestamp: metav1.NewTime(i.Created), Labels: owner.Labels, Annotations: map[string]string{label.AnnotationAKSMachineResourceID: i.AKSMachineID},
	}}
	out.UID, out.Status = owner.UID, owner.Status
	return out, nil
}

// Delete begins to delete an instance. Azure takes minutes for it, in which callers find the instance again.
func (p *Provider) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	name, err := nameOf(claim.Status.ProviderID)
	if err != nil {
		return err
	}
	if uid, ok := p.started.Get(claim.Status.ProviderID); ok {
		p.launched.Delete(string(uid))
	}
	if err := p.checkPool(claim); err != nil {
		return err
	}
	path, task := p.pathOf(claim, name), "delete "+name
	if p.Launcher.Background.Runs(task) {
		return nil // callers ask every few seconds for each of many instances
	}
	i, err := path.Get(ctx, name)
	if err != nil || i.Deleting {
		return err
	}
	if err := p.checkOwner(claim, i); err != nil {
		return err
	}
	if !p.Launcher.Background.Go(task, func(ctx context.Context) error { return cloud.IgnoreNodeClaimNotFound(path.Delete(ctx, name)) }) {
		return errors.New("the controller is shutting down")
	}
	return nil
}

// checkOwner fails unless an instance that Azure returned for the name in a provider ID is that of the provider ID, and one of the cluster by its
// tags. What NodeClaims and Nodes say is not sufficient to delete a virtual machine of the resource group.
func (p *Provider) checkOwner(claim *v1.NodeClaim, i *instance.Instance) error {
	const keep = "To keep it, remove the finalizer " + v1.TerminationFinalizer + " from the Node and the NodeClaim"
	id, err := i.ProviderID()
	if err != nil {
		return err
	}
	if !naming.SameID(id, claim.Status.ProviderID) {
		err := fmt.Errorf("deleting virtual machine %q: it is not in the resource group of the nodes", claim.Status.ProviderID)
		return cloud.NewDeleteError(err, "InstanceNotOwned", err.Error()+". Delete it yourself. "+keep)
	}
	if !i.OwnedBy(p.Cluster) {
		err := fmt.Errorf("deleting virtual machine %q, whose tag %s is %q: it is not one of this cluster", i.Name, label.TagCluster, i.Tags[label.TagCluster])
		return cloud.NewDeleteError(err, "InstanceNotOwned", fmt.Sprintf("%v. Set the tag to %q to have it deleted, or delete it yourself. %s", err, p.Cluster, keep))
	}
	return nil
}

// InstanceTypes are all types under the class of a pool.
func (p *Provider) InstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	return p.Catalog.InstanceTypes(ctx, pool)
}

// IsDrifted says why an instance no longer matches its class. Without pool or class it returns no drift.
func (p *Provider) IsDrifted(ctx context.Context, claim *v1.NodeClaim) (cloud.DriftReason, error) {
	class, err := p.classOfPool(ctx, claim.Labels[v1.NodePoolLabelKey])
	if class == nil || err != nil {
		return "", err
	}
	if claim.Status.ProviderID == "" {
		return "", fmt.Errorf("nodeclaim %q has no provider ID", claim.Name)
	}
	var node *corev1.Node
	if claim.Status.NodeName != "" {
		node = &corev1.Node{}
		if err := p.Client.Get(ctx, client.ObjectKey{Name: claim.Status.NodeName}, node); apierrors.IsNotFound(err) {
			node = nil
		} else if err != nil {
			return "", fmt.Errorf("getting node %q: %w", claim.Status.NodeName, err)
		}
	}
	name, err := nameOf(claim.Status.ProviderID)
	if err != nil {
		return "", err
	}
	return p.pathOf(claim, name).Drift(ctx, name, Drifting{Class: class, Claim: claim, Node: node})
}

// classOfPool is the class of a pool; nil if there is no such pool or class.
func (p *Provider) classOfPool(ctx context.Context, name string) (*v1beta1.AKSNodeClass, error) {
	if name == "" {
		return nil, nil
	}
	pool := &v1.NodePool{}
	err := p.Client.Get(ctx, client.ObjectKey{Name: name}, pool)
	if apierrors.IsNotFound(err) || err == nil && pool.Spec.Template.Spec.NodeClassRef == nil {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting nodepool %q: %w", name, err)
	}
	class, err := p.Catalog.Class(ctx, pool.Spec.Template.Spec.NodeClassRef.Name)
	if apierrors.IsNotFound(err) {
		p.Publish(telemetry.NodeClassResolutionError(pool, pool.UID))
		return nil, nil
	}
	return class, err
}
