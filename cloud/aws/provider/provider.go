// Package provider launches, finds and terminates EC2 instances for NodeClaims. Other packages have the instance types of a class
// (catalog), build the request of a launch (request) and send it (launcher). This package assembles them, and remembers what was launched.
//
// Source: AWS provider specification, the cloud provider.
package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/drift"
	"github.com/karpenter-anew/karpenter/cloud/aws/fleet"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
	"github.com/karpenter-anew/karpenter/cloud/aws/launcher"
	"github.com/karpenter-anew/karpenter/cloud/aws/request"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/aws/template"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// launchedFor is how long this process caches the instance of a NodeClaim: longer than a launch may take.
	launchedFor = 15 * time.Minute
	// startedFor is how long this process knows for which NodeClaim it launched an instance: longer than a launched NodeClaim may stay
	// without its provider ID, see the launch timeout.
	startedFor = time.Hour
	// returnedFor is how long this process knows that the slot of an instance in a reservation is free again: longer than NodeClaims of
	// terminated instances exist.
	returnedFor = 15 * time.Minute
	// freshFor is how long a launch may take to be visible to all controllers.
	freshFor = 30 * time.Second
)

// EC2 are all calls to EC2.
type EC2 interface {
	catalog.EC2
	template.EC2
	instance.EC2
	fleet.EC2
}

// Options are what a provider is made of.
type Options struct {
	catalog.Options
	EC2 EC2
	// Cluster is how nodes reach the cluster; what is known of it may be set later, but before the first launch.
	Cluster *controlplane.Cluster
	// Client reads node classes and pools.
	Client client.Client
	// StrictMinValues says that minValues are not relaxed at launch.
	StrictMinValues bool
	// RebootForRepair reboots nodes whose GPU errors a reboot may correct, instead of replacing them.
	RebootForRepair bool
	// Metrics may be nil.
	Metrics *telemetry.Metrics
}

// Provider is the cloud.Provider of EC2, with the parts that controllers share. Make one with New.
type Provider struct {
	Options
	Catalog   *catalog.Catalog
	Requests  *request.Builder
	Launcher  *launcher.Launcher
	Instances *instance.Client

	launched *ttlcache.Cache[string, *v1.NodeClaim]
	// started are the UIDs of the NodeClaims that instances were launched for, by provider ID.
	started *ttlcache.Cache[string, types.UID]
	fresh   *ttlcache.Cache[string, struct{}]
	// returned are instances that were terminated and whose slots in a reservation count as free again.
	returned *ttlcache.Cache[string, struct{}]
	recorder *observe.Recorder
}

var _ cloud.Provider = (*Provider)(nil)

// New returns a provider without data: see Inventory of its catalog.
func New(o Options) *Provider {
	if o.Metrics == nil {
		o.Metrics = telemetry.NewMetrics(prometheus.NewRegistry())
	}
	o.Options.EC2, o.Options.Client = o.EC2, o.Client
	p := &Provider{
		Options: o, Catalog: catalog.New(o.Options),
		Instances: instance.NewClient(instance.Options{
			EC2: o.EC2, Cluster: o.Cluster.Name, Reserves: o.ReservesCapacity,
			Described: observeBatch(o.Metrics, "describe_instances"), Ended: observeBatch(o.Metrics, "terminate_instances"),
		}),
		launched: ttlcache.New[string, *v1.NodeClaim](o.Clock, launchedFor), started: ttlcache.New[string, types.UID](o.Clock, startedFor),
		fresh: ttlcache.New[string, struct{}](o.Clock, freshFor), returned: ttlcache.New[string, struct{}](o.Clock, returnedFor),
	}
	p.Instances.SkipTermination(p.Catalog.IsShifted)
	p.Requests = request.New(request.Options{
		Catalog: p.Catalog, Cluster: o.Cluster, Templates: template.NewManager(o.EC2, o.Clock, o.Cluster.Name), Client: o.Client, Region: o.Region,
		ReservesCapacity: o.ReservesCapacity, Metrics: o.Metrics,
	})
	p.Launcher = launcher.New(launcher.Options{
		Catalog: p.Catalog, Requests: p.Requests, EC2: o.EC2, Clock: o.Clock, Addresses: p.Catalog.Addresses, Reservations: p.Catalog.Reservations,
		UnavailableOfferings: p.Catalog.UnavailableOfferings, StrictMinValues: o.StrictMinValues, Metrics: o.Metrics, Publish: p.publish,
		Launched: observeBatch(o.Metrics, "create_fleet"),
	})
	return p
}

// observeBatch records size and waiting time of batches of a kind.
func observeBatch(m *telemetry.Metrics, batcher string) func(int, time.Duration) {
	return func(size int, waited time.Duration) {
		m.BatchSize.WithLabelValues(batcher).Observe(float64(size))
		m.BatchTime.WithLabelValues(batcher).Observe(waited.Seconds())
	}
}

// UseRecorder sets the recorder of events. Call it before the controllers start.
func (p *Provider) UseRecorder(r *observe.Recorder) { p.recorder = r }

// publish publishes events, once there is a recorder.
func (p *Provider) publish(events ...observe.Event) {
	if p.recorder != nil {
		p.recorder.Publish(events...)
	}
}

// Create launches an instance for a claim. Called again for the same claim it finds the same instance: the one on record, or else
// the one in the cache of this process. An instance that a crash leaves without a record is garbage-collected:
// the next process launches another, because no tag says which of the NodeClaims that shared a launch the instance is for.
func (p *Provider) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	if claim.UID == "" {
		return nil, fmt.Errorf("launching nodeclaim %q: it has no UID; only objects read from the API server can be launched", claim.Name)
	}
	created, err := p.launched.GetOrLoad(ctx, string(claim.UID), func(ctx context.Context) (*v1.NodeClaim, error) {
		if claim.Status.ProviderID != "" {
			return p.recorded(ctx, claim)
		}
		out, err := p.Launcher.Launch(ctx, claim)
		if err != nil {
			return nil, err
		}
		p.started.Set(out.Status.ProviderID, claim.UID)
		if id, ok := instance.ParseProviderID(out.Status.ProviderID); ok {
			p.fresh.Set(id, struct{}{})
		}
		return out, nil
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

// useCorrection sets the correction of instance types. Call it before the controllers start.
func (p *Provider) useCorrection(c cloud.Correction) { p.Launcher.UseCorrection(c) }

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

// List is a claim for every instance of the cluster. Those that this process launched have the UID of the NodeClaim that they are for. A
// tag could not say so: NodeClaims with the same request share a launch, and with it all tags.
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

// Delete terminates an instance. Its reserved capacity is free once it is terminated. A NodeClaim that it was launched for is launched
// again, if there is still one.
func (p *Provider) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	id, ok := instance.ParseProviderID(claim.Status.ProviderID)
	if !ok {
		return notFound(claim.Status.ProviderID)
	}
	if uid, ok := p.started.Get(claim.Status.ProviderID); ok {
		p.launched.Delete(string(uid))
	}
	err := p.Instances.Terminate(ctx, id)
	if errors.Is(err, instance.ErrNotFound) {
		p.returnSlot(id, claim.Labels[awsv1.LabelCapacityReservationID])
		return notFound(claim.Status.ProviderID)
	}
	if errors.Is(err, instance.ErrShifted) {
		return cloud.NewDeleteError(err, "ZonalShiftActive", err.Error()+". The instance is terminated once the zonal shift has ended")
	}
	if err != nil {
		p.Metrics.TerminationFailures.WithLabelValues(claim.Labels[corev1.LabelTopologyZone], claim.Labels[awsv1.LabelZoneID]).Inc()
	}
	if errors.Is(err, instance.ErrForeign) {
		return cloud.NewDeleteError(err, "InstanceNotOwned", fmt.Sprintf("%v. Set the tag to %q to have the instance terminated, or terminate it yourself. "+
			"To keep it, remove the finalizer %s from the Node and the NodeClaim", err, p.Options.Cluster.Name, v1.TerminationFinalizer))
	}
	return err
}

// Reboot implements cloud.Rebooter. EC2 has no token for a reboot: an operation that is repeated reboots the instance again.
func (p *Provider) Reboot(ctx context.Context, claim *v1.NodeClaim, _ string) error {
	id, ok := instance.ParseProviderID(claim.Status.ProviderID)
	if !ok {
		return notFound(claim.Status.ProviderID)
	}
	err := p.Instances.Reboot(ctx, id)
	switch {
	case errors.Is(err, instance.ErrNotFound):
		return notFound(claim.Status.ProviderID)
	case errors.Is(err, instance.ErrForeign), awserrors.IsUnauthorized(err):
		return cloud.NewRebootRejectedError(err)
	}
	return err
}

// returnSlot counts the slot of a terminated instance in a reservation as free, once for each instance: NodeClaims may be deleted again and
// again until they are gone.
func (p *Provider) returnSlot(instanceID, reservation string) {
	if reservation == "" {
		return
	}
	if _, ok := p.returned.Get(instanceID); !ok {
		p.returned.Set(instanceID, struct{}{})
		p.Catalog.Reservations.Ended(reservation)
	}
}

// InstanceTypes are all types under the class of a pool; none if the class cannot be had.
func (p *Provider) InstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil {
		return nil, nil
	}
	class, err := p.Catalog.ClassIfAny(ctx, ref.Name)
	if class == nil {
		if err == nil {
			p.publish(observe.NodeClassMissing(pool, pool.UID))
		}
		return nil, err
	}
	return p.Catalog.Types(ctx, class)
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
	types, err := p.Catalog.Types(ctx, class)
	if err != nil {
		return "", err
	}
	if reason, err := drift.Image(class, claim, catalog.Named(types, claim.Labels[corev1.LabelInstanceTypeStable])); reason != "" || err != nil {
		return reason, err
	}
	group, err := p.Catalog.PlacementGroupOf(ctx, class)
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
	return p.Catalog.ClassIfAny(ctx, pool.Spec.Template.Spec.NodeClassRef.Name)
}
