package firstboot

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/cloud/cloudtest/kubelet"
)

// goneFrom are the flags that kubelets had, by the minor version of Kubernetes 1 without them. Source: change logs of Kubernetes.
func goneFrom() map[string]uint {
	return map[string]uint{
		"azure-container-registry-config": 30, "keep-terminated-pod-volumes": 31, "cloud-config": 34, "pod-infra-container-image": 35,
	}
}

// others are the flags that do not matter to how a node registers.
const others = `address allowed-unsafe-sysctls anonymous-auth authentication-token-webhook authorization-mode azure-container-registry-config cgroups-per-qos
	client-ca-file cloud-config cloud-provider cluster-domain container-log-max-files container-log-max-size cpu-cfs-quota cpu-manager-policy
	enforce-node-allocatable event-qps feature-gates image-credential-provider-bin-dir image-credential-provider-config image-gc-high-threshold
	image-gc-low-threshold keep-terminated-pod-volumes kubeconfig node-status-update-frequency pod-infra-container-image pod-manifest-path pod-max-pids
	protect-kernel-defaults read-only-port resolv-conf rotate-certificates streaming-connection-idle-timeout tls-cert-file tls-cipher-suites
	tls-private-key-file topology-manager-policy`

// flags reads the flags of a kubelet of Kubernetes 1.minor. A later flag overrides an earlier one.
func (s *Settings) flags(text string, minor uint) error {
	for word := range strings.FieldsSeq(text) {
		name, value, ok := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !ok || !strings.HasPrefix(word, "--") {
			return fmt.Errorf("the kubelet does not start: unknown argument %q", word)
		}
		if gone, limited := goneFrom()[name]; limited && minor >= gone {
			return fmt.Errorf("the kubelet does not start: flag --%s is gone from 1.%d on", name, gone)
		}
		if err := s.flag(name, value); err != nil {
			return fmt.Errorf("the kubelet does not start: flag --%s: %w", name, err)
		}
	}
	if s.MaxPods <= 0 {
		return fmt.Errorf("the kubelet does not start: --max-pods is %d", s.MaxPods)
	}
	return nil
}

func (s *Settings) flag(name, value string) error {
	var err error
	switch name {
	case "register-with-taints":
		s.Taints, err = kubelet.Taints(value)
	case "max-pods":
		s.MaxPods, err = strconv.ParseInt(value, 10, 64)
	case "kube-reserved":
		s.KubeReserved, err = kubelet.Pairs(value, "=")
	case "system-reserved":
		s.SystemReserved, err = kubelet.Pairs(value, "=")
	case "eviction-hard":
		s.EvictionHard, err = kubelet.Pairs(value, "<")
	case "cluster-dns":
		s.DNS = value
		_, err = netip.ParseAddr(value)
	default:
		if !slices.Contains(strings.Fields(others), name) {
			err = errors.New("the flag does not exist or is not supported here")
		}
	}
	return err
}
