package settings

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// notShown stands for a value in errors that may contain a secret.
const notShown = "(not shown)"

// Validate implements options.ProviderSettings. The form of values is checked even if another provider is chosen. All violations are
// reported, the missing settings first.
//
// Source: Azure provider specification, options. There, only the first missing setting and the first violation of a group are reported.
func (s *Settings) Validate(all options.Options, refuse options.Refuse) {
	chosen := all.CloudProvider == Provider
	if chosen {
		s.refuseMissing(all.Cluster, refuse)
	}
	s.validateNode(refuse)
	s.validateNetwork(refuse)
	if chosen {
		s.validateCombinations(refuse)
	}
}

// refuseMissing refuses missing settings that all modes need.
func (s *Settings) refuseMissing(cluster options.Cluster, refuse options.Refuse) {
	for _, r := range []struct{ flag, env, value string }{
		{"cluster-endpoint", "CLUSTER_ENDPOINT", cluster.Endpoint},
		{"cluster-name", "CLUSTER_NAME", cluster.Name},
		{"kubelet-bootstrap-token", "KUBELET_BOOTSTRAP_TOKEN", s.KubeletBootstrapToken},
		{"ssh-public-key", "SSH_PUBLIC_KEY", s.SSHPublicKey},
		{"vnet-subnet-id", "VNET_SUBNET_ID", s.VNETSubnetID},
		{"node-resource-group", "AZURE_NODE_RESOURCE_GROUP", s.NodeResourceGroup},
	} {
		if r.value == "" {
			refuse(r.flag, r.env, r.value, "missing field, %s", r.flag)
		}
	}
}

// validateNode checks the settings of virtual machines.
func (s *Settings) validateNode(refuse options.Refuse) {
	if len(s.LinuxAdminUsername) > 32 || !regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9_]*$`).MatchString(s.LinuxAdminUsername) {
		refuse("linux-admin-username", "LINUX_ADMIN_USERNAME", notShown, "must start with a letter and have at most 32 letters, digits, dashes and underscores")
	}
	if !slices.Contains([]ProvisionMode{ModeScriptless, ModeBootstrappingClient, ModeAKSMachine, ModeAKSMachineBatch}, s.ProvisionMode) {
		refuse("provision-mode", "PROVISION_MODE", string(s.ProvisionMode), "allowed: %s, %s, %s, %s", ModeScriptless, ModeBootstrappingClient, ModeAKSMachine, ModeAKSMachineBatch)
	}
	for _, id := range s.NodeIdentities {
		if !isResource(id, "Microsoft.ManagedIdentity", "userAssignedIdentities") {
			refuse("node-identities", "NODE_IDENTITIES", id, "must be /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.ManagedIdentity/userAssignedIdentities/NAME")
		}
	}
	if s.KubeletIdentityClientID != "" && !isUUID(s.KubeletIdentityClientID) {
		refuse("kubelet-identity-client-id", "KUBELET_IDENTITY_CLIENT_ID", s.KubeletIdentityClientID, "must be a UUID")
	}
	if id := s.NodeOSDiskDiskEncryptionSetID; id != "" && !isResource(id, "Microsoft.Compute", "diskEncryptionSets") {
		refuse("node-osdisk-diskencryptionset-id", "NODE_OSDISK_DISKENCRYPTIONSET_ID", id,
			"must be /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Compute/diskEncryptionSets/NAME")
	}
	if !regexp.MustCompile(apiVersion).MatchString(s.AKSMachinesAPIVersion) {
		refuse("aks-machines-api-version", "AKS_MACHINES_API_VERSION", s.AKSMachinesAPIVersion, "must be a date such as 2026-04-02, and -preview for a preview version")
	}
	for _, u := range []struct{ flag, env, value string }{
		{"nodebootstrapping-server-url", "NODEBOOTSTRAPPING_SERVER_URL", s.NodeBootstrappingServerURL},
		{"sig-access-token-server-url", "SIG_ACCESS_TOKEN_SERVER_URL", s.SIGAccessTokenServerURL},
	} {
		if u.value != "" && !isURL(u.value) {
			refuse(u.flag, u.env, notShown, "must be an absolute URL")
		}
	}
}

// Words of AKS for networks.
const (
	networkAzure   = "azure"
	networkNone    = "none"
	networkOverlay = "overlay"
	networkCilium  = "cilium"
)

// validateNetwork checks the settings of the network.
func (s *Settings) validateNetwork(refuse options.Refuse) {
	ValidateNetworkPlugin(s.NetworkPlugin, s.NetworkPluginMode, refuse)
	if !slices.Contains([]string{networkAzure, networkCilium, ""}, s.NetworkDataplane) {
		refuse("network-dataplane", "NETWORK_DATAPLANE", s.NetworkDataplane, "must be %s, %s or empty", networkAzure, networkCilium)
	}
	if s.VNETGUID != "" && !isUUID(s.VNETGUID) {
		refuse("vnet-guid", "VNET_GUID", s.VNETGUID, "must be a UUID")
	}
	if s.VNETSubnetID != "" && !isResource(s.VNETSubnetID, "Microsoft.Network", "virtualNetworks", "subnets") {
		refuse("vnet-subnet-id", "VNET_SUBNET_ID", s.VNETSubnetID,
			"must be /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/virtualNetworks/NAME/subnets/NAME")
	}
	if ip, err := netip.ParseAddr(s.DNSServiceIP); s.DNSServiceIP != "" && (err != nil || ip.Zone() != "") {
		refuse("dns-service-ip", "DNS_SERVICE_IP", s.DNSServiceIP, "must be an IP address")
	}
	if _, err := version.ParseGeneric(s.LocalDNSMinKubernetesVersion); err != nil {
		refuse("localdns-min-kubernetes-version", "LOCALDNS_MIN_KUBERNETES_VERSION", s.LocalDNSMinKubernetesVersion, "must be a version such as 1.36 or 1.36.2")
	}
}

// ValidateNetworkPlugin checks the words for the network plugin and its mode.
func ValidateNetworkPlugin(name, mode string, refuse options.Refuse) {
	if !slices.Contains([]string{networkAzure, networkNone}, name) {
		refuse("network-plugin", "NETWORK_PLUGIN", name, "allowed: %s, %s", networkAzure, networkNone)
	}
	if !slices.Contains([]string{networkOverlay, ""}, mode) {
		refuse("network-plugin-mode", "NETWORK_PLUGIN_MODE", mode, "must be %s or empty", networkOverlay)
	}
}

// validateCombinations checks settings that others require.
func (s *Settings) validateCombinations(refuse options.Refuse) {
	require := func(flag, env, value, by string) {
		if value == "" {
			refuse(flag, env, value, "required by %s", by)
		}
	}
	if s.NetworkPlugin == networkNone && s.NetworkPluginMode != "" {
		refuse("network-plugin-mode", "NETWORK_PLUGIN_MODE", s.NetworkPluginMode, "must be empty with network plugin %s: set NETWORK_PLUGIN_MODE to the empty text", networkNone)
	}
	mode := "provision mode " + string(s.ProvisionMode)
	if s.ProvisionMode == ModeBootstrappingClient {
		require("nodebootstrapping-server-url", "NODEBOOTSTRAPPING_SERVER_URL", s.NodeBootstrappingServerURL, mode)
	}
	if s.ProvisionMode.CreatesAKSMachines() {
		require("aks-machines-pool-name", "AKS_MACHINES_POOL_NAME", s.AKSMachinesPoolName, mode)
		if !s.UseSIG {
			refuse("use-sig", "USE_SIG", s.UseSIG, "must be true in %s", mode)
		}
	} else if s.ManageExistingAKSMachines {
		require("aks-machines-pool-name", "AKS_MACHINES_POOL_NAME", s.AKSMachinesPoolName, "--manage-existing-aks-machines")
	}
	if s.UseSIG {
		require("sig-subscription-id", "SIG_SUBSCRIPTION_ID", s.SIGSubscriptionID, "--use-sig")
		if !s.ProvisionMode.CreatesAKSMachines() {
			require("sig-access-token-server-url", "SIG_ACCESS_TOKEN_SERVER_URL", s.SIGAccessTokenServerURL, "--use-sig in "+mode)
		}
	}
	if s.ProvisionMode == ModeAKSMachineBatch {
		s.validateBatches(refuse)
	}
}

// apiVersion is the form of the versions of Azure's APIs.
const apiVersion = `^[0-9]{4}-[0-9]{2}-[0-9]{2}(-preview)?$`

// maxBatchSize is the most AKSMachines that AKS creates by one request.
const maxBatchSize = 50

func (s *Settings) validateBatches(refuse options.Refuse) {
	if s.ProviderBatchIdleDuration < 0 {
		refuse("provider-batch-idle-duration", "PROVIDER_BATCH_IDLE_DURATION", s.ProviderBatchIdleDuration, "must be at least 0s")
	}
	if s.ProviderBatchMaxDuration < max(0, s.ProviderBatchIdleDuration) {
		refuse("provider-batch-max-duration", "PROVIDER_BATCH_MAX_DURATION", s.ProviderBatchMaxDuration, "must be at least 0s, and at least --provider-batch-idle-duration")
	}
	if s.ProviderBatchMaxSize < 1 || s.ProviderBatchMaxSize > maxBatchSize {
		refuse("provider-batch-max-size", "PROVIDER_BATCH_MAX_SIZE", s.ProviderBatchMaxSize, "must be from 1 to %d", maxBatchSize)
	}
}

// isResource reports whether a text is the ARM id of a resource in a resource group. types are the type of the resource, after those of the
// resources that contain it. Upper and lower case do not differ in what is not a name.
func isResource(id, namespace string, types ...string) bool {
	want := []string{"", "subscriptions", "*", "resourceGroups", "*", "providers", namespace}
	for _, t := range types {
		want = append(want, t, "*")
	}
	segments := strings.Split(id, "/")
	if len(segments) != len(want) {
		return false
	}
	for i, segment := range segments {
		if want[i] == "*" && strings.TrimSpace(segment) == "" || want[i] != "*" && !strings.EqualFold(segment, want[i]) {
			return false
		}
	}
	return true
}

func isUUID(text string) bool {
	return regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`).MatchString(text)
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.IsAbs() && u.Hostname() != ""
}
