package firstboot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"
)

// bottlerocket are the Kubernetes settings of Bottlerocket. It rejects others and does not boot.
type bottlerocket struct {
	Settings struct {
		Kubernetes struct {
			APIServer                 string              `toml:"api-server"`
			ClusterCertificate        string              `toml:"cluster-certificate"`
			ClusterName               string              `toml:"cluster-name"`
			ClusterDNSIP              any                 `toml:"cluster-dns-ip"`
			NodeLabels                map[string]string   `toml:"node-labels"`
			NodeTaints                map[string][]string `toml:"node-taints"`
			MaxPods                   int64               `toml:"max-pods"`
			SystemReserved            map[string]string   `toml:"system-reserved"`
			KubeReserved              map[string]string   `toml:"kube-reserved"`
			EvictionHard              map[string]string   `toml:"eviction-hard"`
			EvictionSoft              map[string]string   `toml:"eviction-soft"`
			EvictionSoftGracePeriod   map[string]string   `toml:"eviction-soft-grace-period"`
			EvictionMaxPodGracePeriod int64               `toml:"eviction-max-pod-grace-period"`
			ImageGCHigh               string              `toml:"image-gc-high-threshold-percent"`
			ImageGCLow                string              `toml:"image-gc-low-threshold-percent"`
			CPUCFSQuotaEnforced       bool                `toml:"cpu-cfs-quota-enforced"`
		} `toml:"kubernetes"`
		Commands map[string]struct {
			Commands  [][]string `toml:"commands"`
			Mode      *string    `toml:"mode"`
			Essential bool       `toml:"essential"`
		} `toml:"bootstrap-commands"`
	} `toml:"settings"`
}

// alsoKnown are further Kubernetes settings, which are not visible on a node.
const alsoKnown = " cloud-provider credential-providers static-pods allowed-unsafe-sysctls server-tls-bootstrap registry-qps registry-burst " +
	"event-qps event-burst kube-api-qps kube-api-burst container-log-max-size container-log-max-files container-log-max-workers " +
	"container-log-monitor-interval cpu-manager-policy cpu-manager-policy-options cpu-manager-reconcile-period memory-manager-policy " +
	"memory-manager-reserved-memory topology-manager-scope topology-manager-policy topology-manager-policy-options ids-per-pod " +
	"shutdown-grace-period shutdown-grace-period-for-critical-pods cluster-domain seccomp-default pod-pids-limit " +
	"device-ownership-from-security-context single-process-oom-kill hostname-override-source log-level " +
	"api-server cluster-certificate cluster-name cluster-dns-ip node-labels node-taints max-pods system-reserved kube-reserved eviction-hard " +
	"eviction-soft eviction-soft-grace-period eviction-max-pod-grace-period image-gc-high-threshold-percent image-gc-low-threshold-percent " +
	"cpu-cfs-quota-enforced "

// readBottlerocket reads settings. It records the user's settings outside of the Kubernetes table by their path.
func readBottlerocket(userData string) (Settings, error) {
	var d bottlerocket
	var raw map[string]map[string]any
	if err := toml.Unmarshal([]byte(userData), &raw); err != nil {
		return Settings{}, fmt.Errorf("parsing settings: %w", err)
	}
	if err := toml.Unmarshal([]byte(userData), &d); err != nil {
		return Settings{}, fmt.Errorf("parsing settings: %w", err)
	}
	known, _ := raw["settings"]["kubernetes"].(map[string]any)
	for key := range known {
		if !strings.Contains(alsoKnown, " "+key+" ") {
			return Settings{}, fmt.Errorf("unknown setting settings.kubernetes.%s", key)
		}
	}
	k := d.Settings.Kubernetes
	if k.ClusterName == "" && k.APIServer == "" {
		return Settings{}, errNoJoin
	}
	if k.APIServer == "" || k.ClusterCertificate == "" {
		return Settings{}, errors.New("settings.kubernetes has to have api-server and cluster-certificate")
	}
	s := Settings{
		Cluster: k.ClusterName, Endpoint: k.APIServer, Authority: k.ClusterCertificate, Labels: k.NodeLabels, MaxPods: k.MaxPods,
		SystemReserved: k.SystemReserved, KubeReserved: k.KubeReserved, EvictionHard: k.EvictionHard,
	}
	switch dns := k.ClusterDNSIP.(type) {
	case nil:
	case string:
		s.DNS = dns
	default:
		return Settings{}, fmt.Errorf("settings.kubernetes.cluster-dns-ip is %v", dns)
	}
	s.IPv6 = strings.Contains(s.DNS, ":")
	for key, values := range k.NodeTaints {
		for _, value := range values {
			at := strings.LastIndex(value, ":")
			if at < 0 {
				return Settings{}, fmt.Errorf("settings.kubernetes.node-taints: %q is no value and effect", value)
			}
			s.Taints = append(s.Taints, corev1.Taint{Key: key, Value: value[:at], Effect: corev1.TaintEffect(value[at+1:])})
		}
	}
	slices.SortFunc(s.Taints, func(a, b corev1.Taint) int { return strings.Compare(a.ToString(), b.ToString()) })
	return s, s.carryOut(&d, raw["settings"])
}

// carryOut runs the commands of the first boot and records the other settings.
func (s *Settings) carryOut(d *bottlerocket, settings map[string]any) error {
	for name, entry := range d.Settings.Commands {
		mode := "off"
		if entry.Mode != nil {
			mode = *entry.Mode
		}
		switch mode {
		case "always", "once":
		case "off":
			continue
		default:
			return fmt.Errorf("settings.bootstrap-commands.%s has the mode %q", name, mode)
		}
		for _, command := range entry.Commands {
			line := strings.Join(command, " ")
			s.RAID0 = s.RAID0 || strings.HasPrefix(line, "apiclient ephemeral-storage bind")
			s.Ran = append(s.Ran, line)
		}
	}
	for key, value := range settings {
		if key != "kubernetes" && key != "bootstrap-commands" {
			s.Ran = append(s.Ran, fmt.Sprintf("%s=%v", key, value))
		}
	}
	slices.Sort(s.Ran)
	return nil
}
