package aws

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/health"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancelookup"
	"github.com/karpenter-anew/karpenter/cloud/aws/interruption"
	"github.com/karpenter-anew/karpenter/cloud/aws/nodeclass"
	"github.com/karpenter-anew/karpenter/cloud/aws/periodic"
	"github.com/karpenter-anew/karpenter/cloud/aws/profile"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	"github.com/karpenter-anew/karpenter/cloud/aws/tagging"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/periodictask"
)

// Intervals of the periodic tasks.
const (
	refreshEvery  = 12 * time.Hour
	priceRetryMax = time.Hour
	sweepEvery    = 10 * time.Second
	versionEvery  = 5 * time.Minute
	profilesEvery = 30 * time.Minute
	imagesEvery   = 30 * time.Minute
	// offeringsEvery is how old metrics get.
	offeringsEvery = time.Minute
	// Workers that wait for the same call share it.
	classWorkers, tagWorkers = 10, 10
)

// controllerSet registers the controllers of the provider.
type controllerSet struct {
	provider *provider.Provider
	profiles *profile.Manager
	// queues is nil where no queue is named.
	queues   interruption.SQS
	statuses health.EC2
	ec2      nodeclass.EC2
	settings Settings
	metrics  *telemetry.Metrics
	client   client.Client
	manages  func(*v1.NodeClassReference) bool
}

// register finds out the rest about the cluster, from its API server, and adds the controllers.
func (e *controllerSet) register(m manager.Manager) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if e.settings.ClusterCABundle == "" {
		if err := e.provider.Cluster.UseCABundleOf(m.GetConfig()); err != nil {
			return err
		}
	}
	e.provider.Cluster.DiscoverDNS(ctx, m.GetAPIReader())
	served, err := discovery.NewDiscoveryClientForConfig(m.GetConfig())
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	learnVersion := func(ctx context.Context) error { return e.discoverVersion(ctx, served) }
	if err := learnVersion(ctx); err != nil {
		return err
	}
	if err := instancelookup.AddIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	e.provider.UseRecorder(e.settings.Telemetry.Recorder)
	if err := e.controllers(m); err != nil {
		return err
	}
	for _, job := range append(e.jobs(learnVersion), e.watches()...) {
		if err := m.Add(job); err != nil {
			return fmt.Errorf("adding %q: %w", job.Name, err)
		}
	}
	return nil
}

// controllers adds those that follow objects.
func (e *controllerSet) controllers(m manager.Manager) error {
	recorder := e.settings.Telemetry.Recorder
	o := nodeclass.Options{
		Catalog: e.provider.Catalog, Requests: e.provider.Requests, EC2: e.ec2, Profiles: e.profiles, Client: e.client, Recorder: recorder, DryRuns: e.settings.DryRuns,
		ValidationTTL: nodeclass.RandomValidationTTL(rand.Int64N),
	}
	if err := nodeclass.New(o).Register(m, classWorkers); err != nil {
		return err
	}
	if err := nodeclass.NewHasher(o).Register(m, classWorkers); err != nil {
		return err
	}
	tags := tagging.New(tagging.Options{
		Instances: e.provider.Instances, Client: e.client, Clock: e.provider.Clock, Cluster: e.settings.ClusterName, Manages: e.manages,
	})
	err := builder.ControllerManagedBy(m).Named("nodeclaim.tagging").For(&v1.NodeClaim{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: tagWorkers}).Complete(tags)
	if err != nil {
		return fmt.Errorf("registering controller %q: %w", "nodeclaim.tagging", err)
	}
	return periodic.MemoryDiscovery{Catalog: e.provider.Catalog, Client: e.client, Manages: e.manages}.Register(m)
}

// jobs returns the periodic tasks.
func (e *controllerSet) jobs(learnVersion func(context.Context) error) []periodictask.Task {
	p := e.provider
	spotPrices := func(ctx context.Context) error { return p.Catalog.Inventory.RefreshSpot(ctx, p.Clock.Now()) }
	offerings := periodic.NewOfferings(periodic.OfferingsOptions{
		Types: p.InstanceTypes, Client: e.client, Manages: e.manages, Reserves: p.ReservesCapacity, Metrics: p.Metrics,
	})
	out := []periodictask.Task{
		// Two tasks: the price list may be out of reach for ever, and the history of spot prices is long.
		{Name: "providers.pricing", Every: periodictask.Always(refreshEvery), RetryMax: priceRetryMax, Run: p.Catalog.Inventory.RefreshOnDemand},
		{Name: "providers.pricing.spot", Every: periodictask.Always(refreshEvery), RetryMax: priceRetryMax, Run: spotPrices},
		{Name: "providers.instancetype", Every: periodictask.Always(refreshEvery), Run: p.Catalog.Inventory.RefreshTypes},
		{Name: "providers.ssm.invalidation", Every: periodictask.Always(imagesEvery), Run: p.Catalog.Finder.ForgetOutdated},
		{Name: "providers.version", Every: periodictask.Always(versionEvery), Run: learnVersion},
		{Name: "cloudprovider.metrics", Every: periodictask.Always(offeringsEvery), Run: offerings.Refresh},
		{Name: "launchtemplate.adoption", Every: periodictask.Always(-1), Run: p.Requests.Templates.Hydrate},
		{Name: "launchtemplate.garbagecollection", Every: periodictask.Always(sweepEvery), Run: p.Requests.Templates.DeleteExpired},
	}
	if e.profiles != nil {
		out = append(out, periodictask.Task{
			Name: "instanceprofile.garbagecollection", Every: periodictask.Always(profilesEvery), Run: periodic.Profiles{Keeper: e.profiles, Client: e.client}.Collect,
		})
	}
	for i := range out {
		out[i].Clock = p.Clock
	}
	return out
}

// discoverVersion finds the Kubernetes version of the cluster.
func (e *controllerSet) discoverVersion(ctx context.Context, served discovery.ServerVersionInterface) error {
	return e.provider.Cluster.DiscoverVersion(ctx, e.settings.EKSControlPlane, served)
}
