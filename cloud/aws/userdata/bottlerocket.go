package userdata

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"
)

// Names of tables in Bottlerocket settings.
const (
	tableSettings   = "settings"
	tableKubernetes = "kubernetes"
	tableCommands   = "bootstrap-commands"

	// commandMountStorage is the boot command that combines the instance store volumes. It precedes all others.
	commandMountStorage = "000-mount-instance-storage"
)

// renderBottlerocket merges Karpenter's settings into the user's.
func renderBottlerocket(in *Input) (Result, error) {
	result, err := mergeSettings(in)
	if err != nil {
		return Result{}, fmt.Errorf("rendering user data of family %s: %w", in.Family, err)
	}
	return result, nil
}

func mergeSettings(in *Input) (Result, error) {
	var document map[string]any
	if err := toml.Unmarshal([]byte(in.Custom), &document); err != nil {
		return Result{}, fmt.Errorf("invalid UserData %w", err)
	}
	settings, err := table(document, tableSettings)
	if err != nil {
		return Result{}, err
	}
	kubernetes, err := table(settings, tableKubernetes)
	if err != nil {
		return Result{}, err
	}
	kubernetes, dropped := knownSettings(kubernetes)
	if err := in.override(kubernetes); err != nil {
		return Result{}, err
	}
	commands, err := in.bootCommands(settings)
	if err != nil {
		return Result{}, err
	}
	delete(settings, tableCommands)
	if len(commands) > 0 {
		settings[tableCommands] = commands
	}
	settings[tableKubernetes] = kubernetes
	text, err := toml.Marshal(map[string]any{tableSettings: settings})
	if err != nil {
		return Result{}, fmt.Errorf("encoding settings: %w", err)
	}
	return Result{Text: string(text), Dropped: dropped}, nil
}

// table is a copy of the table at a key, empty if it is missing.
func table(parent map[string]any, key string) (map[string]any, error) {
	switch child := parent[key].(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return maps.Clone(child), nil
	default:
		return nil, fmt.Errorf("invalid UserData: %s is not a table", key)
	}
}

// knownSettings splits the kubelet settings into known ones and the names of the others, sorted.
func knownSettings(kubernetes map[string]any) (map[string]any, []string) {
	var dropped []string
	known := settingNames()
	for _, key := range slices.Sorted(maps.Keys(kubernetes)) {
		if !slices.Contains(known, key) {
			dropped = append(dropped, key)
			delete(kubernetes, key)
		}
	}
	return kubernetes, dropped
}

// settingNames are the kubelet settings that Bottlerocket supports.
func settingNames() []string {
	return []string{
		"api-server", "cloud-provider", "cluster-certificate", "cluster-name", "cluster-dns-ip", "credential-providers", "node-labels", "node-taints",
		"max-pods", "static-pods", "eviction-hard", "eviction-soft", "eviction-soft-grace-period", "eviction-max-pod-grace-period", "kube-reserved",
		"system-reserved", "allowed-unsafe-sysctls", "server-tls-bootstrap", "registry-qps", "registry-burst", "event-qps", "event-burst", "kube-api-qps",
		"kube-api-burst", "container-log-max-size", "container-log-max-files", "container-log-max-workers", "container-log-monitor-interval",
		"cpu-manager-policy", "cpu-manager-policy-options", "cpu-manager-reconcile-period", "memory-manager-policy", "memory-manager-reserved-memory",
		"topology-manager-scope", "topology-manager-policy", "topology-manager-policy-options", "image-gc-high-threshold-percent",
		"image-gc-low-threshold-percent", "ids-per-pod", "cpu-cfs-quota-enforced", "shutdown-grace-period", "shutdown-grace-period-for-critical-pods",
		"cluster-domain", "seccomp-default", "pod-pids-limit", "device-ownership-from-security-context", "single-process-oom-kill",
		"hostname-override-source", "log-level",
	}
}

// override writes the settings that Karpenter controls.
func (in *Input) override(kubernetes map[string]any) error {
	labels, err := table(kubernetes, "node-labels")
	if err != nil {
		return err
	}
	for key, value := range in.Labels {
		labels[key] = value
	}
	k := in.Kubelet
	for _, setting := range []struct {
		name  string
		value any
		set   bool
	}{
		{"cluster-name", in.ClusterName, true},
		{"api-server", in.Endpoint, true},
		{"cluster-certificate", in.CABundle, in.CABundle != ""},
		{"cluster-dns-ip", in.firstDNS(), in.firstDNS() != ""},
		{"node-labels", labels, len(labels) > 0},
		{"max-pods", in.MaxPods, in.MaxPods != nil},
		{"system-reserved", k.SystemReserved, len(k.SystemReserved) > 0},
		{"kube-reserved", k.KubeReserved, len(k.KubeReserved) > 0},
		{"eviction-hard", k.EvictionHard, len(k.EvictionHard) > 0},
		{"eviction-soft", k.EvictionSoft, len(k.EvictionSoft) > 0},
		{"eviction-soft-grace-period", durations(k.EvictionSoftGracePeriod), len(k.EvictionSoftGracePeriod) > 0},
		{"eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod, k.EvictionMaxPodGracePeriod != nil},
		{"image-gc-high-threshold-percent", decimal(k.ImageGCHighThresholdPercent), k.ImageGCHighThresholdPercent != nil},
		{"image-gc-low-threshold-percent", decimal(k.ImageGCLowThresholdPercent), k.ImageGCLowThresholdPercent != nil},
		{"cpu-cfs-quota-enforced", k.CPUCFSQuota, k.CPUCFSQuota != nil},
	} {
		if setting.set {
			kubernetes[setting.name] = setting.value
		}
	}
	delete(kubernetes, "node-taints")
	if len(in.Taints) > 0 {
		kubernetes["node-taints"] = taintSettings(in.Taints)
	}
	return nil
}

// decimal is a number as text; empty for none.
func decimal(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// taintSettings are taints by their keys.
func taintSettings(taints []corev1.Taint) map[string][]string {
	out := map[string][]string{}
	for _, taint := range taints {
		out[taint.Key] = append(out[taint.Key], taint.Value+":"+string(taint.Effect))
	}
	return out
}

// bootCommand is an entry of the boot commands table.
type bootCommand struct {
	Commands [][]string `toml:"commands"`
	// Mode is omitted where the user omits it: Bottlerocket rejects an empty one.
	Mode      string `toml:"mode,omitempty"`
	Essential bool   `toml:"essential"`
}

// bootCommands are the user's commands and, if instance store volumes are used, the one that combines them.
func (in *Input) bootCommands(settings map[string]any) (map[string]bootCommand, error) {
	out := map[string]bootCommand{}
	if written, ok := settings[tableCommands]; ok {
		text, err := toml.Marshal(map[string]any{tableCommands: written})
		if err != nil {
			return nil, fmt.Errorf("invalid UserData: %s: %w", tableCommands, err)
		}
		var decoded struct {
			Commands map[string]bootCommand `toml:"bootstrap-commands"`
		}
		if err := toml.Unmarshal(text, &decoded); err != nil {
			return nil, fmt.Errorf("invalid UserData: %s: %w", tableCommands, err)
		}
		maps.Copy(out, decoded.Commands)
	}
	if in.RAID0 {
		bind := []string{"apiclient", "ephemeral-storage", "bind"}
		if !bindsByDefault(in.BottlerocketVersion) {
			bind = append(bind, "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")
		}
		out[commandMountStorage] = bootCommand{
			Commands: [][]string{{"apiclient", "ephemeral-storage", "init"}, bind}, Mode: "always", Essential: true,
		}
	}
	return out, nil
}
