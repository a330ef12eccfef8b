package customdata_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
)

// TestFlags pins all flags of a node with a class without a kubelet block.
func TestFlags(t *testing.T) {
	want := map[string]string{
		"address": "0.0.0.0", "anonymous-auth": "false", "authentication-token-webhook": "true", "authorization-mode": "Webhook",
		"cgroups-per-qos": "true", "enforce-node-allocatable": "pods", "protect-kernel-defaults": "true",
		"client-ca-file": "/etc/kubernetes/certs/ca.crt", "tls-cert-file": "/etc/kubernetes/certs/kubeletserver.crt",
		"tls-private-key-file": "/etc/kubernetes/certs/kubeletserver.key", "cloud-provider": "external", "cloud-config": "/etc/kubernetes/azure.json",
		"cluster-dns": "10.0.0.10", "cluster-domain": "cluster.local", "event-qps": "0", "read-only-port": "0", "pod-max-pids": "-1",
		"eviction-hard": "memory.available<750Mi", "image-gc-high-threshold": "85", "image-gc-low-threshold": "80",
		"kubeconfig": "/var/lib/kubelet/kubeconfig", "pod-manifest-path": "/etc/kubernetes/manifests", "resolv-conf": "/run/systemd/resolve/resolv.conf",
		"max-pods": "250", "node-status-update-frequency": "10s", "streaming-connection-idle-timeout": "4h",
		"pod-infra-container-image": "mcr.microsoft.com/oss/kubernetes/pause:3.6", "rotate-certificates": "true",
		"tls-cipher-suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256," +
			"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384," +
			"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305," +
			"TLS_RSA_WITH_AES_256_GCM_SHA384,TLS_RSA_WITH_AES_128_GCM_SHA256",
		"image-credential-provider-config":  "/var/lib/kubelet/credential-provider-config.yaml",
		"image-credential-provider-bin-dir": "/var/lib/kubelet/credential-provider",
		"register-with-taints":              "karpenter.sh/unregistered:NoExecute", "kube-reserved": "cpu=100m,memory=1843Mi", "system-reserved": "cpu=0,memory=0",
	}
	if diff := cmp.Diff(want, flags(t, evaluate(t, script(t, input())))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestClassFlags checks what a class changes.
func TestClassFlags(t *testing.T) {
	in := input(spec(t, `{"maxPods": 42, "kubelet": {"imageGCHighThresholdPercent": 90, "imageGCLowThresholdPercent": 70, "cpuCFSQuota": false,
		"cpuManagerPolicy": "static", "topologyManagerPolicy": "best-effort", "containerLogMaxSize": "10Mi", "containerLogMaxFiles": 3,
		"podPidsLimit": 1000, "allowedUnsafeSysctls": ["kernel.msg*", "net.core.somaxconn"]}}`))
	expect(t, "flag", flags(t, evaluate(t, script(t, in))), map[string]string{
		"max-pods": "42", "image-gc-high-threshold": "90", "image-gc-low-threshold": "70", "cpu-cfs-quota": "false", "cpu-manager-policy": "static",
		"topology-manager-policy": "best-effort", "container-log-max-size": "10Mi", "container-log-max-files": "3", "pod-max-pids": "1000",
		"allowed-unsafe-sysctls": "kernel.msg*,net.core.somaxconn",
	})
	unset := flags(t, evaluate(t, script(t, input(spec(t, `{"kubelet": {}}`)))))
	expect(t, "flag", unset, map[string]string{
		"image-gc-high-threshold": "85", "image-gc-low-threshold": "80", "cpu-cfs-quota": absent, "cpu-manager-policy": absent,
		"topology-manager-policy": absent, "container-log-max-size": absent, "container-log-max-files": absent, "pod-max-pids": "-1",
		"allowed-unsafe-sysctls": absent,
	})
}

// TestReservedUnits checks that amounts keep their unit, and are what a reader of quantities takes them for.
func TestReservedUnits(t *testing.T) {
	t.Attr("covers", "Z239")
	for _, test := range []struct {
		vcpus                        int64
		gib                          float64
		cpu, memory, canonicalMemory string
	}{
		{2, 8, "100m", "1843Mi", "1843Mi"},
		{4, 7, "140m", "1638Mi", "1638Mi"},
		{3, 64, "120m", "5611Mi", "5611Mi"},
		// A quantity would be written as 17Gi and 1.
		{90, 512, "1000m", "17408Mi", "17Gi"},
	} {
		in := input(func(in *customdata.Input) { in.SKU.VCPUs, in.SKU.MemoryGiB = test.vcpus, test.gib })
		expect(t, "flag", flags(t, evaluate(t, script(t, in))), map[string]string{"kube-reserved": "cpu=" + test.cpu + ",memory=" + test.memory})
		memory, canonical := resource.MustParse(test.memory), resource.MustParse(test.canonicalMemory)
		if memory.Cmp(canonical) != 0 {
			t.Errorf("%s is %s", test.memory, memory.String())
		}
	}
}

// TestTaintsOnce checks that each taint is there once, whichever list it is in.
func TestTaintsOnce(t *testing.T) {
	t.Attr("covers", "Z164 Z240")
	start := corev1.Taint{Key: "start", Effect: corev1.TaintEffectNoSchedule}
	for name, test := range map[string]struct {
		taints, startup []corev1.Taint
		want            string
	}{
		"none":                        {nil, nil, "karpenter.sh/unregistered:NoExecute"},
		"startup taint":               {nil, []corev1.Taint{start}, "start:NoSchedule,karpenter.sh/unregistered:NoExecute"},
		"in both lists":               {[]corev1.Taint{start}, []corev1.Taint{start}, "start:NoSchedule,karpenter.sh/unregistered:NoExecute"},
		"unregistered is in the list": {[]corev1.Taint{v1.UnregisteredNoExecuteTaint()}, []corev1.Taint{start}, "karpenter.sh/unregistered:NoExecute,start:NoSchedule"},
		"another effect": {
			[]corev1.Taint{start},
			[]corev1.Taint{{Key: "start", Value: "example.com/x", Effect: corev1.TaintEffectNoExecute}},
			"start:NoSchedule,start=example.com/x:NoExecute,karpenter.sh/unregistered:NoExecute",
		},
	} {
		in := input(func(in *customdata.Input) {
			in.Launch.Claim.Spec.Taints, in.Launch.Claim.Spec.StartupTaints = test.taints, test.startup
		})
		if got := flags(t, evaluate(t, script(t, in)))["register-with-taints"]; got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

// containerd is the configuration of containerd.
func containerd(t *testing.T, values map[string]string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := toml.Unmarshal([]byte(decoded(t, values["CONTAINERD_CONFIG_CONTENT"])), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// runtimeOf is the name of the default runtime of containerd.
func runtimeOf(t *testing.T, values map[string]string) string {
	t.Helper()
	plugins, _ := containerd(t, values)["plugins"].(map[string]any)
	cri, _ := plugins["io.containerd.grpc.v1.cri"].(map[string]any)
	section, _ := cri["containerd"].(map[string]any)
	name, _ := section["default_runtime_name"].(string)
	return name
}

func TestContainerd(t *testing.T) {
	t.Attr("covers", "Z165")
	for sku, name := range map[string]string{"Standard_D2s_v3": "runc", "Standard_NC24ads_A100_v4": "nvidia-container-runtime"} {
		runtime := map[string]any{
			"runtime_type": "io.containerd.runc.v2", "options": map[string]any{"BinaryName": "/usr/bin/" + name, "SystemdCgroup": true},
		}
		want := map[string]any{
			"version": int64(2), "oom_score": int64(0), "metrics": map[string]any{"address": "0.0.0.0:10257"},
			"plugins": map[string]any{"io.containerd.grpc.v1.cri": map[string]any{
				"sandbox_image": "mcr.microsoft.com/oss/kubernetes/pause:3.6",
				"containerd":    map[string]any{"default_runtime_name": name, "runtimes": map[string]any{name: runtime, "untrusted": runtime}},
				"registry": map[string]any{
					"config_path": "/etc/containerd/certs.d", "headers": map[string]any{"X-Meta-Source-Client": []any{"azure/aks"}},
				},
			}},
		}
		if diff := cmp.Diff(want, containerd(t, evaluate(t, script(t, input(size(sku, "amd64")))))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", sku, diff)
		}
	}
}
