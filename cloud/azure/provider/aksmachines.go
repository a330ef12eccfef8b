package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/machinebatch"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineinstance"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
)

// errNoResourceGroup says that AKSMachines cannot be found.
var errNoResourceGroup = errors.New("AKSMachines are in the resource group of the managed cluster: set ARM_RESOURCE_GROUP to its name")

// aksMachines makes the client of AKSMachines, with what runs in its background. Where AKSMachines are created, it asks Azure for their agent
// pool: every launch would fail without.
//
// Source: Azure provider specification, launch through AKSMachines, preconditions.
func aksMachines(ctx context.Context, o AssemblyOptions) (*machineinstance.Client, []Runnable, error) {
	s, at := o.Settings, o.Environment
	options := machineinstance.Options{
		API: machineapi.None{}, Cluster: o.ClusterName, Pool: s.AKSMachinesPoolName, Location: at.Location, Clock: o.Clock,
	}
	if !s.ManagesAKSMachines() {
		return machineinstance.New(options), nil, nil
	}
	if at.ResourceGroup == "" {
		return nil, nil, errNoResourceGroup
	}
	api := machineapi.New(machineapi.Options{
		ResourceManager: o.Session.ResourceManager, Subscription: at.SubscriptionID, ResourceGroup: at.ResourceGroup, Cluster: o.ClusterName,
		Pool: s.AKSMachinesPoolName, APIVersion: s.AKSMachinesAPIVersion,
	})
	options.API = api
	if s.ProvisionMode.CreatesAKSMachines() {
		pool, err := api.GetPool(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("getting agent pool %q of the managed cluster %q, which has to exist for AKSMachines: %w", s.AKSMachinesPoolName, o.ClusterName, err)
		}
		if !pool.HasAKSMachines() {
			return nil, nil, fmt.Errorf("agent pool %q of the managed cluster %q has mode %q and cannot have AKSMachines: set AKS_MACHINES_POOL_NAME to one that can", s.AKSMachinesPoolName, o.ClusterName, pool.Mode)
		}
	}
	var background []Runnable
	if s.ProvisionMode == settings.ModeAKSMachineBatch {
		batcher := machinebatch.New(machinebatch.Options{
			Sender: api, Idle: s.ProviderBatchIdleDuration, Max: s.ProviderBatchMaxDuration, Size: s.ProviderBatchMaxSize, Clock: o.Clock,
		})
		options.Batcher, background = batcher, append(background, batcher)
	}
	client := machineinstance.New(options)
	return client, append(background, client), nil
}
