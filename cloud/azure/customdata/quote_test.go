package customdata_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
)

// texts are the values of an input that are any text, by the variable that has them.
func texts(in *customdata.Input) map[string]*string {
	c := &in.Cluster
	return map[string]*string{
		"ADMINUSER": &c.AdminUser, "TENANT_ID": &c.TenantID, "SUBSCRIPTION_ID": &c.SubscriptionID, "RESOURCE_GROUP": &c.NodeResourceGroup,
		"LOCATION": &c.Location, "TARGET_CLOUD": &c.Environment, "TARGET_ENVIRONMENT": &c.Environment, "KUBE_CA_CRT": &c.CABundle,
		"TLS_BOOTSTRAP_TOKEN": &c.BootstrapToken, "NETWORK_POLICY": &c.NetworkPolicy, "SUBNET": &in.Subnet.Name,
		"VIRTUAL_NETWORK": &in.Subnet.VirtualNetwork, "VIRTUAL_NETWORK_RESOURCE_GROUP": &in.Subnet.ResourceGroup,
	}
}

// TestQuotes checks that a shell reads each value as it is.
func TestQuotes(t *testing.T) {
	var all []string
	for r := ' '; r <= '~'; r++ {
		all = append(all, "a"+string(r)+"b")
	}
	for _, text := range append(all,
		"", " ", "a b", "MC_rg(test)", "'", `"`, `\`, `a\`, "$HOME", "${HOME}", "$(echo ran >&2)", "`echo ran >&2`", "; echo ran", "& echo ran", "| echo ran", "#a", "~", "~root", "!!",
		"*", "[a-z]", "{a,b}", "<x", ">x", "é", "a=b", "-n", `'"'"'$(echo ran)`, "a;echo ran;\\'\"`", "\\$(echo ran)", "\\\\`echo ran`",
	) {
		in := input(func(in *customdata.Input) {
			in.Cluster.Network.Mode = "" // the subnet is no label, which cannot be any text
			for _, value := range texts(in) {
				*value = text
			}
			in.Launch.Claim.Labels = map[string]string{aks + "cluster": "c"} // nor is the resource group
		})
		want := map[string]string{}
		for name, value := range texts(&in) {
			want[name] = *value
		}
		expect(t, "variable", evaluate(t, script(t, in)), want)
	}
}

// TestRefused checks that custom data is an error for values that it cannot have.
func TestRefused(t *testing.T) {
	taint := func(key, value string, effect corev1.TaintEffect) func(*customdata.Input) {
		return func(in *customdata.Input) {
			in.Launch.Claim.Spec.StartupTaints = []corev1.Taint{{Key: key, Value: value, Effect: effect}}
		}
	}
	labels := func(key, value string) func(*customdata.Input) {
		return func(in *customdata.Input) { in.Launch.Claim.Labels = map[string]string{key: value} }
	}
	sysctl := func(value string) func(*customdata.Input) {
		text, err := json.Marshal(map[string]any{"kubelet": map[string]any{"allowedUnsafeSysctls": []string{value}}})
		if err != nil {
			t.Fatal(err)
		}
		return spec(t, string(text))
	}
	for name, test := range map[string]struct {
		change func(*customdata.Input)
		want   string
	}{
		"a line":                     {func(in *customdata.Input) { in.Cluster.BootstrapToken = "a\nb" }, "TLS_BOOTSTRAP_TOKEN"},
		"a zero byte":                {func(in *customdata.Input) { in.Cluster.AdminUser = "a\x00b" }, "ADMINUSER"},
		"no UTF-8":                   {func(in *customdata.Input) { in.Cluster.AdminUser = "a\xffb" }, "ADMINUSER"},
		"a version":                  {kubernetes("latest"), "parsing the kubernetes version"},
		"an endpoint without a host": {func(in *customdata.Input) { in.Cluster.Endpoint = "cluster:443" }, "has no host"},
		"an endpoint":                {func(in *customdata.Input) { in.Cluster.Endpoint = "https://%zz" }, "parsing the endpoint"},
		"a security group":           {func(in *customdata.Input) { in.Cluster.NetworkSecurityGroup = "aks-agentpool-1234-nsg" }, "network security group"},
		"a key of a label":           {labels("a b", "c"), "is not a label"},
		"a value of a label":         {labels("a", "$(b)"), "is not a label"},
		"a long subnet":              {func(in *customdata.Input) { in.Subnet.Name = strings.Repeat("a", 64) }, "is not a label"},
		"a key of a taint":           {taint("a b", "c", corev1.TaintEffectNoSchedule), "is not a taint"},
		"a value of a taint":         {taint("a", "b,c", corev1.TaintEffectNoSchedule), "is not a taint"},
		"an effect of a taint":       {taint("a", "b", "Never"), "effect"},
		"a blank in a flag":          {sysctl("kernel.msg* --anonymous-auth=true"), "allowed-unsafe-sysctls"},
		"a command in a flag":        {sysctl("$(a)"), "allowed-unsafe-sysctls"},
		"two sysctls":                {sysctl("a,b"), "is not a sysctl"},
		"an empty sysctl":            {sysctl(""), "is not a sysctl"},
		"an address":                 {func(in *customdata.Input) { in.Cluster.DNSServiceIP = "10.0.0.10 --v=9" }, "--cluster-dns"},
	} {
		in := input(test.change)
		in.Launch.Claim.Name = "claim"
		got, err := customdata.Render(in)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `nodeclaim "claim"`) {
			t.Errorf("%s: got the error %v and %q, want %q", name, err, got, test.want)
		}
	}
}

// TestTooLarge checks the limit, to the byte.
func TestTooLarge(t *testing.T) {
	in := input()
	in.Cluster.CABundle = ""
	room := customdata.MaxBytes - len(script(t, in))
	in.Cluster.CABundle = strings.Repeat("a", room)
	if got := len(script(t, in)); got != 65535 {
		t.Errorf("the script has %d bytes", got)
	}
	in.Cluster.CABundle += "a"
	if got, err := customdata.Render(in); !errors.Is(err, customdata.ErrTooLarge) || got != "" {
		t.Errorf("got the error %v and %d bytes", err, len(got))
	}
}

// FuzzRender checks that no value of a class or a NodeClaim becomes a command, another variable, flag or label: custom data is an error, or a
// shell reads each variable as it is.
func FuzzRender(f *testing.F) {
	for _, text := range []string{"static", "10Mi", "kernel.msg*", "a b", "$(echo ran)", "`echo ran`", `"; echo ran; "`, "'; echo ran; '", "a\necho ran", "a,b=c", "a --v=9", `\`, "example.com/x", "\x00", "\xff"} {
		f.Add(text, text, "1.33.4")
		f.Add("x", text, text)
		f.Add(text, "x", "1.33.4 "+text)
	}
	f.Fuzz(func(t *testing.T, key, value, version string) {
		for place, change := range places(key, value) {
			in := input(kubernetes(version))
			change(&in)
			data, err := customdata.Render(in)
			if err != nil {
				continue
			}
			raw, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				t.Fatal(err)
			}
			text := string(raw)
			values := evaluate(t, text)
			got, want := names(assignments(t, text)), names(assignments(t, script(t, input())))
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("%s: the variables are %q", place, got)
			}
			expect(t, place+": variable", values, map[string]string{"KUBERNETES_VERSION": version, "TLS_BOOTSTRAP_TOKEN": "abcdef.0123456789abcdef"})
			checkFlags(t, place, flags(t, values))
			wanted, err := customdata.NodeLabels(in)
			if err != nil {
				t.Fatal(err)
			}
			if registered := labels(t, values); !maps.Equal(registered, wanted) {
				t.Errorf("%s: the labels are %q, want %q", place, registered, wanted)
			}
		}
	})
}

// places are where texts of a class or a NodeClaim get into custom data.
func places(key, value string) map[string]func(*customdata.Input) {
	kubelet := func(text map[string]any) func(*customdata.Input) {
		return func(in *customdata.Input) {
			raw, err := json.Marshal(map[string]any{"kubelet": text})
			if err == nil {
				err = json.Unmarshal(raw, &in.Class.Spec)
			}
			if err != nil {
				panic(err)
			}
		}
	}
	return map[string]func(*customdata.Input){
		"sysctls":  kubelet(map[string]any{"allowedUnsafeSysctls": []string{key, value}}),
		"CPUs":     kubelet(map[string]any{"cpuManagerPolicy": value}),
		"topology": kubelet(map[string]any{"topologyManagerPolicy": value}),
		"log size": kubelet(map[string]any{"containerLogMaxSize": value}),
		"family":   func(in *customdata.Input) { in.Class.Spec.ImageFamily = &value },
		"labels":   func(in *customdata.Input) { in.Launch.Claim.Labels = map[string]string{key: value} },
		"subnet": func(in *customdata.Input) {
			in.Subnet = customdata.Subnet{ResourceGroup: key, VirtualNetwork: value, Name: value}
		},
		"no labels": func(in *customdata.Input) { in.Cluster.Network.Mode, in.Subnet.Name = "", value },
		"taints": func(in *customdata.Input) {
			in.Launch.Claim.Spec.Taints = []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}}
		},
		"effect": func(in *customdata.Input) {
			in.Launch.Claim.Spec.StartupTaints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffect(value)}}
		},
		"requirements": func(in *customdata.Input) {
			in.Launch.Claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{cloud.In(key, value)}
		},
		"instance type": func(in *customdata.Input) {
			in.Launch.InstanceType = []v1.NodeSelectorRequirementWithMinValues{cloud.In(key, value)}
		},
	}
}

// checkFlags checks that a value did not become another flag.
func checkFlags(t *testing.T, place string, got map[string]string) {
	t.Helper()
	known := strings.Fields(`address anonymous-auth authentication-token-webhook authorization-mode cgroups-per-qos enforce-node-allocatable
		protect-kernel-defaults client-ca-file tls-cert-file tls-private-key-file cloud-provider cloud-config cluster-dns cluster-domain event-qps
		read-only-port pod-max-pids eviction-hard image-gc-high-threshold image-gc-low-threshold kubeconfig pod-manifest-path resolv-conf max-pods
		node-status-update-frequency streaming-connection-idle-timeout pod-infra-container-image rotate-certificates tls-cipher-suites
		keep-terminated-pod-volumes image-credential-provider-config image-credential-provider-bin-dir feature-gates azure-container-registry-config
		register-with-taints kube-reserved system-reserved cpu-cfs-quota cpu-manager-policy topology-manager-policy container-log-max-size
		container-log-max-files allowed-unsafe-sysctls`)
	unknown := maps.Clone(got)
	for _, name := range known {
		delete(unknown, name)
	}
	if len(unknown) > 0 {
		t.Errorf("%s: unknown flags %q", place, unknown)
	}
	expect(t, place+": flag", got, map[string]string{"anonymous-auth": "false", "cluster-dns": "10.0.0.10", "authorization-mode": "Webhook"})
}
