// Package provider launches, finds and terminates EC2 instances for NodeClaims. Other packages decide the request: the types and
// prices (instancetype, inventory), the choice among them (launch), the subnet (subnet), the image and user data
// (image, userdata, template). This package sequences them and holds the caches.
//
// Source: AWS provider specification, instance types, offerings, pricing and the launch decision.
package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/discovery"
	"github.com/karpenter-anew/karpenter/cloud/aws/drift"
	"github.com/karpenter-anew/karpenter/cloud/aws/fleet"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/inventory"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubeletcel"
	"github.com/karpenter-anew/karpenter/cloud/aws/reservation"
	"github.com/karpenter-anew/karpenter/cloud/aws/subnet"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/aws/template"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// resolvedFor is how long an instance type of a class is cached.
	resolvedFor = 5 * time.Minute
	// launchedFor is how long this process caches the instance of a NodeClaim: longer than a launch may take.
	launchedFor = 15 * time.Minute
	// freshFor is how long a launch may take to be visible to all controllers.
	freshFor = 30 * time.Second
)

// Provider is the cloud.Provider of EC2, with the parts that controllers share. Make one with New.
type Provider struct {
	Options
	Inventory    *inventory.Inventory
	Finder       *discovery.Finder
	Instances    *instance.Client
	Templates    *template.Manager
	Addresses    *subnet.Ledger
	Reservations *reservation.Ledger
	Shortages    *unavailableofferings.Cache

	launcher   *fleet.Launcher
	limits     instancetype.Limits
	resolved   *ttlcache.Cache[string, *cloud.InstanceType]
	compiled   *ttlcache.Cache[string, *kubeletcel.Compiled]
	memories   discoveredMemory
	launched   *ttlcache.Cache[string, *v1.NodeClaim]
	started    *ttlcache.Cache[string, struct{}]
	fresh      *ttlcache.Cache[string, struct{}]
	menus      menus
	correction cloud.Correction
	recorder   *observe.Recorder
	sizes      sizes
	zones      zoneIDs
}

var _ cloud.Provider = (*Provider)(nil)

// New returns a provider without data: see Inventory.
func New(o Options, subnetsFor, imagesFor time.Duration) *Provider {
	if o.Metrics == nil {
		o.Metrics = telemetry.NewMetrics(prometheus.NewRegistry())
	}
	p := &Provider{
		Options: o, Inventory: inventory.New(o.Region, o.EC2, o.Prices),
		Instances: instance.NewClient(instance.Options{
			EC2: o.EC2, Cluster: o.ClusterName, Reserves: o.ReservesCapacity,
			Described: observeBatch(o.Metrics, "describe_instances"), Ended: observeBatch(o.Metrics, "terminate_instances"),
		}),
		Templates: template.NewManager(o.EC2, o.Clock, o.ClusterName), Addresses: &subnet.Ledger{}, Reservations: &reservation.Ledger{},
		Shortages: unavailableofferings.New(o.Clock), launcher: fleet.NewLauncher(o.EC2, observeBatch(o.Metrics, "create_fleet")), limits: instancetype.KnownLimits(),
		resolved: ttlcache.New[string, *cloud.InstanceType](o.Clock, resolvedFor), compiled: ttlcache.New[string, *kubeletcel.Compiled](o.Clock, compiledFor), launched: ttlcache.New[string, *v1.NodeClaim](o.Clock, launchedFor),
		started: ttlcache.New[string, struct{}](o.Clock, launchedFor), memories: discoveredMemory{seen: ttlcache.New[string, int64](o.Clock, seenFor)},
		fresh: ttlcache.New[string, struct{}](o.Clock, freshFor),
	}
	p.Instances.SkipTermination(p.isShifted)
	p.Finder = discovery.New(discovery.Options{
		EC2: o.EC2, Parameters: o.Parameters, Clock: o.Clock, Addresses: p.Addresses, Reservations: p.Reservations, SubnetTTL: subnetsFor, ImageTTL: imagesFor,
	})
	return p
}

// UseCorrection sets the correction of instance types. Call it before the controllers start.
func (p *Provider) UseCorrection(c cloud.Correction) { p.correction = c }

// Remembers reports whether this process launched an instance recently: its NodeClaim may not have the provider ID yet.
func (p *Provider) Remembers(providerID string) bool {
	_, ok := p.started.Get(providerID)
	return ok
}

// LaunchedRecently reports whether this process launched an instance a moment ago: the cache may not have its NodeClaim yet.
func (p *Provider) LaunchedRecently(instanceID string) bool {
	_, ok := p.fresh.Get(instanceID)
	return ok
}

// notFound says that an instance does not exist.
func notFound(providerID string) error {
	return cloud.NewNodeClaimNotFoundError(fmt.Errorf("instance %q does not exist", providerID))
}

// Get is the claim that describes an instance, as it is now.
func (p *Provider) Get(ctx context.Context, providerID string) (*v1.NodeClaim, error) {
	i, err := p.look(ctx, providerID)
	if err != nil {
		return nil, err
	}
	return p.claimOf(ctx, i)
}

// look is an instance as it is now.
func (p *Provider) look(ctx context.Context, providerID string) (*instance.Instance, error) {
	id, ok := instance.ParseProviderID(providerID)
	if !ok {
		return nil, notFound(providerID)
	}
	i, err := p.Instances.Look(ctx, id)
	if errors.Is(err, instance.ErrNotFound) {
		return nil, notFound(providerID)
	}
	return i, err
}

// List is a claim for every instance of the cluster.
func (p *Provider) List(ctx context.Context) ([]*v1.NodeClaim, error) {
	found, err := p.Instances.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []*v1.NodeClaim
	for _, i := range found {
		claim, err := p.claimOf(ctx, i)
		if err != nil {
			return nil, err
		}
		out = append(out, claim)
	}
	return out, nil
}

// Delete terminates an instance. Its reserved capacity is free once it is terminated.
func (p *Provider) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	id, ok := instance.ParseProviderID(claim.Status.ProviderID)
	if !ok {
		return notFound(claim.Status.ProviderID)
	}
	err := p.Instances.Terminate(ctx, id)
	if errors.Is(err, instance.ErrNotFound) {
		if held := claim.Labels[awsv1.LabelCapacityReservationID]; held != "" {
			p.Reservations.Ended(held)
		}
		return notFound(claim.Status.ProviderID)
	}
	if err != nil && !errors.Is(err, instance.ErrShifted) {
		p.Metrics.TerminationFailures.WithLabelValues(claim.Labels[corev1.LabelTopologyZone], claim.Labels[awsv1.LabelZoneID]).Inc()
	}
	return err
}

// InstanceTypes are all types under the class of a pool; none if the class cannot be had.
func (p *Provider) InstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil {
		return nil, nil
	}
	class, err := p.class(ctx, ref.Name)
	if class == nil {
		if err == nil {
			p.publish(observe.NodeClassMissing(pool, pool.UID))
		}
		return nil, err
	}
	return p.Types(ctx, class)
}

// class is a class by its name; nil if it does not exist or is being deleted.
func (p *Provider) class(ctx context.Context, name string) (*awsv1.EC2NodeClass, error) {
	class, err := p.find(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return class, err
}

// IsDrifted says why an instance no longer matches its class. Without pool or class it returns no drift.
func (p *Provider) IsDrifted(ctx context.Context, claim *v1.NodeClaim) (cloud.DriftReason, error) {
	class, err := p.classOfPool(ctx, claim)
	if class == nil || err != nil {
		return "", err
	}
	if reason := drift.Static(class, claim); reason != "" {
		return reason, nil
	}
	types, err := p.Types(ctx, class)
	if err != nil {
		return "", err
	}
	if reason, err := drift.Image(class, claim, typeNamed(types, claim.Labels[corev1.LabelInstanceTypeStable])); reason != "" || err != nil {
		return reason, err
	}
	group, err := p.placementGroup(ctx, class)
	if err != nil {
		return "", err
	}
	groupID := ""
	if group != nil {
		groupID = group.ID
	}
	// What was seen last will do, but for a reservation, which may have ended since.
	reason, err := p.networkDrift(ctx, class, claim, groupID, p.Instances.Get)
	if reason == drift.CapacityReservation {
		reason, err = p.networkDrift(ctx, class, claim, groupID, p.Instances.Look)
	}
	return reason, err
}

// networkDrift is the drift of an instance's place.
func (p *Provider) networkDrift(
	ctx context.Context, class *awsv1.EC2NodeClass, claim *v1.NodeClaim, groupID string, read func(context.Context, string) (*instance.Instance, error),
) (cloud.DriftReason, error) {
	id, ok := instance.ParseProviderID(claim.Status.ProviderID)
	if !ok {
		return "", notFound(claim.Status.ProviderID)
	}
	i, err := read(ctx, id)
	if errors.Is(err, instance.ErrNotFound) {
		return "", notFound(claim.Status.ProviderID)
	}
	if err != nil {
		return "", err
	}
	seen := drift.Instance{SecurityGroupIDs: i.SecurityGroupIDs, SubnetID: i.SubnetID, ReservationID: i.ReservationID}
	return drift.Network(class, claim, seen, groupID)
}

// classOfPool is the class of a claim's pool; nil if there is no such pool or class.
func (p *Provider) classOfPool(ctx context.Context, claim *v1.NodeClaim) (*awsv1.EC2NodeClass, error) {
	name := claim.Labels[v1.NodePoolLabelKey]
	if name == "" {
		return nil, nil
	}
	pool := &v1.NodePool{}
	err := p.Client.Get(ctx, client.ObjectKey{Name: name}, pool)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting nodepool %q: %w", name, err)
	}
	if pool.Spec.Template.Spec.NodeClassRef == nil {
		return nil, nil
	}
	return p.class(ctx, pool.Spec.Template.Spec.NodeClassRef.Name)
}
