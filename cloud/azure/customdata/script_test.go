package customdata_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
)

// The variables in the order of the conformance vectors, by block.
func blocks() [3][]string {
	return [3][]string{
		strings.Fields(`ADMINUSER MOBY_VERSION TENANT_ID KUBERNETES_VERSION HYPERKUBE_URL KUBE_BINARY_URL CUSTOM_KUBE_BINARY_URL CREDENTIAL_PROVIDER_DOWNLOAD_URL
			KUBEPROXY_URL APISERVER_PUBLIC_KEY SUBSCRIPTION_ID RESOURCE_GROUP LOCATION VM_TYPE SUBNET NETWORK_SECURITY_GROUP VIRTUAL_NETWORK
			VIRTUAL_NETWORK_RESOURCE_GROUP ROUTE_TABLE PRIMARY_AVAILABILITY_SET PRIMARY_SCALE_SET SERVICE_PRINCIPAL_CLIENT_ID NETWORK_PLUGIN NETWORK_POLICY
			VNET_CNI_PLUGINS_URL CNI_PLUGINS_URL CLOUDPROVIDER_BACKOFF CLOUDPROVIDER_BACKOFF_MODE CLOUDPROVIDER_BACKOFF_RETRIES CLOUDPROVIDER_BACKOFF_EXPONENT
			CLOUDPROVIDER_BACKOFF_DURATION CLOUDPROVIDER_BACKOFF_JITTER CLOUDPROVIDER_RATELIMIT CLOUDPROVIDER_RATELIMIT_QPS CLOUDPROVIDER_RATELIMIT_QPS_WRITE
			CLOUDPROVIDER_RATELIMIT_BUCKET CLOUDPROVIDER_RATELIMIT_BUCKET_WRITE LOAD_BALANCER_DISABLE_OUTBOUND_SNAT USE_MANAGED_IDENTITY_EXTENSION
			USE_INSTANCE_METADATA LOAD_BALANCER_SKU EXCLUDE_MASTER_FROM_STANDARD_LB MAXIMUM_LOADBALANCER_RULE_COUNT CONTAINER_RUNTIME CLI_TOOL
			CONTAINERD_DOWNLOAD_URL_BASE NETWORK_MODE KUBE_BINARY_URL USER_ASSIGNED_IDENTITY_ID API_SERVER_NAME IS_VHD GPU_NODE SGX_NODE MIG_NODE
			CONFIG_GPU_DRIVER_IF_NEEDED ENABLE_GPU_DEVICE_PLUGIN_IF_NEEDED TELEPORTD_PLUGIN_DOWNLOAD_URL CONTAINERD_VERSION CONTAINERD_PACKAGE_URL RUNC_VERSION
			RUNC_PACKAGE_URL`),
		strings.Fields(`ENABLE_HOSTS_CONFIG_AGENT DISABLE_SSH NEEDS_CONTAINERD TELEPORT_ENABLED SHOULD_CONFIGURE_HTTP_PROXY SHOULD_CONFIGURE_HTTP_PROXY_CA
			HTTP_PROXY_TRUSTED_CA SHOULD_CONFIGURE_CUSTOM_CA_TRUST CUSTOM_CA_TRUST_COUNT IS_KRUSTLET GPU_NEEDS_FABRIC_MANAGER NEEDS_DOCKER_LOGIN
			IPV6_DUAL_STACK_ENABLED OUTBOUND_COMMAND ENABLE_UNATTENDED_UPGRADES ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE SHOULD_CONFIG_SWAP_FILE
			SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE TARGET_CLOUD TARGET_ENVIRONMENT CUSTOM_ENV_JSON IS_CUSTOM_CLOUD CSE_HELPERS_FILEPATH CSE_DISTRO_HELPERS_FILEPATH
			CSE_INSTALL_FILEPATH CSE_DISTRO_INSTALL_FILEPATH CSE_CONFIG_FILEPATH AZURE_PRIVATE_REGISTRY_SERVER HAS_CUSTOM_SEARCH_DOMAIN
			CUSTOM_SEARCH_DOMAIN_FILEPATH HTTP_PROXY_URLS HTTPS_PROXY_URLS NO_PROXY_URLS ENABLE_TLS_BOOTSTRAPPING ENABLE_SECURE_TLS_BOOTSTRAPPING
			ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION DHCPV6_SERVICE_FILEPATH DHCPV6_CONFIG_FILEPATH THP_ENABLED THP_DEFRAG SERVICE_PRINCIPAL_FILE_CONTENT
			KUBELET_CLIENT_CONTENT KUBELET_CLIENT_CERT_CONTENT KUBELET_CONFIG_FILE_ENABLED KUBELET_CONFIG_FILE_CONTENT SWAP_FILE_SIZE_MB GPU_IMAGE_SHA
			GPU_DRIVER_VERSION GPU_DRIVER_TYPE GPU_INSTANCE_PROFILE CUSTOM_SEARCH_DOMAIN_NAME CUSTOM_SEARCH_REALM_USER CUSTOM_SEARCH_REALM_PASSWORD
			MESSAGE_OF_THE_DAY HAS_KUBELET_DISK_TYPE NEEDS_CGROUPV2 SYSCTL_CONTENT TLS_BOOTSTRAP_TOKEN KUBELET_FLAGS KUBELET_NODE_LABELS
			AZURE_ENVIRONMENT_FILEPATH KUBE_CA_CRT CONTAINERD_CONFIG_CONTENT IS_KATA MCR_REPOSITORY_BASE`),
		strings.Fields(`ENABLE_IMDS_RESTRICTION INSERT_IMDS_RESTRICTION_RULE_TO_MANGLE_TABLE CSE_TIMEOUT`),
	}
}

// TestOrder checks the order and the quotes of all assignments.
//
// Source: Azure provider specification, conformance vectors, custom data.
func TestOrder(t *testing.T) {
	t.Attr("covers", "Z238")
	text := assignments(t, script(t, input(func(in *customdata.Input) { in.Cluster.NodeResourceGroup = "MC_rg_cluster_southcentralus" })))
	all := blocks()
	if diff := cmp.Diff(slices.Concat(all[:]...), names(text)); diff != "" {
		t.Errorf("names (-want +got)\n%s", diff)
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		quoted := slices.Contains(all[1], name) || name == "NETWORK_POLICY"
		if (strings.HasPrefix(value, `"`) && strings.HasSuffix(value, `"`) && len(value) > 1) != quoted || strings.Contains(value, "'") && name != "VIRTUAL_NETWORK_RESOURCE_GROUP" {
			t.Errorf("%s: in double quotes should be %v", line, quoted)
		}
	}
}

// TestSameBytes checks that the order of maps does not show.
func TestSameBytes(t *testing.T) {
	t.Attr("covers", "Z238")
	render := func() string {
		labels := map[string]string{}
		for i := range 20 {
			labels[fmt.Sprintf("example.com/label-%d", i)] = "x"
		}
		return script(t, input(func(in *customdata.Input) { in.Launch.Claim.Labels = labels }))
	}
	first := render()
	for range 20 {
		if got := render(); got != first {
			t.Fatalf("(-first +later)\n%s", cmp.Diff(first, got))
		}
	}
}

// TestValues checks the variables that follow from the cluster, and that all others are empty, false or zero.
func TestValues(t *testing.T) {
	want := map[string]string{
		"ADMINUSER": "azureuser", "TENANT_ID": "tenant-id", "SUBSCRIPTION_ID": "subscription-id", "RESOURCE_GROUP": "MC_rg(test)_cluster_southcentralus",
		"LOCATION": "southcentralus", "VM_TYPE": "standard", "SUBNET": "aks-subnet", "VIRTUAL_NETWORK": "vnet", "VIRTUAL_NETWORK_RESOURCE_GROUP": "rg(test)",
		"NETWORK_SECURITY_GROUP": "aks-agentpool-12345678-nsg", "ROUTE_TABLE": "aks-agentpool-12345678-routetable", "SERVICE_PRINCIPAL_CLIENT_ID": "msi",
		"SERVICE_PRINCIPAL_FILE_CONTENT": "bXNp", "NETWORK_PLUGIN": "none", "NETWORK_POLICY": "cilium", "CLOUDPROVIDER_BACKOFF": "true",
		"CLOUDPROVIDER_BACKOFF_MODE": "v2", "CLOUDPROVIDER_BACKOFF_RETRIES": "6", "CLOUDPROVIDER_BACKOFF_EXPONENT": "0", "CLOUDPROVIDER_BACKOFF_DURATION": "5",
		"CLOUDPROVIDER_BACKOFF_JITTER": "0", "CLOUDPROVIDER_RATELIMIT": "true", "CLOUDPROVIDER_RATELIMIT_QPS": "10", "CLOUDPROVIDER_RATELIMIT_QPS_WRITE": "10",
		"CLOUDPROVIDER_RATELIMIT_BUCKET": "100", "CLOUDPROVIDER_RATELIMIT_BUCKET_WRITE": "100", "USE_MANAGED_IDENTITY_EXTENSION": "true",
		"USE_INSTANCE_METADATA": "true", "EXCLUDE_MASTER_FROM_STANDARD_LB": "true", "LOAD_BALANCER_SKU": "Standard", "MAXIMUM_LOADBALANCER_RULE_COUNT": "250",
		"CONTAINER_RUNTIME": "containerd", "CLI_TOOL": "ctr", "NEEDS_CONTAINERD": "true", "IS_VHD": "true", "NEEDS_CGROUPV2": "true",
		"USER_ASSIGNED_IDENTITY_ID": "identity-id", "API_SERVER_NAME": "cluster.hcp.southcentralus.azmk8s.io", "TARGET_CLOUD": "AzurePublicCloud",
		"TARGET_ENVIRONMENT": "AzurePublicCloud", "OUTBOUND_COMMAND": "curl -v --insecure --proxy-insecure https://mcr.microsoft.com/v2/",
		"CSE_HELPERS_FILEPATH": "/opt/azure/containers/provision_source.sh", "CSE_DISTRO_HELPERS_FILEPATH": "/opt/azure/containers/provision_source_distro.sh",
		"CSE_INSTALL_FILEPATH": "/opt/azure/containers/provision_installs.sh", "CSE_DISTRO_INSTALL_FILEPATH": "/opt/azure/containers/provision_installs_distro.sh",
		"CSE_CONFIG_FILEPATH": "/opt/azure/containers/provision_configs.sh", "CUSTOM_SEARCH_DOMAIN_FILEPATH": "/opt/azure/containers/setup-custom-search-domains.sh",
		"ENABLE_TLS_BOOTSTRAPPING": "true", "TLS_BOOTSTRAP_TOKEN": "abcdef.0123456789abcdef", "KUBE_CA_CRT": "Y2E=", "MCR_REPOSITORY_BASE": "mcr.microsoft.com",
		"ENABLE_IMDS_RESTRICTION": "false", "INSERT_IMDS_RESTRICTION_RULE_TO_MANGLE_TABLE": "false", "CSE_TIMEOUT": "15m", "KUBERNETES_VERSION": "1.33.4",
		"CUSTOM_CA_TRUST_COUNT": "0", "SWAP_FILE_SIZE_MB": "0",
	}
	got := evaluate(t, script(t, input()))
	const sysctls = "net.ipv4.tcp_retries2=8\nnet.core.message_burst=80\nnet.core.message_cost=40\nnet.core.somaxconn=16384\nnet.ipv4.tcp_max_syn_backlog=16384\n" +
		"net.ipv4.neigh.default.gc_thresh1=4096\nnet.ipv4.neigh.default.gc_thresh2=8192\nnet.ipv4.neigh.default.gc_thresh3=16384\n"
	if text := decoded(t, got["SYSCTL_CONTENT"]); text != sysctls {
		t.Errorf("sysctls (-want +got)\n%s", cmp.Diff(sysctls, text))
	}
	// The tests of the vectors, flags, labels and containerd check these.
	elsewhere := strings.Fields(`KUBE_BINARY_URL CREDENTIAL_PROVIDER_DOWNLOAD_URL VNET_CNI_PLUGINS_URL CNI_PLUGINS_URL KUBELET_FLAGS KUBELET_NODE_LABELS
		CONTAINERD_CONFIG_CONTENT SYSCTL_CONTENT`)
	expect(t, "variable", got, want)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok && !slices.Contains(elsewhere, name) && got[name] != "" && got[name] != "false" {
			t.Errorf("%s is %q", name, got[name])
		}
	}
}

// TestOtherCloud checks what depends on the cloud and on the settings.
func TestOtherCloud(t *testing.T) {
	in := input(func(in *customdata.Input) {
		in.Cluster.Environment, in.Cluster.AdminUser = "AzureChinaCloud", "operator"
		in.Cluster.NetworkSecurityGroup, in.Cluster.Endpoint = "AKS-agentpool-87654321-NSG", "https://10.1.2.3"
	})
	expect(t, "variable", evaluate(t, script(t, in)), map[string]string{
		"TARGET_CLOUD": "AzureChinaCloud", "TARGET_ENVIRONMENT": "AzureChinaCloud", "IS_CUSTOM_CLOUD": "false", "ADMINUSER": "operator",
		"NETWORK_SECURITY_GROUP": "AKS-agentpool-87654321-NSG", "ROUTE_TABLE": "aks-agentpool-87654321-routetable", "API_SERVER_NAME": "10.1.2.3",
	})
}

// boot runs a script with its files below a folder, and a sleep that returns at once. It returns the exit code.
func boot(t *testing.T, root, script string) int {
	t.Helper()
	for _, prefix := range []string{"/opt/azure", "/var/log/azure"} {
		if err := os.MkdirAll(filepath.Join(root, prefix, "containers"), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	// Values keep the paths of the node; commands get those of the test.
	moved := regexp.MustCompile(`(^|[ '"])(/opt/azure|/var/log/azure)`)
	var program strings.Builder
	program.WriteString("sleep() { echo slept >> " + root + "/sleeps; }\n")
	for line := range strings.Lines(script) {
		if !regexp.MustCompile(`^[A-Z0-9_]+=`).MatchString(line) {
			line = moved.ReplaceAllString(line, "${1}"+root+"${2}")
		}
		program.WriteString(line)
	}
	command := exec.Command("bash", "--noprofile", "--norc")
	command.Stdin = strings.NewReader(program.String())
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, out)
	}
	return command.ProcessState.ExitCode()
}

// TestBoot runs a whole script: it starts the provisioning of the image, which finds the variables.
func TestBoot(t *testing.T) {
	root := t.TempDir()
	write(t, root, "/opt/azure/containers/provision.sh", "#!/bin/bash\n#EOF\n")
	write(t, root, "/opt/azure/containers/provision_start.sh", `printf '%s' "$(printenv KUBELET_FLAGS)" > `+root+"/flags\n")
	text := script(t, input())
	if code := boot(t, root, text); code != 0 {
		t.Fatalf("the script exits with %d", code)
	}
	if got, want := read(t, root, "/flags"), evaluate(t, text)["KUBELET_FLAGS"]; got != want {
		t.Errorf("provisioning has the flags %q, want %q", got, want)
	}
	if got := read(t, root, "/opt/azure/manifest.json"); got != "#EOF\n" {
		t.Errorf("the manifest is %q", got)
	}
	if got := read(t, root, "/var/log/azure/cluster-provision-cse-output.log"); !regexp.MustCompile(`(?s)^.*20\d\d.*,.+\n$`).MatchString(got) {
		t.Errorf("the log is %q", got)
	}
	if _, err := os.Stat(filepath.Join(root, "/var/log/azure/Microsoft.Azure.Extensions.CustomScript/events")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "sleeps")); err == nil {
		t.Error("the script sleeps though the image is ready")
	}
}

// TestBootTimeout checks that the script gives up if the image does not get ready in twenty minutes.
func TestBootTimeout(t *testing.T) {
	root := t.TempDir()
	write(t, root, "/opt/azure/containers/provision.sh", "#!/bin/bash\n")
	write(t, root, "/opt/azure/containers/provision_start.sh", "touch "+root+"/started\n")
	if code := boot(t, root, script(t, input())); code != 100 {
		t.Errorf("the script exits with %d, want 100", code)
	}
	if got := strings.Count(read(t, root, "/sleeps"), "slept"); got < 1199 || got > 1200 {
		t.Errorf("the script sleeps %d times, want 1200", got)
	}
	if _, err := os.Stat(filepath.Join(root, "started")); err == nil {
		t.Error("provisioning started")
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
