package customdata

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/cloud/azure/gpu"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
)

// The variables that the provisioning of the images reads, in three blocks, with the values that all nodes have. The others are empty unless
// values has one. Source: Azure provider specification, conformance vectors, custom data.
const (
	firstBlock = `ADMINUSER MOBY_VERSION TENANT_ID KUBERNETES_VERSION HYPERKUBE_URL KUBE_BINARY_URL CUSTOM_KUBE_BINARY_URL
		CREDENTIAL_PROVIDER_DOWNLOAD_URL KUBEPROXY_URL APISERVER_PUBLIC_KEY SUBSCRIPTION_ID RESOURCE_GROUP LOCATION VM_TYPE=standard SUBNET
		NETWORK_SECURITY_GROUP VIRTUAL_NETWORK VIRTUAL_NETWORK_RESOURCE_GROUP ROUTE_TABLE PRIMARY_AVAILABILITY_SET PRIMARY_SCALE_SET
		SERVICE_PRINCIPAL_CLIENT_ID=msi NETWORK_PLUGIN NETWORK_POLICY VNET_CNI_PLUGINS_URL CNI_PLUGINS_URL CLOUDPROVIDER_BACKOFF=true
		CLOUDPROVIDER_BACKOFF_MODE=v2 CLOUDPROVIDER_BACKOFF_RETRIES=6 CLOUDPROVIDER_BACKOFF_EXPONENT=0 CLOUDPROVIDER_BACKOFF_DURATION=5
		CLOUDPROVIDER_BACKOFF_JITTER=0 CLOUDPROVIDER_RATELIMIT=true CLOUDPROVIDER_RATELIMIT_QPS=10 CLOUDPROVIDER_RATELIMIT_QPS_WRITE=10
		CLOUDPROVIDER_RATELIMIT_BUCKET=100 CLOUDPROVIDER_RATELIMIT_BUCKET_WRITE=100 LOAD_BALANCER_DISABLE_OUTBOUND_SNAT=false
		USE_MANAGED_IDENTITY_EXTENSION=true USE_INSTANCE_METADATA=true LOAD_BALANCER_SKU=Standard EXCLUDE_MASTER_FROM_STANDARD_LB=true
		MAXIMUM_LOADBALANCER_RULE_COUNT=250 CONTAINER_RUNTIME=containerd CLI_TOOL=ctr CONTAINERD_DOWNLOAD_URL_BASE NETWORK_MODE KUBE_BINARY_URL
		USER_ASSIGNED_IDENTITY_ID API_SERVER_NAME IS_VHD=true GPU_NODE=false SGX_NODE=false MIG_NODE=false CONFIG_GPU_DRIVER_IF_NEEDED=false
		ENABLE_GPU_DEVICE_PLUGIN_IF_NEEDED=false TELEPORTD_PLUGIN_DOWNLOAD_URL CONTAINERD_VERSION CONTAINERD_PACKAGE_URL RUNC_VERSION
		RUNC_PACKAGE_URL`
	secondBlock = `ENABLE_HOSTS_CONFIG_AGENT=false DISABLE_SSH=false NEEDS_CONTAINERD=true TELEPORT_ENABLED=false SHOULD_CONFIGURE_HTTP_PROXY=false
		SHOULD_CONFIGURE_HTTP_PROXY_CA=false HTTP_PROXY_TRUSTED_CA SHOULD_CONFIGURE_CUSTOM_CA_TRUST=false CUSTOM_CA_TRUST_COUNT=0
		IS_KRUSTLET=false GPU_NEEDS_FABRIC_MANAGER=false NEEDS_DOCKER_LOGIN=false IPV6_DUAL_STACK_ENABLED=false OUTBOUND_COMMAND
		ENABLE_UNATTENDED_UPGRADES=false ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE=false SHOULD_CONFIG_SWAP_FILE=false
		SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE=false TARGET_CLOUD TARGET_ENVIRONMENT CUSTOM_ENV_JSON IS_CUSTOM_CLOUD=false
		CSE_HELPERS_FILEPATH=/opt/azure/containers/provision_source.sh
		CSE_DISTRO_HELPERS_FILEPATH=/opt/azure/containers/provision_source_distro.sh
		CSE_INSTALL_FILEPATH=/opt/azure/containers/provision_installs.sh
		CSE_DISTRO_INSTALL_FILEPATH=/opt/azure/containers/provision_installs_distro.sh
		CSE_CONFIG_FILEPATH=/opt/azure/containers/provision_configs.sh AZURE_PRIVATE_REGISTRY_SERVER HAS_CUSTOM_SEARCH_DOMAIN=false
		CUSTOM_SEARCH_DOMAIN_FILEPATH=/opt/azure/containers/setup-custom-search-domains.sh HTTP_PROXY_URLS HTTPS_PROXY_URLS NO_PROXY_URLS
		ENABLE_TLS_BOOTSTRAPPING=true ENABLE_SECURE_TLS_BOOTSTRAPPING=false ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION=false
		DHCPV6_SERVICE_FILEPATH DHCPV6_CONFIG_FILEPATH THP_ENABLED THP_DEFRAG SERVICE_PRINCIPAL_FILE_CONTENT KUBELET_CLIENT_CONTENT
		KUBELET_CLIENT_CERT_CONTENT KUBELET_CONFIG_FILE_ENABLED=false KUBELET_CONFIG_FILE_CONTENT SWAP_FILE_SIZE_MB=0 GPU_IMAGE_SHA
		GPU_DRIVER_VERSION GPU_DRIVER_TYPE GPU_INSTANCE_PROFILE CUSTOM_SEARCH_DOMAIN_NAME CUSTOM_SEARCH_REALM_USER
		CUSTOM_SEARCH_REALM_PASSWORD MESSAGE_OF_THE_DAY HAS_KUBELET_DISK_TYPE=false NEEDS_CGROUPV2=true SYSCTL_CONTENT TLS_BOOTSTRAP_TOKEN
		KUBELET_FLAGS KUBELET_NODE_LABELS AZURE_ENVIRONMENT_FILEPATH KUBE_CA_CRT CONTAINERD_CONFIG_CONTENT IS_KATA=false
		MCR_REPOSITORY_BASE=mcr.microsoft.com`
	thirdBlock = `ENABLE_IMDS_RESTRICTION=false INSERT_IMDS_RESTRICTION_RULE_TO_MANGLE_TABLE=false CSE_TIMEOUT=15m`
)

// Versions of what nodes download.
const (
	mirror         = "https://acs-mirror.azureedge.net"
	vnetCNIVersion = "v1.4.32"
	cniVersion     = "v1.1.1"
)

// outboundCommand checks whether the node reaches the registry of Microsoft.
const outboundCommand = "curl -v --insecure --proxy-insecure https://mcr.microsoft.com/v2/"

// variables are all variables in the order of the script.
func (in *Input) variables() ([]variable, error) {
	values, err := in.values()
	if err != nil {
		return nil, err
	}
	var out []variable
	for _, block := range []struct {
		names   string
		quoting quoting
	}{{firstBlock, bare}, {secondBlock, double}, {thirdBlock, bare}} {
		for _, field := range strings.Fields(block.names) {
			name, fixed, _ := strings.Cut(field, "=")
			v := variable{name, fixed, block.quoting}
			if value, ok := values[name]; ok {
				v.value = value
			}
			if name == "NETWORK_POLICY" {
				v.quoting = double
			}
			out = append(out, v)
		}
	}
	return out, nil
}

// values are the values of variables that depend on the input, and those that a list of names cannot hold.
func (in *Input) values() (map[string]string, error) {
	kubernetes, err := in.release()
	if err != nil {
		return nil, err
	}
	flags, err := in.kubeletFlags(kubernetes)
	if err != nil {
		return nil, err
	}
	labels, err := NodeLabels(*in)
	if err != nil {
		return nil, err
	}
	apiServer, err := in.Cluster.apiServer()
	if err != nil {
		return nil, err
	}
	routeTable, err := in.Cluster.routeTable()
	if err != nil {
		return nil, err
	}
	c := &in.Cluster
	values := map[string]string{
		"ADMINUSER": c.AdminUser, "TENANT_ID": c.TenantID, "SUBSCRIPTION_ID": c.SubscriptionID,
		"RESOURCE_GROUP": c.NodeResourceGroup, "LOCATION": c.Location, "KUBERNETES_VERSION": in.KubernetesVersion,
		"SUBNET": in.Subnet.Name, "VIRTUAL_NETWORK": in.Subnet.VirtualNetwork, "VIRTUAL_NETWORK_RESOURCE_GROUP": in.Subnet.ResourceGroup,
		"NETWORK_SECURITY_GROUP": c.NetworkSecurityGroup, "ROUTE_TABLE": routeTable,
		"NETWORK_PLUGIN": c.networkPlugin(), "NETWORK_POLICY": c.NetworkPolicy,
		"USER_ASSIGNED_IDENTITY_ID": c.KubeletIdentityClientID, "API_SERVER_NAME": apiServer,
		"SERVICE_PRINCIPAL_FILE_CONTENT": encoded("msi"), "OUTBOUND_COMMAND": outboundCommand,
		"TARGET_CLOUD": c.Environment, "TARGET_ENVIRONMENT": c.Environment,
		"TLS_BOOTSTRAP_TOKEN": c.BootstrapToken, "KUBE_CA_CRT": c.CABundle, "SYSCTL_CONTENT": encoded(sysctls),
		"KUBELET_FLAGS": flags, "KUBELET_NODE_LABELS": pairs(labels),
	}
	in.addDownloads(values, kubernetes)
	in.addGPU(values)
	return values, nil
}

// addDownloads adds the addresses that nodes download from.
func (in *Input) addDownloads(values map[string]string, kubernetes release) {
	arch := in.SKU.Architecture
	values["VNET_CNI_PLUGINS_URL"] = fmt.Sprintf("%s/azure-cni/%s/binaries/azure-vnet-cni-linux-%s-%[2]s.tgz", mirror, vnetCNIVersion, arch)
	values["CNI_PLUGINS_URL"] = fmt.Sprintf("%s/cni-plugins/%s/binaries/cni-plugins-linux-%s-%[2]s.tgz", mirror, cniVersion, arch)
	if !kubernetes.from(minorOfNoCloudConfig) {
		values["KUBE_BINARY_URL"] = fmt.Sprintf("%s/kubernetes/v%s/binaries/kubernetes-node-linux-%s.tar.gz", mirror, kubernetes.text, arch)
	}
	if provider := kubernetes.credentialProvider(); provider != "" {
		values["CREDENTIAL_PROVIDER_DOWNLOAD_URL"] = fmt.Sprintf(
			"%s/cloud-provider-azure/v%s/binaries/azure-acr-credential-provider-linux-%s-v%[2]s.tar.gz", mirror, provider, arch)
	}
}

// credentialProvider is the version of the program that has the credentials of registries; empty for releases in which the kubelet has them.
func (r release) credentialProvider() string {
	switch {
	case !r.from(minorOfCredentialProvider):
		return ""
	case !r.from(31):
		return "1.30.12"
	case !r.from(32):
		return "1.31.6"
	case !r.from(33):
		return "1.32.5"
	default:
		return "1.33.0"
	}
}

// addGPU adds the driver of the GPU and the configuration of containerd, whose runtime depends on it.
func (in *Input) addGPU(values map[string]string) {
	driver, ok := gpu.DriverOf(in.SKU.Name)
	if !ok || !in.Class.InstallsGPUDriver() {
		values["CONTAINERD_CONFIG_CONTENT"] = encoded(containerdConfig(runtimeRunc))
		return
	}
	values["GPU_NODE"], values["CONFIG_GPU_DRIVER_IF_NEEDED"] = "true", "true"
	values["GPU_DRIVER_TYPE"], values["GPU_DRIVER_VERSION"], values["GPU_IMAGE_SHA"] = driver.Kind, driver.Version, driver.Suffix
	values["CONTAINERD_CONFIG_CONTENT"] = encoded(containerdConfig(runtimeNVIDIA))
}

// apiServer is the host of the API server.
func (c *Cluster) apiServer() (string, error) {
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil {
		return "", fmt.Errorf("parsing the endpoint of the cluster: %w", err)
	}
	if endpoint.Hostname() == "" {
		return "", fmt.Errorf("the endpoint of the cluster, %q, has no host", c.Endpoint)
	}
	return endpoint.Hostname(), nil
}

// routeTable is the name of the route table that AKS manages: that of the network security group has the same number.
func (c *Cluster) routeTable() (string, error) {
	found := regexp.MustCompile(`^(?i:aks-agentpool)-(\d{8})-(?i:nsg)$`).FindStringSubmatch(c.NetworkSecurityGroup)
	if found == nil {
		return "", fmt.Errorf("the network security group %q is not one of AKS, such as aks-agentpool-12345678-nsg", c.NetworkSecurityGroup)
	}
	return "aks-agentpool-" + found[1] + "-routetable", nil
}

// networkPlugin is the network plugin that provisioning installs: none where a DaemonSet does.
func (c *Cluster) networkPlugin() string {
	if c.Network.Plugin == instancetype.PluginNone || c.overlay() ||
		c.Network.Plugin == instancetype.PluginAzure && c.Network.Mode == "" && c.Dataplane == DataplaneCilium {
		return instancetype.PluginNone
	}
	return instancetype.PluginAzure
}

// pairs lists labels in the order of their keys.
func pairs(labels map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, key+"="+labels[key])
	}
	return strings.Join(out, ",")
}
