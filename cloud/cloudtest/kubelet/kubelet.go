// Package kubelet has what kubelets of all test servers of clouds have in common: how flags are read, what a kubelet refuses at its start,
// and what it leaves for pods.
package kubelet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/api/quantity"
)

// Pairs reads a list of keys and values.
func Pairs(text, separator string) (map[string]string, error) {
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

// Taints reads a list of taints in the form key=value:Effect or key:Effect.
func Taints(text string) ([]corev1.Taint, error) {
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

// Check validates the labels and taints of a node as the kubelet does at its start.
func Check(labels map[string]string, taints []corev1.Taint) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if !mayLabel(key) {
			return fmt.Errorf("the kubelet does not start: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: %s", key)
		}
	}
	for _, t := range taints {
		switch t.Effect {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule:
		default:
			return fmt.Errorf("the kubelet does not start: invalid taint effect %q of %q", t.Effect, t.Key)
		}
	}
	return nil
}

// mayLabel reports whether a kubelet may set a label on its own node.
func mayLabel(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	if !found {
		return true
	}
	below := func(parent string) bool { return domain == parent || strings.HasSuffix(domain, "."+parent) }
	switch {
	case below("node-restriction.kubernetes.io"):
		return false
	case below("kubelet.kubernetes.io"), below("node.kubernetes.io"):
		return true
	}
	switch key {
	case corev1.LabelHostname, corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelTopologyZone, corev1.LabelTopologyRegion:
		return true
	}
	return !below("kubernetes.io") && !below("k8s.io")
}

// Allocatable is the capacity of a node minus reserved resources and eviction thresholds. A reserved amount that is no quantity is
// ignored.
func Allocatable(capacity corev1.ResourceList, evictionHard map[string]string, reserved ...map[string]string) corev1.ResourceList {
	out := capacity.DeepCopy()
	take := func(name corev1.ResourceName, amount resource.Quantity) {
		if have, ok := out[name]; ok {
			if have.Sub(amount); have.Sign() < 0 {
				have.Set(0)
			}
			out[name] = have
		}
	}
	for _, list := range reserved {
		for name, text := range list {
			if amount, err := quantity.Parse(text); err == nil {
				take(corev1.ResourceName(name), amount)
			}
		}
	}
	for signal, name := range map[string]corev1.ResourceName{"memory.available": corev1.ResourceMemory, "nodefs.available": corev1.ResourceEphemeralStorage} {
		if text, ok := evictionHard[signal]; ok {
			take(name, threshold(text, capacity[name]))
		}
	}
	return out
}

// threshold is a percentage of a capacity, or an amount.
func threshold(text string, of resource.Quantity) resource.Quantity {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		number, err := strconv.ParseFloat(percent, 64)
		if err != nil || number >= 100 {
			return resource.Quantity{}
		}
		return *resource.NewQuantity(int64(math.Ceil(float64(of.Value())*number/100)), resource.BinarySI)
	}
	amount, err := quantity.Parse(text)
	if err != nil {
		return resource.Quantity{}
	}
	return amount
}
