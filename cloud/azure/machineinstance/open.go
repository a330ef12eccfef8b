package machineinstance

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/machinebatch"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
)

// errNoResourceGroup says that AKSMachines cannot be found.
var errNoResourceGroup = errors.New("AKSMachines are in the resource group of the managed cluster: set ARM_RESOURCE_GROUP to its name")

// OpenOptions say which AKSMachines there are.
type OpenOptions struct {
	ResourceManager *arm.Client
	Environment     environment.Environment
	Settings        *settings.Settings
	// Cluster is the name of the managed cluster.
	Cluster string
	Clock   clock.WithTicker
}

// Opened is a client with what has to run in its background.
type Opened struct {
	*Client
	background []func(context.Context) error
}

// Start runs the background until the context ends.
func (o *Opened) Start(ctx context.Context) error {
	var running errgroup.Group
	for _, run := range o.background {
		running.Go(func() error { return run(ctx) })
	}
	return running.Wait()
}

// Open makes the client of an installation. Where AKSMachines are not managed, there are none for it. Where AKSMachines are created, it asks Azure for
// their agent pool: every launch would fail without.
//
// Source: Azure provider specification, launch through AKSMachines, preconditions.
func Open(ctx context.Context, o OpenOptions) (*Opened, error) {
	s, at := o.Settings, o.Environment
	options := Options{
		API: machineapi.None{}, Cluster: o.Cluster, Pool: s.AKSMachinesPoolName, Location: at.Location, Clock: o.Clock,
	}
	if !s.ManagesAKSMachines() {
		return &Opened{Client: New(options)}, nil
	}
	if at.ResourceGroup == "" {
		return nil, errNoResourceGroup
	}
	api := machineapi.New(machineapi.Options{
		ResourceManager: o.ResourceManager, Subscription: at.SubscriptionID, ResourceGroup: at.ResourceGroup, Cluster: o.Cluster,
		Pool: s.AKSMachinesPoolName, APIVersion: s.AKSMachinesAPIVersion,
	})
	options.API = api
	if s.ProvisionMode.CreatesAKSMachines() {
		pool, err := api.GetPool(ctx)
		if err != nil {
			return nil, fmt.Errorf("getting agent pool %q of the managed cluster %q, which has to exist for AKSMachines: %w", s.AKSMachinesPoolName, o.Cluster, err)
		}
		if !pool.HasAKSMachines() {
			return nil, fmt.Errorf("agent pool %q of the managed cluster %q has mode %q and cannot have AKSMachines: set AKS_MACHINES_POOL_NAME to one that can", s.AKSMachinesPoolName, o.Cluster, pool.Mode)
		}
	}
	out := &Opened{}
	if s.ProvisionMode == settings.ModeAKSMachineBatch {
		batcher := machinebatch.New(machinebatch.Options{
			Sender: api, Idle: s.ProviderBatchIdleDuration, Max: s.ProviderBatchMaxDuration, Size: s.ProviderBatchMaxSize, Clock: o.Clock,
		})
		options.Batcher = batcher
		out.background = append(out.background, batcher.Start)
	}
	out.Client = New(options)
	out.background = append(out.background, out.Client.Start)
	return out, nil
}
