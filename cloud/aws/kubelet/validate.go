package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	kjson "sigs.k8s.io/json"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/quantity"
	"github.com/karpenter-anew/karpenter/cloud/aws/family"
)

// Validate finds everything that the kubelet would refuse, or that is not the user's to set, and names the field. Errors
// come in a fixed order and are joined by "; ".
func Validate(block map[string]apiextensionsv1.JSON) error {
	var messages []string
	config, err := strict(block)
	if err != nil {
		messages = append(messages, err.Error())
	}
	if _, ok := block["registerWithTaints"]; ok {
		messages = append(messages, "spec.kubelet.registerWithTaints: can't be set, Karpenter sets it from the NodeClaim's taints so the node registers unschedulable until it's ready")
	}
	if config != nil {
		messages = append(messages, semantic(config, block)...)
	}
	return joined(messages)
}

// Unsupported finds what the family of the image would not pass on to the node.
func Unsupported(block map[string]apiextensionsv1.JSON, of awsv1.Family) error {
	traits := family.TraitsOf(of)
	if len(block) == 0 || traits.AnyKubeletField || traits.KubeletIgnored {
		return nil
	}
	var messages []string
	dropped := Passthrough(block)
	if _, ok := block["podsPerCore"]; ok && of == awsv1.FamilyBottlerocket {
		dropped = append(dropped, "podsPerCore")
		slices.Sort(dropped)
	}
	if len(dropped) > 0 {
		messages = append(messages, fmt.Sprintf("spec.kubelet has fields not applied by the %s AMI family that would be silently dropped: %s", of, strings.Join(dropped, ", ")))
	}
	config, err := Parse(block)
	if err != nil {
		return err
	}
	if n := len(config.ClusterDNS); n > 1 {
		messages = append(messages, fmt.Sprintf("spec.kubelet.clusterDNS: the %s AMI family doesn't accept multiple entries, only one, but %d were set", of, n))
	}
	return joined(messages)
}

// joined is one error for all messages, or nil.
func joined(messages []string) error {
	if len(messages) == 0 {
		return nil
	}
	return errors.New(strings.Join(messages, "; "))
}

// strict decodes the block as the kubelet would. The configuration is nil when a value has the wrong type, because nothing
// more can be said of the block then; unknown fields are an error beside it.
func strict(block map[string]apiextensionsv1.JSON) (*kubeletv1beta1.KubeletConfiguration, error) {
	raw := map[string]json.RawMessage{}
	for name, value := range block {
		raw[name] = value.Raw
	}
	// An expression stands where the kubelet has a number.
	if strings.HasPrefix(string(raw["maxPods"]), `"`) {
		raw["maxPods"] = json.RawMessage("0")
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, fmt.Errorf("spec.kubelet: %w", err)
	}
	var content any
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("spec.kubelet: %w", err)
	}
	config := &kubeletv1beta1.KubeletConfiguration{}
	if unreadable := quantity.Unreadable(content, reflect.TypeOf(config)); len(unreadable) > 0 {
		return nil, fmt.Errorf("spec.kubelet.%s: must be a resource quantity, with an exponent of two digits at most", unreadable[0])
	}
	unknown, err := kjson.UnmarshalStrict(text, config)
	if err != nil {
		return nil, fmt.Errorf("spec.kubelet: %w", err)
	}
	var messages []string
	for _, err := range unknown {
		messages = append(messages, "spec.kubelet: "+err.Error())
	}
	return config, joined(messages)
}

// semantic checks the values of a block whose types are right.
func semantic(config *kubeletv1beta1.KubeletConfiguration, block map[string]apiextensionsv1.JSON) []string {
	var out []string
	for _, field := range []struct {
		name   string
		values map[string]string
	}{
		{"evictionHard", config.EvictionHard}, {"evictionSoft", config.EvictionSoft}, {"evictionMinimumReclaim", config.EvictionMinimumReclaim},
	} {
		out = append(out, unknownKeys(field.name, field.values, signals(), "a valid eviction signal")...)
		for _, key := range slices.Sorted(maps.Keys(field.values)) {
			out = append(out, thresholdErrors(fmt.Sprintf("spec.kubelet.%s[%s]", field.name, key), field.values[key])...)
		}
	}
	out = append(out, graceErrors(config.EvictionSoft, config.EvictionSoftGracePeriod)...)
	for _, field := range []struct {
		name   string
		values map[string]string
	}{{"kubeReserved", config.KubeReserved}, {"systemReserved", config.SystemReserved}} {
		out = append(out, unknownKeys(field.name, field.values, reservable(), "a reservable resource")...)
		for _, key := range slices.Sorted(maps.Keys(field.values)) {
			if strings.HasPrefix(field.values[key], "-") {
				out = append(out, fmt.Sprintf("spec.kubelet.%s[%s]: %q can't be a negative resource quantity", field.name, key, field.values[key]))
			}
		}
	}
	return append(out, numberErrors(config, block)...)
}

// numberErrors checks the fields that are numbers.
func numberErrors(config *kubeletv1beta1.KubeletConfiguration, block map[string]apiextensionsv1.JSON) []string {
	var out []string
	high, low := config.ImageGCHighThresholdPercent, config.ImageGCLowThresholdPercent
	for _, field := range []struct {
		name  string
		value *int32
	}{{"imageGCHighThresholdPercent", high}, {"imageGCLowThresholdPercent", low}} {
		if field.value != nil && (*field.value < 0 || *field.value > 100) {
			out = append(out, fmt.Sprintf("spec.kubelet.%s: %d must be between 0 and 100", field.name, *field.value))
		}
	}
	for _, field := range []struct {
		name  string
		value int32
	}{{"podsPerCore", config.PodsPerCore}, {"evictionMaxPodGracePeriod", config.EvictionMaxPodGracePeriod}, {"maxPods", config.MaxPods}} {
		if _, ok := block[field.name]; ok && field.value < 0 {
			out = append(out, fmt.Sprintf("spec.kubelet.%s: %d can't be negative", field.name, field.value))
		}
	}
	if high != nil && low != nil && *high <= *low {
		out = append(out, fmt.Sprintf("spec.kubelet: imageGCHighThresholdPercent (%d) must be greater than imageGCLowThresholdPercent (%d)", *high, *low))
	}
	return out
}

// signals are what the kubelet can evict pods for.
func signals() []string {
	return []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"}
}

// reservable are the resources that can be kept from pods.
func reservable() []string { return []string{"cpu", "memory", "ephemeral-storage", "pid"} }

// unknownKeys names the keys that are not among those known.
func unknownKeys[V any](field string, values map[string]V, known []string, what string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, key) {
			out = append(out, fmt.Sprintf("spec.kubelet.%s: %q isn't %s, must be one of %s", field, key, what, strings.Join(known, ", ")))
		}
	}
	return out
}

// thresholdErrors checks one threshold.
func thresholdErrors(field, value string) []string {
	if number, ok := strings.CutSuffix(value, "%"); ok {
		if share, err := strconv.ParseFloat(number, 64); err != nil || !(share >= 0 && share <= 100) {
			return []string{fmt.Sprintf("%s: %q must be a percentage or a resource quantity", field, value)}
		}
		return nil
	}
	amount, err := quantity.Parse(value)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("%s: %q must be a percentage or a resource quantity", field, value)}
	case amount.Sign() < 0:
		return []string{fmt.Sprintf("%s: %q can't be a negative resource quantity", field, value)}
	}
	return nil
}

// graceErrors checks the grace periods, and that soft thresholds and grace periods come in pairs.
func graceErrors(soft, grace map[string]string) []string {
	out := unknownKeys("evictionSoftGracePeriod", grace, signals(), "a valid eviction signal")
	for _, key := range slices.Sorted(maps.Keys(grace)) {
		field := fmt.Sprintf("spec.kubelet.evictionSoftGracePeriod[%s]", key)
		switch period, err := time.ParseDuration(grace[key]); {
		case err != nil:
			out = append(out, fmt.Sprintf("%s: %q must be a duration", field, grace[key]))
		case period < 0:
			out = append(out, fmt.Sprintf("%s: %q can't be a negative duration", field, grace[key]))
		}
		if _, ok := soft[key]; !ok {
			out = append(out, field+": has no matching evictionSoft")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(soft)) {
		if _, ok := grace[key]; !ok {
			out = append(out, fmt.Sprintf("spec.kubelet.evictionSoft[%s]: has no matching evictionSoftGracePeriod", key))
		}
	}
	return out
}
