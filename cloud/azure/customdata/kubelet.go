package customdata

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
)

// Minor versions of Kubernetes 1 with which flags of the kubelet come and go.
const (
	minorOfCredentialProvider = 30 // from here on, a program outside the kubelet has the credentials of registries
	minorOfNoTerminatedVolume = 31 // --keep-terminated-pod-volumes is gone
	minorOfNoCloudConfig      = 34 // --cloud-config is gone, and so are the binaries of Kubernetes outside images
	minorOfNoInfraImage       = 35 // --pod-infra-container-image is gone
)

const (
	pauseImage = "mcr.microsoft.com/oss/kubernetes/pause:3.6"
	// azureConfig is the configuration of the cloud provider on the node.
	azureConfig = "/etc/kubernetes/azure.json"
	mebibyte    = 1 << 20
)

// kubeletFlags are the flags of the kubelet in the order of their names.
func (in *Input) kubeletFlags(kubernetes release) (string, error) {
	flags := in.baseFlags()
	taints, err := TaintTexts(Taints(in.Launch.Claim))
	if err != nil {
		return "", err
	}
	flags["register-with-taints"] = strings.Join(taints, ",")
	if err := in.classFlags(flags); err != nil {
		return "", err
	}
	if !kubernetes.from(minorOfNoCloudConfig) {
		flags["cloud-config"] = azureConfig
	}
	if !kubernetes.from(minorOfNoInfraImage) {
		flags["pod-infra-container-image"] = pauseImage
	}
	if !kubernetes.from(minorOfNoTerminatedVolume) {
		flags["keep-terminated-pod-volumes"] = "false"
	}
	if kubernetes.from(minorOfCredentialProvider) {
		flags["image-credential-provider-config"] = "/var/lib/kubelet/credential-provider-config.yaml"
		flags["image-credential-provider-bin-dir"] = "/var/lib/kubelet/credential-provider"
	} else {
		flags["feature-gates"] = "DisableKubeletCloudCredentialProviders=false"
		flags["azure-container-registry-config"] = azureConfig
	}
	var out []string
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if err := flagValue(flags[name]); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", name, err))
		}
		out = append(out, "--"+name+"="+flags[name])
	}
	return strings.Join(out, " "), errors.Join(errs...)
}

// baseFlags are the flags that all nodes have.
func (in *Input) baseFlags() map[string]string {
	return map[string]string{
		"address":                           "0.0.0.0",
		"anonymous-auth":                    "false",
		"authentication-token-webhook":      "true",
		"authorization-mode":                "Webhook",
		"cgroups-per-qos":                   "true",
		"client-ca-file":                    "/etc/kubernetes/certs/ca.crt",
		"cloud-provider":                    "external",
		"cluster-dns":                       in.Cluster.DNSServiceIP,
		"cluster-domain":                    "cluster.local",
		"enforce-node-allocatable":          "pods",
		"event-qps":                         "0",
		"eviction-hard":                     "memory.available<750Mi",
		"image-gc-high-threshold":           "85",
		"image-gc-low-threshold":            "80",
		"kube-reserved":                     in.kubeReserved(),
		"kubeconfig":                        "/var/lib/kubelet/kubeconfig",
		"max-pods":                          number(instancetype.ClassOf(in.Class, in.Cluster.Network).MaxPods),
		"node-status-update-frequency":      "10s",
		"pod-manifest-path":                 "/etc/kubernetes/manifests",
		"pod-max-pids":                      "-1",
		"protect-kernel-defaults":           "true",
		"read-only-port":                    "0",
		"resolv-conf":                       "/run/systemd/resolve/resolv.conf",
		"rotate-certificates":               "true",
		"streaming-connection-idle-timeout": "4h",
		"system-reserved":                   "cpu=0,memory=0",
		"tls-cert-file":                     "/etc/kubernetes/certs/kubeletserver.crt",
		"tls-cipher-suites":                 cipherSuites(),
		"tls-private-key-file":              "/etc/kubernetes/certs/kubeletserver.key",
	}
}

// kubeReserved is what is reserved for the kubelet and the container runtime, in milli-CPUs and MiB.
func (in *Input) kubeReserved() string {
	cpu, memory := instancetype.ReservedCPU(in.SKU.VCPUs), instancetype.ReservedMemory(in.SKU.MemoryGiB)
	return fmt.Sprintf("cpu=%dm,memory=%dMi", cpu.MilliValue(), memory.Value()/mebibyte)
}

// cipherSuites are those with which the kubelet serves.
func cipherSuites() string {
	var out []string
	for _, cipher := range []string{"AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305"} {
		out = append(out, "TLS_ECDHE_ECDSA_WITH_"+cipher, "TLS_ECDHE_RSA_WITH_"+cipher)
	}
	return strings.Join(append(out, "TLS_RSA_WITH_AES_256_GCM_SHA384", "TLS_RSA_WITH_AES_128_GCM_SHA256"), ",")
}

// classFlags adds the flags that the class sets.
func (in *Input) classFlags(flags map[string]string) error {
	k := in.Class.Spec.Kubelet
	if k == nil {
		return nil
	}
	for name, value := range map[string]*int32{
		"image-gc-high-threshold": k.ImageGCHighThresholdPercent,
		"image-gc-low-threshold":  k.ImageGCLowThresholdPercent,
		"container-log-max-files": k.ContainerLogMaxFiles,
	} {
		if value != nil {
			flags[name] = number(*value)
		}
	}
	for name, value := range map[string]string{
		"cpu-manager-policy":      k.CPUManagerPolicy,
		"topology-manager-policy": k.TopologyManagerPolicy,
		"container-log-max-size":  k.ContainerLogMaxSize,
		"allowed-unsafe-sysctls":  strings.Join(k.AllowedUnsafeSysctls, ","),
	} {
		if value != "" {
			flags[name] = value
		}
	}
	if k.CPUCFSQuota != nil {
		flags["cpu-cfs-quota"] = strconv.FormatBool(*k.CPUCFSQuota)
	}
	if k.PodPidsLimit != nil {
		flags["pod-max-pids"] = number(*k.PodPidsLimit)
	}
	if invalid := in.Class.InvalidSysctls(); len(invalid) > 0 {
		return fmt.Errorf("--allowed-unsafe-sysctls: %q is not a sysctl", invalid[0])
	}
	return nil
}

// Taints are the taints with which the kubelet registers its node: those of the NodeClaim, its startup taints, and the one that repels pods
// until the node is registered. The kubelet refuses a key and effect that it gets twice: the first one counts.
func Taints(claim *v1.NodeClaim) []corev1.Taint {
	var out []corev1.Taint
	for _, taint := range slices.Concat(claim.Spec.Taints, claim.Spec.StartupTaints, []corev1.Taint{v1.UnregisteredNoExecuteTaint()}) {
		if !slices.ContainsFunc(out, func(other corev1.Taint) bool { return other.MatchTaint(&taint) }) {
			out = append(out, taint)
		}
	}
	return out
}

// TaintTexts writes taints as key=value:Effect. An error names one that the kubelet does not accept.
func TaintTexts(taints []corev1.Taint) ([]string, error) {
	var out []string
	for _, taint := range taints {
		if err := v1.ValidateNodeTaint(taint); err != nil {
			return nil, err
		}
		text := taint.Key
		if taint.Value != "" {
			text += "=" + taint.Value
		}
		out = append(out, text+":"+string(taint.Effect))
	}
	return out, nil
}

func number[T int32 | int64](n T) string { return strconv.FormatInt(int64(n), 10) }
