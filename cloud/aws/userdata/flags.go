package userdata

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubeletFlags are the settings as kubelet flags, in a fixed order. Unset settings are omitted, except for
// taints.
func (in *Input) kubeletFlags() (string, error) {
	k := in.Kubelet
	var flags []string
	var errs []error
	quoted := func(name, text string, err error) {
		value, unsafe := flagValue(text)
		errs = append(errs, err, unsafe)
		flags = append(flags, "--"+name+"="+value)
	}
	add := func(format string, args ...any) { flags = append(flags, fmt.Sprintf(format, args...)) }
	list := func(name string, values map[string]string, separator string) {
		if len(values) > 0 {
			text, err := pairs(values, separator)
			quoted(name, text, err)
		}
	}
	list("node-labels", in.Labels, "=")
	quoted("register-with-taints", strings.Join(taintTexts(in.Taints), ","), nil)
	if in.MaxPods != nil {
		add("--max-pods=%d", *in.MaxPods)
	}
	if k.PodsPerCore != nil {
		add("--pods-per-core=%d", *k.PodsPerCore)
	}
	list("system-reserved", k.SystemReserved, "=")
	list("kube-reserved", k.KubeReserved, "=")
	list("eviction-hard", k.EvictionHard, "<")
	list("eviction-soft", k.EvictionSoft, "<")
	list("eviction-soft-grace-period", durations(k.EvictionSoftGracePeriod), "=")
	for _, number := range []struct {
		flag  string
		value *int32
	}{
		{"eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod},
		{"image-gc-high-threshold", k.ImageGCHighThresholdPercent},
		{"image-gc-low-threshold", k.ImageGCLowThresholdPercent},
	} {
		if number.value != nil {
			add("--%s=%d", number.flag, *number.value)
		}
	}
	if k.CPUCFSQuota != nil {
		add("--cpu-cfs-quota=%t", *k.CPUCFSQuota)
	}
	return strings.Join(flags, " "), errors.Join(errs...)
}

// labelFlag is the flag for node labels.
func labelFlag(labels map[string]string) (string, error) {
	text, err := pairs(labels, "=")
	if err != nil {
		return "", err
	}
	value, err := flagValue(text)
	return "--node-labels=" + value, err
}

// pairs lists entries in the order of their keys. An entry that would be read as another one is an error.
func pairs(values map[string]string, separator string) (string, error) {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key == "" || strings.ContainsAny(key, ","+separator) || strings.Contains(values[key], ",") {
			return "", fmt.Errorf("a kubelet flag cannot have the entry %q%s%q", key, separator, values[key])
		}
		out = append(out, key+separator+values[key])
	}
	return strings.Join(out, ","), nil
}

// durations are durations in Go syntax.
func durations(values map[string]metav1.Duration) map[string]string {
	out := map[string]string{}
	for key, value := range values {
		out[key] = value.Duration.String()
	}
	return out
}

// taintTexts are taints in the syntax of the kubelet flag.
func taintTexts(taints []corev1.Taint) []string {
	var out []string
	for _, taint := range taints {
		text := taint.Key
		if taint.Value != "" {
			text += "=" + taint.Value
		}
		out = append(out, text+":"+string(taint.Effect))
	}
	return out
}
