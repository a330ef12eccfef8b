// Package kubelet reads the kubelet block of a node class. The block is stored as it is written; twelve of its fields mean
// something to Karpenter, the others are passed on where the family of the image can.
//
// Source: AWS provider specification, kubelet: controller-side validation.
package kubelet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-anew/karpenter/api/quantity"
)

// Config are the fields that Karpenter reads.
type Config struct {
	// ClusterDNS are the addresses that pods ask for names.
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// MaxPods is the number of pods, or an expression that gives it.
	MaxPods *intstr.IntOrString `json:"maxPods,omitempty"`
	// PodsPerCore limits the number of pods by the number of CPUs; 0 means it does not.
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// SystemReserved and KubeReserved are what pods cannot use: quantities, or expressions that give them.
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	KubeReserved   map[string]string `json:"kubeReserved,omitempty"`
	// EvictionHard and EvictionSoft are thresholds: quantities or percentages.
	EvictionHard map[string]string `json:"evictionHard,omitempty"`
	EvictionSoft map[string]string `json:"evictionSoft,omitempty"`
	// EvictionSoftGracePeriod is how long a soft threshold may be crossed.
	EvictionSoftGracePeriod map[string]metav1.Duration `json:"evictionSoftGracePeriod,omitempty"`
	// EvictionMaxPodGracePeriod is how long, in seconds, a pod may take when it is evicted softly.
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// ImageGCHighThresholdPercent and ImageGCLowThresholdPercent bound the disk used by images.
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	ImageGCLowThresholdPercent  *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// CPUCFSQuota says whether limits of CPU are enforced.
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
}

// Fields are the names of the fields that Karpenter reads, sorted. The caller owns the result.
func Fields() []string {
	return []string{
		"clusterDNS", "cpuCFSQuota", "evictionHard", "evictionMaxPodGracePeriod", "evictionSoft", "evictionSoftGracePeriod",
		"imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "kubeReserved", "maxPods", "podsPerCore", "systemReserved",
	}
}

// Passthrough are the names of the fields of a block that Karpenter does not read, sorted.
func Passthrough(block map[string]apiextensionsv1.JSON) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(block)) {
		if !slices.Contains(Fields(), name) {
			out = append(out, name)
		}
	}
	return out
}

// Parse reads a block. Everything that Validate accepts can be read.
func Parse(block map[string]apiextensionsv1.JSON) (Config, error) {
	known := map[string]json.RawMessage{}
	for _, name := range Fields() {
		if value, ok := block[name]; ok {
			known[name] = value.Raw
		}
	}
	text, err := json.Marshal(known)
	if err != nil {
		return Config{}, fmt.Errorf("parsing spec.kubelet, %w", err)
	}
	var config Config
	if err := json.Unmarshal(text, &config); err != nil {
		return Config{}, fmt.Errorf("parsing spec.kubelet, %w", err)
	}
	return config, nil
}

// DeepCopy is a copy that shares nothing with the original.
func (c Config) DeepCopy() Config {
	c.ClusterDNS = slices.Clone(c.ClusterDNS)
	c.MaxPods, c.PodsPerCore = copied(c.MaxPods), copied(c.PodsPerCore)
	c.SystemReserved, c.KubeReserved = maps.Clone(c.SystemReserved), maps.Clone(c.KubeReserved)
	c.EvictionHard, c.EvictionSoft = maps.Clone(c.EvictionHard), maps.Clone(c.EvictionSoft)
	c.EvictionSoftGracePeriod, c.EvictionMaxPodGracePeriod = maps.Clone(c.EvictionSoftGracePeriod), copied(c.EvictionMaxPodGracePeriod)
	c.ImageGCHighThresholdPercent, c.ImageGCLowThresholdPercent = copied(c.ImageGCHighThresholdPercent), copied(c.ImageGCLowThresholdPercent)
	c.CPUCFSQuota = copied(c.CPUCFSQuota)
	return c
}

// copied is a pointer to a copy of a value, if there is one.
func copied[V any](p *V) *V {
	if p == nil {
		return nil
	}
	return new(*p)
}

// HasExpressions reports whether any value has to be worked out for each instance type.
func (c Config) HasExpressions() bool {
	if c.MaxPods != nil && c.MaxPods.Type == intstr.String {
		return true
	}
	return len(quantities(c.SystemReserved)) < len(c.SystemReserved) || len(quantities(c.KubeReserved)) < len(c.KubeReserved)
}

// Static is the configuration without its expressions, for installations that do not evaluate them. The original is left
// alone.
func (c Config) Static() Config {
	if c.MaxPods != nil && c.MaxPods.Type == intstr.String {
		c.MaxPods = nil
	}
	c.SystemReserved, c.KubeReserved = quantities(c.SystemReserved), quantities(c.KubeReserved)
	return c
}

// StaticMaxPods is the number of pods that is written down, if one is.
func (c Config) StaticMaxPods() (int64, bool) {
	if c.MaxPods == nil || c.MaxPods.Type == intstr.String {
		return 0, false
	}
	return int64(c.MaxPods.IntVal), true
}

// quantities are the entries that are quantities.
func quantities(reserved map[string]string) map[string]string {
	out := maps.Clone(reserved)
	maps.DeleteFunc(out, func(_, value string) bool {
		_, err := quantity.Parse(value)
		return err != nil
	})
	return out
}
