package firstboot

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/cloud/cloudtest/kubelet"
)

// kubeletFlags reads flags of the kubelet. A later flag overrides an earlier one.
func (s *Settings) kubeletFlags(text string) error {
	words, err := split(text)
	if err != nil {
		return err
	}
	for _, word := range words {
		name, value, ok := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !ok || !strings.HasPrefix(word, "--") {
			return fmt.Errorf("the kubelet does not start: unknown argument %q", word)
		}
		if err := s.kubeletFlag(name, value); err != nil {
			return fmt.Errorf("the kubelet does not start: flag --%s: %w", name, err)
		}
	}
	return nil
}

func (s *Settings) kubeletFlag(name, value string) error {
	var err error
	switch name {
	case "node-labels":
		var labels map[string]string
		labels, err = kubelet.Pairs(value, "=")
		s.label(labels)
	case "register-with-taints":
		s.Taints, err = kubelet.Taints(value)
	case "max-pods":
		s.MaxPods, err = strconv.ParseInt(value, 10, 64)
	case "pods-per-core":
		s.PodsPerCore, err = strconv.ParseInt(value, 10, 64)
	case "system-reserved":
		s.SystemReserved, err = kubelet.Pairs(value, "=")
	case "kube-reserved":
		s.KubeReserved, err = kubelet.Pairs(value, "=")
	case "eviction-hard":
		s.EvictionHard, err = kubelet.Pairs(value, "<")
	case "eviction-soft":
		_, err = kubelet.Pairs(value, "<")
	case "eviction-soft-grace-period":
		_, err = kubelet.Pairs(value, "=")
	case "eviction-max-pod-grace-period", "image-gc-high-threshold", "image-gc-low-threshold":
		_, err = strconv.ParseInt(value, 10, 32)
	case "cpu-cfs-quota":
		_, err = strconv.ParseBool(value)
	default:
		err = fmt.Errorf("the flag does not exist or is not supported here")
	}
	return err
}

// label adds labels.
func (s *Settings) label(labels map[string]string) {
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	maps.Copy(s.Labels, labels)
}
