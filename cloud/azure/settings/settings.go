// Package settings defines the flags and environment variables of the provider for AKS. Those that it shares with other providers are in
// options.Cluster and options.InstanceTypes.
//
// Source: Azure provider specification, options.
package settings

import (
	"strconv"
	"time"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// Provider is the value of --cloud-provider that chooses AKS.
const Provider options.CloudProvider = "azure"

// Settings configure the provider for AKS.
type Settings struct {
	// KubeletBootstrapToken is the token with which nodes ask for their certificate. It is a secret.
	KubeletBootstrapToken string `name:"kubelet-bootstrap-token" envvar:"KUBELET_BOOTSTRAP_TOKEN" group:"Azure" placeholder:"TOKEN" help:"azure: bootstrap token of nodes; required."`
	// LinuxAdminUsername is the user of nodes whose key is SSHPublicKey.
	LinuxAdminUsername string `name:"linux-admin-username" envvar:"LINUX_ADMIN_USERNAME" group:"Azure" default:"azureuser" help:"azure: administrator of nodes, at most 32 characters."`
	SSHPublicKey       string `name:"ssh-public-key" envvar:"SSH_PUBLIC_KEY" group:"Azure" placeholder:"KEY" help:"azure: public SSH key of the administrator of nodes; required."`

	// NetworkPlugin, NetworkPluginMode, NetworkPolicy and NetworkDataplane are those of the cluster, with the words of AKS.
	NetworkPlugin     string `name:"network-plugin" envvar:"NETWORK_PLUGIN" group:"Azure" default:"azure" emptyenv:"" help:"azure: network plugin of the cluster, azure or none."`
	NetworkPluginMode string `name:"network-plugin-mode" envvar:"NETWORK_PLUGIN_MODE" group:"Azure" default:"overlay" emptyenv:"" help:"azure: mode of the network plugin, overlay or empty; empty with plugin none."`
	NetworkPolicy     string `name:"network-policy" envvar:"NETWORK_POLICY" group:"Azure" placeholder:"NAME" help:"azure: network policy engine of the cluster; none by default."`
	NetworkDataplane  string `name:"network-dataplane" envvar:"NETWORK_DATAPLANE" group:"Azure" default:"cilium" emptyenv:"" help:"azure: network dataplane of the cluster, azure, cilium or empty."`
	// VNETGUID is the resourceGuid of the virtual network; empty means that it is read where it is needed.
	VNETGUID string `name:"vnet-guid" envvar:"VNET_GUID" group:"Azure" placeholder:"UUID" help:"azure: GUID of the virtual network; default: read from Azure."`
	// VNETSubnetID is the ARM id of the subnet of nodes whose class names none.
	VNETSubnetID string `name:"vnet-subnet-id" envvar:"VNET_SUBNET_ID" group:"Azure" placeholder:"ID" help:"azure: ARM id of the subnet of nodes; required."`
	// DNSServiceIP is the address of the cluster's DNS; empty means that it is read from the cluster.
	DNSServiceIP string `name:"dns-service-ip" envvar:"DNS_SERVICE_IP" group:"Azure" placeholder:"IP" help:"azure: address of the DNS service; default: read from the cluster."`
	// LocalDNSMinKubernetesVersion is the version of Kubernetes from which on classes that prefer LocalDNS get it.
	LocalDNSMinKubernetesVersion string `name:"localdns-min-kubernetes-version" envvar:"LOCALDNS_MIN_KUBERNETES_VERSION" group:"Azure" default:"1.36" help:"azure: version of Kubernetes from which on node classes that prefer LocalDNS get it."`

	// NodeIdentities are the user-assigned identities that virtual machines get.
	NodeIdentities IDs `name:"node-identities" envvar:"NODE_IDENTITIES" group:"Azure" placeholder:"ID,..." help:"azure: ARM ids of user-assigned identities of nodes, separated by commas."`
	// KubeletIdentityClientID is the client id of the identity that the kubelet uses.
	KubeletIdentityClientID string `name:"kubelet-identity-client-id" envvar:"KUBELET_IDENTITY_CLIENT_ID" group:"Azure" placeholder:"UUID" help:"azure: client id of the identity of the kubelet."`
	// NodeResourceGroup is the resource group that holds the nodes.
	NodeResourceGroup string `name:"node-resource-group" envvar:"AZURE_NODE_RESOURCE_GROUP" group:"Azure" placeholder:"NAME" help:"azure: resource group of nodes; required."`

	// ProvisionMode is who creates virtual machines.
	ProvisionMode ProvisionMode `name:"provision-mode" envvar:"PROVISION_MODE" group:"Azure" default:"aksscriptless" help:"azure: who creates virtual machines: aksscriptless, bootstrappingclient, aksmachineapi or aksmachineapiheaderbatch."`
	// NodeBootstrappingServerURL is the service that renders what virtual machines start with. It may hold a secret.
	NodeBootstrappingServerURL string `name:"nodebootstrapping-server-url" envvar:"NODEBOOTSTRAPPING_SERVER_URL" group:"Azure" placeholder:"URL" help:"azure: URL of the node bootstrapping service; required by provision mode bootstrappingclient."`
	// UseSIG takes images from shared image galleries instead of community galleries.
	UseSIG            bool   `name:"use-sig" envvar:"USE_SIG" group:"Azure" help:"azure: use images of shared image galleries; required by the provision modes with AKSMachines."`
	SIGSubscriptionID string `name:"sig-subscription-id" envvar:"SIG_SUBSCRIPTION_ID" group:"Azure" placeholder:"ID" help:"azure: subscription of the shared image galleries; required by --use-sig."`
	// SIGAccessTokenServerURL is the service that issues tokens for the galleries. It may hold a secret.
	SIGAccessTokenServerURL string `name:"sig-access-token-server-url" envvar:"SIG_ACCESS_TOKEN_SERVER_URL" group:"Azure" placeholder:"URL" help:"azure: URL that issues access tokens for shared image galleries; required by --use-sig without AKSMachines."`
	// NodeOSDiskDiskEncryptionSetID is the ARM id of the disk encryption set of disks; empty means that the platform encrypts them.
	NodeOSDiskDiskEncryptionSetID string `name:"node-osdisk-diskencryptionset-id" envvar:"NODE_OSDISK_DISKENCRYPTIONSET_ID" group:"Azure" placeholder:"ID" help:"azure: ARM id of the disk encryption set of disks of nodes."`

	// ManageExistingAKSMachines handles AKSMachines in modes that create none.
	ManageExistingAKSMachines bool   `name:"manage-existing-aks-machines" envvar:"MANAGE_EXISTING_AKS_MACHINES" group:"Azure" help:"azure: manage AKSMachines that exist, in provision modes that create none."`
	AKSMachinesPoolName       string `name:"aks-machines-pool-name" envvar:"AKS_MACHINES_POOL_NAME" group:"Azure" placeholder:"NAME" help:"azure: agent pool of AKSMachines; required by the provision modes with AKSMachines."`
	// AKSMachinesAPIVersion is the version of the API of AKSMachines and of versions of node images. Clouds get versions at different times,
	// and preview versions end.
	AKSMachinesAPIVersion string `name:"aks-machines-api-version" envvar:"AKS_MACHINES_API_VERSION" group:"Azure" default:"2026-04-02-preview" help:"azure: version of the API of AKSMachines and node images."`
	// ProviderBatchIdleDuration, ProviderBatchMaxDuration and ProviderBatchMaxSize bound batches of the mode ModeAKSMachineBatch.
	ProviderBatchIdleDuration time.Duration `name:"provider-batch-idle-duration" envvar:"PROVIDER_BATCH_IDLE_DURATION" group:"Azure" default:"1s" help:"azure: quiet time after which a batch of AKSMachines closes."`
	ProviderBatchMaxDuration  time.Duration `name:"provider-batch-max-duration" envvar:"PROVIDER_BATCH_MAX_DURATION" group:"Azure" default:"5s" help:"azure: longest time a batch of AKSMachines stays open."`
	ProviderBatchMaxSize      int           `name:"provider-batch-max-size" envvar:"PROVIDER_BATCH_MAX_SIZE" group:"Azure" default:"50" help:"azure: most AKSMachines in a batch, from 1 to 50."`

	// AdditionalTags are set on all resources.
	AdditionalTags Tags `name:"additional-tags" envvar:"ADDITIONAL_TAGS" group:"Azure" placeholder:"KEY=VALUE,..." help:"azure: tags of all resources."`
	// EnableAzureSDKLogging logs requests to Azure, at level debug.
	EnableAzureSDKLogging bool `name:"enable-azure-sdk-logging" envvar:"ENABLE_AZURE_SDK_LOGGING" group:"Azure" default:"true" help:"azure: log the requests to Azure, with --log-level=debug."`
}

// ProvisionMode is who creates virtual machines, and where they get what they start with.
type ProvisionMode string

// The provision modes.
const (
	// ModeScriptless creates virtual machines with custom data that the provider renders.
	ModeScriptless ProvisionMode = "aksscriptless"
	// ModeBootstrappingClient creates virtual machines with custom data of a service.
	ModeBootstrappingClient ProvisionMode = "bootstrappingclient"
	// ModeAKSMachine creates AKSMachines, for which AKS creates virtual machines.
	ModeAKSMachine ProvisionMode = "aksmachineapi"
	// ModeAKSMachineBatch creates several AKSMachines by one request.
	ModeAKSMachineBatch ProvisionMode = "aksmachineapiheaderbatch"
)

// CreatesAKSMachines reports whether AKS creates the virtual machines.
func (m ProvisionMode) CreatesAKSMachines() bool {
	return m == ModeAKSMachine || m == ModeAKSMachineBatch
}

// ManagesAKSMachines reports whether AKSMachines are read, and deleted when they are not needed.
func (s *Settings) ManagesAKSMachines() bool {
	return s.ProvisionMode.CreatesAKSMachines() || s.ManageExistingAKSMachines
}

// Provider implements options.ProviderSettings.
func (*Settings) Provider() options.CloudProvider { return Provider }

// Public returns the settings by flag, in the form of the command line, without those that are secrets or may contain one. Every setting
// is named here, so that none is shown because it was forgotten.
func (s *Settings) Public() map[string]string {
	return map[string]string{
		"network-plugin": s.NetworkPlugin, "network-plugin-mode": s.NetworkPluginMode, "network-policy": s.NetworkPolicy,
		"network-dataplane": s.NetworkDataplane, "vnet-guid": s.VNETGUID, "vnet-subnet-id": s.VNETSubnetID, "dns-service-ip": s.DNSServiceIP,
		"localdns-min-kubernetes-version": s.LocalDNSMinKubernetesVersion,
		"node-identities":                 s.NodeIdentities.String(), "kubelet-identity-client-id": s.KubeletIdentityClientID, "node-resource-group": s.NodeResourceGroup,
		"provision-mode": string(s.ProvisionMode), "use-sig": strconv.FormatBool(s.UseSIG), "sig-subscription-id": s.SIGSubscriptionID,
		"node-osdisk-diskencryptionset-id": s.NodeOSDiskDiskEncryptionSetID,
		"manage-existing-aks-machines":     strconv.FormatBool(s.ManageExistingAKSMachines), "aks-machines-pool-name": s.AKSMachinesPoolName,
		"aks-machines-api-version":     s.AKSMachinesAPIVersion,
		"provider-batch-idle-duration": s.ProviderBatchIdleDuration.String(), "provider-batch-max-duration": s.ProviderBatchMaxDuration.String(),
		"provider-batch-max-size": strconv.Itoa(s.ProviderBatchMaxSize), "additional-tags": s.AdditionalTags.String(),
		"enable-azure-sdk-logging": strconv.FormatBool(s.EnableAzureSDKLogging),
	}
}
