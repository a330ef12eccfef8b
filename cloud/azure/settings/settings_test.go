package settings_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/internal/options"
)

const (
	subnet     = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/n"
	identity   = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/one"
	encryption = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/diskEncryptionSets/set"
	uuid       = "12345678-1234-1234-1234-1234567890ab"
)

func lookup(env map[string]string) options.LookupEnv {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// parse parses as the binary does and returns the settings of AKS.
func parse(args []string, env map[string]string) (*settings.Settings, error) {
	var s settings.Settings
	_, err := options.Parse(args, lookup(env), &s)
	return &s, err
}

// required is an environment with all that is required, with changes.
func required(changes map[string]string) map[string]string {
	out := map[string]string{
		"CLOUD_PROVIDER": "azure", "CLUSTER_ENDPOINT": "https://one.example.com:443", "CLUSTER_NAME": "one", "KUBELET_BOOTSTRAP_TOKEN": "token",
		"SSH_PUBLIC_KEY": "ssh-rsa AAAA", "VNET_SUBNET_ID": subnet, "AZURE_NODE_RESOURCE_GROUP": "MC_one",
	}
	maps.Copy(out, changes)
	return out
}

// azureSettings are the settings of the provider, each with a value from the command line, one from the environment and its default.
func azureSettings() []struct {
	flag, onFlag, env, inEnv     string
	got                          func(*settings.Settings) any
	fromFlag, fromEnv, byDefault any
} {
	return []struct {
		flag, onFlag, env, inEnv     string
		got                          func(*settings.Settings) any
		fromFlag, fromEnv, byDefault any
	}{
		{"kubelet-bootstrap-token", "a", "KUBELET_BOOTSTRAP_TOKEN", "b", func(s *settings.Settings) any { return s.KubeletBootstrapToken }, "a", "b", ""},
		{"linux-admin-username", "a", "LINUX_ADMIN_USERNAME", "b", func(s *settings.Settings) any { return s.LinuxAdminUsername }, "a", "b", "azureuser"},
		{"ssh-public-key", "a", "SSH_PUBLIC_KEY", "b", func(s *settings.Settings) any { return s.SSHPublicKey }, "a", "b", ""},
		{"network-plugin", "azure", "NETWORK_PLUGIN", "none", func(s *settings.Settings) any { return s.NetworkPlugin }, "azure", "none", "azure"},
		{"network-plugin-mode", "overlay", "NETWORK_PLUGIN_MODE", "", func(s *settings.Settings) any { return s.NetworkPluginMode }, "overlay", "", "overlay"},
		{"network-policy", "cilium", "NETWORK_POLICY", "azure", func(s *settings.Settings) any { return s.NetworkPolicy }, "cilium", "azure", ""},
		{"network-dataplane", "azure", "NETWORK_DATAPLANE", "", func(s *settings.Settings) any { return s.NetworkDataplane }, "azure", "", "cilium"},
		{"vnet-guid", uuid, "VNET_GUID", strings.ToUpper(uuid), func(s *settings.Settings) any { return s.VNETGUID }, uuid, strings.ToUpper(uuid), ""},
		{"vnet-subnet-id", subnet, "VNET_SUBNET_ID", subnet + "2", func(s *settings.Settings) any { return s.VNETSubnetID }, subnet, subnet + "2", ""},
		{"dns-service-ip", "10.0.0.10", "DNS_SERVICE_IP", "fd00::a", func(s *settings.Settings) any { return s.DNSServiceIP }, "10.0.0.10", "fd00::a", ""},
		{"localdns-min-kubernetes-version", "1.34", "LOCALDNS_MIN_KUBERNETES_VERSION", "v1.35.2", func(s *settings.Settings) any { return s.LocalDNSMinKubernetesVersion }, "1.34", "v1.35.2", "1.36"},
		{
			"node-identities", identity + ", " + identity + "2", "NODE_IDENTITIES", identity, func(s *settings.Settings) any { return s.NodeIdentities },
			settings.IDs{identity, identity + "2"},
			settings.IDs{identity},
			settings.IDs(nil),
		},
		{"kubelet-identity-client-id", uuid, "KUBELET_IDENTITY_CLIENT_ID", uuid, func(s *settings.Settings) any { return s.KubeletIdentityClientID }, uuid, uuid, ""},
		{"node-resource-group", "a", "AZURE_NODE_RESOURCE_GROUP", "b", func(s *settings.Settings) any { return s.NodeResourceGroup }, "a", "b", ""},
		{
			"provision-mode", "bootstrappingclient", "PROVISION_MODE", "aksmachineapi", func(s *settings.Settings) any { return s.ProvisionMode },
			settings.ModeBootstrappingClient, settings.ModeAKSMachine, settings.ModeScriptless,
		},
		{"nodebootstrapping-server-url", "https://a", "NODEBOOTSTRAPPING_SERVER_URL", "https://b", func(s *settings.Settings) any { return s.NodeBootstrappingServerURL }, "https://a", "https://b", ""},
		{"use-sig", "false", "USE_SIG", "true", func(s *settings.Settings) any { return s.UseSIG }, false, true, false},
		{"sig-subscription-id", "a", "SIG_SUBSCRIPTION_ID", "b", func(s *settings.Settings) any { return s.SIGSubscriptionID }, "a", "b", ""},
		{"sig-access-token-server-url", "https://a", "SIG_ACCESS_TOKEN_SERVER_URL", "https://b", func(s *settings.Settings) any { return s.SIGAccessTokenServerURL }, "https://a", "https://b", ""},
		{
			"node-osdisk-diskencryptionset-id", encryption, "NODE_OSDISK_DISKENCRYPTIONSET_ID", strings.ToUpper(encryption),
			func(s *settings.Settings) any { return s.NodeOSDiskDiskEncryptionSetID }, encryption, strings.ToUpper(encryption), "",
		},
		{"manage-existing-aks-machines", "false", "MANAGE_EXISTING_AKS_MACHINES", "true", func(s *settings.Settings) any { return s.ManageExistingAKSMachines }, false, true, false},
		{
			"aks-machines-api-version", "2026-04-01", "AKS_MACHINES_API_VERSION", "2026-06-02-preview", func(s *settings.Settings) any { return s.AKSMachinesAPIVersion },
			"2026-04-01", "2026-06-02-preview", "2026-04-02-preview",
		},
		{"aks-machines-pool-name", "a", "AKS_MACHINES_POOL_NAME", "b", func(s *settings.Settings) any { return s.AKSMachinesPoolName }, "a", "b", ""},
		{"provider-batch-idle-duration", "2s", "PROVIDER_BATCH_IDLE_DURATION", "0s", func(s *settings.Settings) any { return s.ProviderBatchIdleDuration }, 2 * time.Second, time.Duration(0), time.Second},
		{"provider-batch-max-duration", "2s", "PROVIDER_BATCH_MAX_DURATION", "3s", func(s *settings.Settings) any { return s.ProviderBatchMaxDuration }, 2 * time.Second, 3 * time.Second, 5 * time.Second},
		{"provider-batch-max-size", "1", "PROVIDER_BATCH_MAX_SIZE", "2", func(s *settings.Settings) any { return s.ProviderBatchMaxSize }, 1, 2, 50},
		{"additional-tags", "a=b,c=d", "ADDITIONAL_TAGS", "e=f", func(s *settings.Settings) any { return s.AdditionalTags }, settings.Tags{"a": "b", "c": "d"}, settings.Tags{"e": "f"}, settings.Tags(nil)},
		{"enable-azure-sdk-logging", "true", "ENABLE_AZURE_SDK_LOGGING", "false", func(s *settings.Settings) any { return s.EnableAzureSDKLogging }, true, false, true},
	}
}

func TestPrecedence(t *testing.T) {
	t.Attr("covers", "Z039")
	for _, tc := range azureSettings() {
		arg, env := "--"+tc.flag+"="+tc.onFlag, map[string]string{tc.env: tc.inEnv}
		for _, run := range []struct {
			name string
			args []string
			env  map[string]string
			want any
		}{
			{"default", nil, nil, tc.byDefault},
			{"environment", nil, env, tc.fromEnv},
			{"flag beats environment", []string{arg}, env, tc.fromFlag},
		} {
			got, err := parse(run.args, run.env)
			if err != nil {
				t.Errorf("%s, %s: %v", tc.flag, run.name, err)
			} else if diff := cmp.Diff(run.want, tc.got(got)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tc.flag, run.name, diff)
			}
		}
	}
}

// TestMissingSettings: all of them are named at once, in the order of the specification, and only if AKS is the chosen provider.
func TestMissingSettings(t *testing.T) {
	t.Attr("covers", "Z038 Z242")
	all := []string{"cluster-endpoint", "cluster-name", "kubelet-bootstrap-token", "ssh-public-key", "vnet-subnet-id", "node-resource-group"}
	variables := []string{"CLUSTER_ENDPOINT", "CLUSTER_NAME", "KUBELET_BOOTSTRAP_TOKEN", "SSH_PUBLIC_KEY", "VNET_SUBNET_ID", "AZURE_NODE_RESOURCE_GROUP"}
	missing := func(err error) []string {
		var out []string
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				_, flag, _ := strings.Cut(line, "missing field, ")
				out = append(out, flag)
			}
		}
		return out
	}
	for n := range variables {
		env := required(nil)
		for _, v := range variables[n:] {
			delete(env, v)
		}
		if _, err := parse(nil, env); !slices.Equal(missing(err), all[n:]) {
			t.Errorf("with %q: %v", variables[:n], err)
		}
		env = required(map[string]string{variables[n]: ""})
		if _, err := parse(nil, env); !slices.Equal(missing(err), all[n:n+1]) {
			t.Errorf("without %s: %v", variables[n], err)
		}
	}
	_, err := parse(nil, map[string]string{"CLOUD_PROVIDER": "azure", "NETWORK_PLUGIN": "kubenet", "VNET_GUID": "one", "USE_SIG": "true"})
	for _, flag := range append(all, "network-plugin", "vnet-guid", "sig-subscription-id", "sig-access-token-server-url") {
		if err == nil || strings.Count(err.Error(), "--"+flag+" ") != 1 {
			t.Errorf("among several violations, --%s is not named once: %v", flag, err)
		}
	}
	if _, err := parse(nil, map[string]string{"CLOUD_PROVIDER": "kwok"}); err != nil {
		t.Errorf("another provider: %v", err)
	}
}

// TestVectors holds environments against the conformance vectors, and others of their kind.
//
// Source: Azure provider specification, conformance vectors.
func TestVectors(t *testing.T) {
	t.Attr("covers", "Z040 Z041 Z042 Z043 Z046")
	machines := map[string]string{"PROVISION_MODE": "aksmachineapi", "USE_SIG": "true", "SIG_SUBSCRIPTION_ID": "s", "AKS_MACHINES_POOL_NAME": "pool"}
	batches := maps.Clone(machines)
	batches["PROVISION_MODE"] = "aksmachineapiheaderbatch"
	with := func(base map[string]string, pairs ...string) map[string]string {
		out := maps.Clone(base)
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	some := map[string]string{}
	for _, test := range []struct {
		changes map[string]string
		flag    string // empty if the environment is accepted
	}{
		{some, ""},
		{with(some, "NETWORK_PLUGIN", "none"), "network-plugin-mode"},
		{with(some, "NETWORK_PLUGIN", "none", "NETWORK_PLUGIN_MODE", ""), ""},
		{with(some, "NETWORK_PLUGIN_MODE", ""), ""},
		{with(some, "NETWORK_PLUGIN", ""), "network-plugin"},
		{with(some, "NETWORK_PLUGIN", "kubenet"), "network-plugin"},
		{with(some, "NETWORK_PLUGIN_MODE", "transparent"), "network-plugin-mode"},
		{with(some, "NETWORK_DATAPLANE", "ebpf"), "network-dataplane"},
		{with(some, "NETWORK_DATAPLANE", ""), ""},
		{with(some, "CLUSTER_ENDPOINT", "one.example.com"), "cluster-endpoint"},
		{with(some, "VNET_SUBNET_ID", strings.TrimSuffix(subnet, "/subnets/n")), "vnet-subnet-id"},
		{with(some, "VNET_SUBNET_ID", strings.Replace(subnet, "Microsoft.Network", "Microsoft.Compute", 1)), "vnet-subnet-id"},
		{with(some, "VNET_SUBNET_ID", strings.ToLower(subnet)), ""},
		{with(some, "VNET_GUID", "one"), "vnet-guid"},
		{with(some, "KUBELET_IDENTITY_CLIENT_ID", uuid+"0"), "kubelet-identity-client-id"},
		{with(some, "DNS_SERVICE_IP", "10.0.0.256"), "dns-service-ip"},
		{with(some, "DNS_SERVICE_IP", "fe80::1%eth0"), "dns-service-ip"},
		{with(some, "LOCALDNS_MIN_KUBERNETES_VERSION", "1"), "localdns-min-kubernetes-version"},
		{with(some, "LOCALDNS_MIN_KUBERNETES_VERSION", "newest"), "localdns-min-kubernetes-version"},
		{with(some, "LOCALDNS_MIN_KUBERNETES_VERSION", "1.99.0"), ""},
		{with(some, "NODE_IDENTITIES", identity+",one"), "node-identities"},
		{with(some, "NODE_IDENTITIES", identity+","), "node-identities"},
		{with(some, "LINUX_ADMIN_USERNAME", "1abc"), "linux-admin-username"},
		{with(some, "LINUX_ADMIN_USERNAME", "a.b"), "linux-admin-username"},
		{with(some, "LINUX_ADMIN_USERNAME", "a"+strings.Repeat("-", 31)), ""},
		{with(some, "LINUX_ADMIN_USERNAME", "a"+strings.Repeat("-", 32)), "linux-admin-username"},
		{with(some, "VM_MEMORY_OVERHEAD_PERCENT", "abc"), "vm-memory-overhead-percent"},
		{with(some, "VM_MEMORY_OVERHEAD_PERCENT", "-0.1"), "vm-memory-overhead-percent"},
		{with(some, "PROVISION_MODE", "other"), "provision-mode"},
		{with(some, "PROVISION_MODE", "bootstrappingclient"), "nodebootstrapping-server-url"},
		{with(some, "PROVISION_MODE", "bootstrappingclient", "NODEBOOTSTRAPPING_SERVER_URL", "/path"), "nodebootstrapping-server-url"},
		{with(some, "PROVISION_MODE", "bootstrappingclient", "NODEBOOTSTRAPPING_SERVER_URL", "http://one"), ""},
		{with(some, "USE_SIG", "true", "SIG_ACCESS_TOKEN_SERVER_URL", "http://one"), "sig-subscription-id"},
		{with(some, "USE_SIG", "true", "SIG_SUBSCRIPTION_ID", "s"), "sig-access-token-server-url"},
		{with(some, "USE_SIG", "true", "SIG_SUBSCRIPTION_ID", "s", "SIG_ACCESS_TOKEN_SERVER_URL", "one"), "sig-access-token-server-url"},
		{with(some, "USE_SIG", "true", "SIG_SUBSCRIPTION_ID", "s", "SIG_ACCESS_TOKEN_SERVER_URL", "http://one"), ""},
		{machines, ""},
		{with(machines, "USE_SIG", "false"), "use-sig"},
		{with(machines, "SIG_SUBSCRIPTION_ID", ""), "sig-subscription-id"},
		{with(machines, "AKS_MACHINES_POOL_NAME", ""), "aks-machines-pool-name"},
		{with(some, "MANAGE_EXISTING_AKS_MACHINES", "true"), "aks-machines-pool-name"},
		{with(some, "MANAGE_EXISTING_AKS_MACHINES", "true", "AKS_MACHINES_POOL_NAME", "pool"), ""},
		{with(machines, "AKS_MACHINES_API_VERSION", "2026-04-01"), ""},
		{with(machines, "AKS_MACHINES_API_VERSION", "newest"), "aks-machines-api-version"},
		{with(some, "AKS_MACHINES_API_VERSION", "2026-04-01-"), "aks-machines-api-version"},
		{with(machines, "PROVIDER_BATCH_MAX_SIZE", "0"), ""},
		{batches, ""},
		{with(batches, "PROVIDER_BATCH_IDLE_DURATION", "-1s"), "provider-batch-idle-duration"},
		{with(batches, "PROVIDER_BATCH_IDLE_DURATION", "5s"), ""},
		{with(batches, "PROVIDER_BATCH_IDLE_DURATION", "6s"), "provider-batch-max-duration"},
		{with(batches, "PROVIDER_BATCH_IDLE_DURATION", "0s", "PROVIDER_BATCH_MAX_DURATION", "0s"), ""},
		{with(batches, "PROVIDER_BATCH_IDLE_DURATION", "0s", "PROVIDER_BATCH_MAX_DURATION", "-1s"), "provider-batch-max-duration"},
		{with(batches, "PROVIDER_BATCH_MAX_SIZE", "0"), "provider-batch-max-size"},
		{with(batches, "PROVIDER_BATCH_MAX_SIZE", "1"), ""},
		{with(batches, "PROVIDER_BATCH_MAX_SIZE", "51"), "provider-batch-max-size"},
	} {
		_, err := parse(nil, required(test.changes))
		switch {
		case test.flag == "" && err != nil, test.flag != "" && err == nil:
			t.Errorf("%v: %v", test.changes, err)
		case test.flag != "" && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "--"+test.flag)):
			t.Errorf("%v: want one error that names --%s: %v", test.changes, test.flag, err)
		}
	}
}

func TestDiskEncryptionSets(t *testing.T) {
	t.Attr("covers", "Z044")
	for id, ok := range map[string]bool{
		encryption:                  true,
		strings.ToUpper(encryption): true,
		strings.Replace(encryption, "/subscriptions", "/subscription", 1):              false,
		strings.Replace(encryption, "/subscriptions", "subscriptions", 1):              false,
		strings.Replace(encryption, "resourceGroups", "groups", 1):                     false,
		strings.Replace(encryption, "Microsoft.Compute", "Microsoft.Network", 1):       false,
		strings.Replace(encryption, "diskEncryptionSets", "disks", 1):                  false,
		strings.Replace(encryption, "/subscriptions/s/", "/subscriptions//", 1):        false,
		strings.Replace(encryption, "/resourceGroups/rg/", "/resourceGroups//", 1):     false,
		strings.TrimSuffix(encryption, "set"):                                          false,
		strings.TrimSuffix(encryption, "/set"):                                         false,
		encryption + "/":                                                               false,
		encryption + "/more":                                                           false,
		"/" + encryption:                                                               false,
		strings.Replace(encryption, "/providers/", "/provider/", 1):                    false,
		strings.Replace(encryption, "/subscriptions/s/", "/subscriptions/ /", 1):       false,
		strings.Replace(encryption, "diskEncryptionSets/set", "diskEncryptionSets", 1): false,
	} {
		if _, err := parse(nil, required(map[string]string{"NODE_OSDISK_DISKENCRYPTIONSET_ID": id})); (err == nil) != ok {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestTags(t *testing.T) {
	t.Attr("covers", "Z045")
	for _, test := range []struct {
		text string
		want settings.Tags // nil if the text is refused
	}{
		{"a=b", settings.Tags{"a": "b"}},
		{"a=b,c=d", settings.Tags{"a": "b", "c": "d"}},
		{" a = b , c = d ", settings.Tags{"a": "b", "c": "d"}},
		{"a=b=c", settings.Tags{"a": "b=c"}},
		{"a=", settings.Tags{"a": ""}},
		{strings.Repeat("ä", 512) + "=" + strings.Repeat("ö", 256), settings.Tags{strings.Repeat("ä", 512): strings.Repeat("ö", 256)}},
		{strings.Repeat("k", 513) + "=v", nil},
		{"k=" + strings.Repeat("v", 257), nil},
		{"Team=a,team=b", nil},
		{"Team=a,Team=a", nil},
		{"a", nil},
		{"=b", nil},
		{"a=b,c", nil},
		{"a<=b", nil},
		{"a>=b", nil},
		{"a%=b", nil},
		{"a&=b", nil},
		{`a\=b`, nil},
		{"a?=b", nil},
		{"a/b=c", nil},
		{"a=b/<>%&?", settings.Tags{"a": "b/<>%&?"}},
	} {
		onFlag, flagErr := parse([]string{"--additional-tags=" + test.text}, nil)
		inEnv, envErr := parse(nil, map[string]string{"ADDITIONAL_TAGS": test.text})
		if test.want == nil {
			if flagErr == nil || envErr == nil {
				t.Errorf("%q is accepted: %v, %v", test.text, flagErr, envErr)
			}
			continue
		}
		if flagErr != nil || envErr != nil || !maps.Equal(onFlag.AdditionalTags, test.want) || !maps.Equal(inEnv.AdditionalTags, test.want) {
			t.Errorf("%q: %v, %v and %v, %v", test.text, onFlag.AdditionalTags, flagErr, inEnv.AdditionalTags, envErr)
		}
		if again, err := settings.ParseTags(test.want.String()); err != nil || !maps.Equal(again, test.want) {
			t.Errorf("%q is rendered as %q", test.text, test.want)
		}
	}
}

// TestPublicSettings checks what may be shown of the settings, and that errors show no secrets.
func TestPublicSettings(t *testing.T) {
	t.Attr("covers", "Z244")
	secrets := []string{"kubelet-bootstrap-token", "linux-admin-username", "ssh-public-key", "nodebootstrapping-server-url", "sig-access-token-server-url"}
	got, err := parse(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	byDefault := map[string]string{}
	for _, s := range azureSettings() {
		if slices.Contains(secrets, s.flag) {
			continue
		}
		want = append(want, s.flag)
		again, err := parse([]string{"--" + s.flag + "=" + got.Public()[s.flag]}, nil)
		if diff := cmp.Diff(s.byDefault, s.got(again), cmp.Transformer("tags", settings.Tags.String), cmp.Transformer("ids", settings.IDs.String)); err != nil || diff != "" {
			t.Errorf("%s is not shown in the form that its flag reads: %v\n%s", s.flag, err, diff)
		}
		byDefault[s.flag] = got.Public()[s.flag]
	}
	slices.Sort(want)
	if shown := slices.Sorted(maps.Keys(got.Public())); !slices.Equal(shown, want) {
		t.Errorf("shown are %q, want %q", shown, want)
	}
	if byDefault["provision-mode"] != "aksscriptless" || byDefault["provider-batch-max-duration"] != "5s" || byDefault["network-plugin-mode"] != "overlay" {
		t.Errorf("shown are %v", byDefault)
	}
	for _, flag := range []string{"linux-admin-username", "nodebootstrapping-server-url", "sig-access-token-server-url"} {
		if _, err := parse([]string{"--" + flag + "=1secret"}, nil); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), flag) {
			t.Errorf("an invalid --%s: %v", flag, err)
		}
	}
}

func TestProvisionModes(t *testing.T) {
	for mode, machines := range map[settings.ProvisionMode]bool{
		settings.ModeScriptless: false, settings.ModeBootstrappingClient: false, settings.ModeAKSMachine: true, settings.ModeAKSMachineBatch: true,
	} {
		if mode.CreatesAKSMachines() != machines {
			t.Errorf("%s creates AKSMachines: %v", mode, !machines)
		}
		for _, existing := range []bool{true, false} {
			if s := (&settings.Settings{ProvisionMode: mode, ManageExistingAKSMachines: existing}); s.ManagesAKSMachines() != (machines || existing) {
				t.Errorf("%s with --manage-existing-aks-machines=%t manages AKSMachines: %v", mode, existing, s.ManagesAKSMachines())
			}
		}
	}
}
