package firstboot

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
		labels, err = pairs(value, "=")
		s.label(labels)
	case "register-with-taints":
		s.Taints, err = taints(value)
	case "max-pods":
		s.MaxPods, err = strconv.ParseInt(value, 10, 64)
	case "pods-per-core":
		s.PodsPerCore, err = strconv.ParseInt(value, 10, 64)
	case "system-reserved":
		s.SystemReserved, err = pairs(value, "=")
	case "kube-reserved":
		s.KubeReserved, err = pairs(value, "=")
	case "eviction-hard":
		s.EvictionHard, err = pairs(value, "<")
	case "eviction-soft":
		_, err = pairs(value, "<")
	case "eviction-soft-grace-period":
		_, err = pairs(value, "=")
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

// pairs reads a list of keys and values.
func pairs(text, separator string) (map[string]string, error) {
	out := map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(item, separator)
		if !ok || key == "" {
			return nil, fmt.Errorf("%q is no pair of key, %q and value", item, separator)
		}
		out[key] = value
	}
	return out, nil
}

// taints reads a list of taints in the form key=value:Effect or key:Effect.
func taints(text string) ([]corev1.Taint, error) {
	var out []corev1.Taint
	if text == "" {
		return nil, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		at := strings.LastIndex(item, ":")
		if at <= 0 {
			return nil, fmt.Errorf("%q is no taint", item)
		}
		key, value, _ := strings.Cut(item[:at], "=")
		out = append(out, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(item[at+1:])})
	}
	return out, nil
}
