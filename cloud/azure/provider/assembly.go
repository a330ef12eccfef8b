package provider

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/bootstrapping"
	"github.com/karpenter-anew/karpenter/cloud/azure/catalog"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/inventory"
	"github.com/karpenter-anew/karpenter/cloud/azure/launcher"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineinstance"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/quota"
	"github.com/karpenter-anew/karpenter/cloud/azure/request"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// AssemblyOptions are what a provider is assembled from.
type AssemblyOptions struct {
	Session     *session.Session
	Environment environment.Environment
	Settings    *settings.Settings
	// ClusterName and ClusterEndpoint, a URL, are those of the cluster.
	ClusterName, ClusterEndpoint string
	// VMMemoryOverheadPercent is the fraction of memory that the hypervisor is assumed to use.
	VMMemoryOverheadPercent float64
	// PriceList is nil in clouds that have none.
	PriceList inventory.PriceList
	Client    client.Client
	Clock     clock.WithTicker
	Metrics   *telemetry.Metrics
	// Publish publishes events, Disrupted counts a NodeClaim whose launch failed after Azure had accepted it.
	Publish   func(...observe.Event)
	Disrupted func(*v1.NodeClaim)
	// Random returns a number in [0, n), such as rand.IntN.
	Random func(n int) int
}

// Assembly is a provider and those of its parts that have controllers and tasks.
type Assembly struct {
	Provider  *Provider
	Instances *instance.Client
	// AKSMachines has the instances that AKS created; none if AKSMachines are not managed. It has to run while the provider does.
	AKSMachines *machineinstance.Opened
	// FullSubnets are the subnets without free addresses, as launches found out.
	FullSubnets *network.FullSubnets
	// Cluster is what nodes need to know of the cluster. Before the first launch, the caller fills in what only the API server knows:
	// CABundle and DNSServiceIP.
	Cluster *customdata.Cluster
}

// Assemble makes a provider with all its parts. It asks Azure for the GUID of the virtual network, if nodes need it and the settings do not
// have it.
//
// Source: Azure provider specification, start-up order; networking.
func Assemble(ctx context.Context, o AssemblyOptions) (*Assembly, error) {
	s, at := o.Settings, o.Environment
	plugin := instancetype.Network{Plugin: s.NetworkPlugin, Mode: s.NetworkPluginMode}
	guid, err := network.VirtualNetworkGUID(ctx, o.Session.VirtualNetworks, s.VNETGUID, s.VNETSubnetID, plugin)
	if err != nil {
		return nil, err
	}
	instances := instance.NewClient(instance.Options{
		VirtualMachines: o.Session.VirtualMachines, Extensions: o.Session.Extensions, NetworkInterfaces: o.Session.Interfaces, Graph: o.Session.ResourceGraph,
		Cluster: o.ClusterName, Subscription: at.SubscriptionID, ResourceGroup: s.NodeResourceGroup, Clock: o.Clock,
	})
	pools := network.NewBackendPools(o.Session.LoadBalancers, s.NodeResourceGroup, o.Clock)
	vms, err := requests(o, plugin, pools, guid)
	if err != nil {
		return nil, err
	}
	types := catalog.New(catalog.Options{
		Settings:  instancetype.Settings{Location: at.Location, NodeResourceGroup: s.NodeResourceGroup, VMMemoryOverheadPercent: o.VMMemoryOverheadPercent},
		Network:   plugin,
		Inventory: inventory.New(at.Location, o.Session.SKUs, o.PriceList), UnavailableOfferings: unavailableofferings.New(o.Clock), Quota: quota.New(o.Clock),
		Client: o.Client, Clock: o.Clock, Publish: func(e observe.Event) { o.Publish(e) },
	})
	machines, err := machineinstance.Open(ctx, machineinstance.OpenOptions{
		ResourceManager: o.Session.ResourceManager, Environment: at, Settings: s, Cluster: o.ClusterName, Clock: o.Clock,
	})
	if err != nil {
		return nil, err
	}
	full := network.NewFullSubnets(o.Clock, plugin, s.VNETSubnetID)
	launches := launcher.Options{
		FullSubnets: full,
		Catalog:     types, Client: o.Client, Clock: o.Clock, Metrics: o.Metrics, Publish: o.Publish, Disrupted: o.Disrupted, Random: o.Random,
		VMs: &launcher.VMs{
			Requests: vms, Instances: instances, Pools: pools, Cloud: at.Cloud, Location: at.Location, Identities: s.NodeIdentities, Metrics: o.Metrics,
		},
		AKSMachines:     &launcher.AKSMachines{Requests: &request.AKSMachines{Name: o.ClusterName, Tags: s.AdditionalTags}, Instances: machines},
		AKSMachinesPool: s.AKSMachinesPoolName,
	}
	launches.Path = launches.VMs
	if s.ProvisionMode.CreatesAKSMachines() {
		launches.Path = launches.AKSMachines
	}
	return &Assembly{
		Instances: instances, AKSMachines: machines, FullSubnets: full, Cluster: &vms.Cluster,
		Provider: New(Options{
			Catalog: types, Launcher: launcher.New(launches), Client: o.Client, Cluster: o.ClusterName, Publish: o.Publish,
			VMs: VMs{Client: instances, KubeletIdentity: s.KubeletIdentityClientID}, AKSMachines: AKSMachines{machines.Client}, AKSMachinesPool: s.AKSMachinesPoolName,
		}),
	}, nil
}

// requests makes what makes the requests for virtual machines.
func requests(o AssemblyOptions, plugin instancetype.Network, pools *network.BackendPools, guid string) (*request.VMs, error) {
	s, at := o.Settings, o.Environment
	groups := network.NewSecurityGroups(o.Session.SecurityGroups, s.NodeResourceGroup, o.Clock)
	out := &request.VMs{
		Cluster: customdata.Cluster{
			TenantID: at.TenantID, SubscriptionID: at.SubscriptionID, NodeResourceGroup: s.NodeResourceGroup, Location: at.Location, Environment: at.Cloud,
			Endpoint: o.ClusterEndpoint, BootstrapToken: s.KubeletBootstrapToken, KubeletIdentityClientID: s.KubeletIdentityClientID, AdminUser: s.LinuxAdminUsername,
			NetworkPolicy: s.NetworkPolicy, Network: plugin, Dataplane: s.NetworkDataplane, VNetGUID: guid,
		},
		Name: o.ClusterName, Groups: groups, Starter: request.Scriptless{}, Tags: s.AdditionalTags, Identities: s.NodeIdentities,
		DiskEncryptionSet: s.NodeOSDiskDiskEncryptionSetID, AdminUser: s.LinuxAdminUsername, SSHKey: s.SSHPublicKey,
		Attachments: &network.Attachments{NodeResourceGroup: s.NodeResourceGroup, SubnetID: s.VNETSubnetID, BackendPools: pools, SecurityGroups: groups},
	}
	if s.ProvisionMode != settings.ModeBootstrappingClient {
		return out, nil
	}
	service, err := bootstrapping.New(o.Session.Credential, bootstrapping.Options{
		Server: s.NodeBootstrappingServerURL, SubscriptionID: at.SubscriptionID, ResourceGroup: at.ResourceGroup, Cluster: o.ClusterName,
		Scope: at.TokenScope(), BootstrapToken: s.KubeletBootstrapToken, ClientOptions: o.Session.ClientOptions,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing provision mode %s: %w", s.ProvisionMode, err)
	}
	out.Starter = request.Bootstrapping{Service: service, MemoryOverhead: o.VMMemoryOverheadPercent}
	return out, nil
}
