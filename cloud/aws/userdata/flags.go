package userdata

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubeletFlags are the settings as kubelet flags, in a fixed order. Unset settings are omitted, except for
// taints.
func (in *Input) kubeletFlags() string {
	var flags []string
	add := func(format string, args ...any) { flags = append(flags, fmt.Sprintf(format, args...)) }
	if len(in.Labels) > 0 {
		flags = append(flags, labelFlag(in.Labels))
	}
	add("--register-with-taints=%q", strings.Join(taintTexts(in.Taints), ","))
	if in.MaxPods != nil {
		add("--max-pods=%d", *in.MaxPods)
	}
	k := in.Kubelet
	if k.PodsPerCore != nil {
		add("--pods-per-core=%d", *k.PodsPerCore)
	}
	for _, list := range []struct {
		flag      string
		values    map[string]string
		separator string
	}{
		{"system-reserved", k.SystemReserved, "="},
		{"kube-reserved", k.KubeReserved, "="},
		{"eviction-hard", k.EvictionHard, "<"},
		{"eviction-soft", k.EvictionSoft, "<"},
		{"eviction-soft-grace-period", durations(k.EvictionSoftGracePeriod), "="},
	} {
		if len(list.values) > 0 {
			flags = append(flags, "--"+list.flag+`="`+pairs(list.values, list.separator)+`"`)
		}
	}
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
	return strings.Join(flags, " ")
}

// labelFlag is the flag for node labels.
func labelFlag(labels map[string]string) string { return `--node-labels="` + pairs(labels, "=") + `"` }

// pairs lists entries in the order of their keys.
func pairs(values map[string]string, separator string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, key+separator+values[key])
	}
	return strings.Join(out, ",")
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
