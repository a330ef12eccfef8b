package kubeletcel

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-anew/karpenter/api/quantity"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
)

// Compiled are the expressions of a kubelet block. Compiling takes milliseconds, evaluating microseconds: compile once for all
// instance types. It is safe for concurrent use.
type Compiled struct {
	config       kubelet.Config
	maxPods      *program
	kube, system map[string]*program
}

// Compile compiles every expression of a block. The error names all expressions that do not compile.
func Compile(config kubelet.Config) (*Compiled, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("setting up the language: %w", err)
	}
	out := &Compiled{config: config}
	var errs []error
	if config.MaxPods != nil && config.MaxPods.Type == intstr.String {
		if out.maxPods, err = compile(env, config.MaxPods.StrVal); err != nil {
			errs = append(errs, fmt.Errorf("spec.kubelet.maxPods: %w", err))
		}
	}
	for _, list := range []struct {
		name   string
		values map[string]string
		into   *map[string]*program
	}{{"kubeReserved", config.KubeReserved, &out.kube}, {"systemReserved", config.SystemReserved, &out.system}} {
		programs := map[string]*program{}
		for _, key := range slices.Sorted(maps.Keys(list.values)) {
			if _, err := quantity.Parse(list.values[key]); err == nil {
				continue
			}
			if programs[key], err = compile(env, list.values[key]); err != nil {
				errs = append(errs, fmt.Errorf("spec.kubelet.%s[%s]: %w", list.name, key, err))
			}
		}
		*list.into = programs
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// Pods returns the block with the evaluated number of pods; reserved resources are unchanged. A number that cannot be
// evaluated, or that the kubelet would reject, is an error.
func (c *Compiled) Pods(v Variables) (kubelet.Config, error) {
	config := c.config.DeepCopy()
	if c.maxPods == nil {
		return config, nil
	}
	n, err := c.maxPods.evaluate(v)
	if err != nil {
		return config, fmt.Errorf("resolving spec.kubelet.maxPods: %w", err)
	}
	if n < 0 || n > math.MaxInt32 {
		return config, fmt.Errorf("resolving spec.kubelet.maxPods: %q gives %d for %s", c.maxPods.text, n, v.InstanceType)
	}
	config.MaxPods = new(intstr.FromInt32(int32(n)))
	return config, nil
}

// Reserved are the resources reserved for the kubelet and for the system. Values that cannot be evaluated or are negative are omitted,
// and returned as errors.
func (c *Compiled) Reserved(v Variables) (kube, system map[string]string, dropped []error) {
	resolve := func(name string, values map[string]string, programs map[string]*program) map[string]string {
		out := maps.Clone(values)
		for _, key := range slices.Sorted(maps.Keys(programs)) {
			n, err := programs[key].evaluate(v)
			if err == nil && n < 0 {
				err = fmt.Errorf("%q gives %d for %s", programs[key].text, n, v.InstanceType)
			}
			if err != nil {
				dropped = append(dropped, fmt.Errorf("resolving spec.kubelet.%s[%s]: %w", name, key, err))
				delete(out, key)
				continue
			}
			out[key] = rounded(key, n)
		}
		return out
	}
	return resolve("kubeReserved", c.config.KubeReserved, c.kube), resolve("systemReserved", c.config.SystemReserved, c.system), dropped
}

// rounded is a number in the unit of its resource. It is rounded up to steps, so that instance types that differ little share
// settings.
func rounded(key string, n int64) string {
	step, unit := int64(1), ""
	switch key {
	case "cpu":
		step, unit = 10, "m"
	case "memory":
		step, unit = 16, "Mi"
	case "ephemeral-storage":
		unit = "Gi"
	}
	if rest := n % step; rest > 0 && n <= math.MaxInt64-step {
		n += step - rest
	}
	return strconv.FormatInt(n, 10) + unit
}
