package options

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// SchedulerConfig is the scheduler configuration document. The zero value means none was given.
// Source: spec, scheduler configuration document.
type SchedulerConfig struct {
	// PodTopologySpread holds the defaults for pods whose spec declares no spread; nil means none.
	PodTopologySpread *PodTopologySpread `json:"podTopologySpread,omitempty"`
}

// PodTopologySpread are the cluster-wide spread defaults.
type PodTopologySpread struct {
	// DefaultConstraints apply in simulation to pods without constraints; the selector is deduced per pod.
	DefaultConstraints []corev1.TopologySpreadConstraint `json:"defaultConstraints,omitempty"`
}

// DefaultConstraints returns the configured constraints; empty when there are none.
func (c SchedulerConfig) DefaultConstraints() []corev1.TopologySpreadConstraint {
	if c.PodTopologySpread == nil {
		return nil
	}
	return c.PodTopologySpread.DefaultConstraints
}

// ParseSchedulerConfig reads the document from YAML or JSON text. Unknown fields, duplicate keys and invalid constraints are errors
// that name the path. Empty text is the zero value.
func ParseSchedulerConfig(text string) (SchedulerConfig, error) {
	if strings.TrimSpace(text) == "" {
		return SchedulerConfig{}, nil
	}
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return SchedulerConfig{}, fmt.Errorf("not a YAML or JSON document: %w", err)
	}
	var config SchedulerConfig
	strict, err := kjson.UnmarshalStrict(raw, &config)
	if err == nil {
		err = errors.Join(strict...)
	}
	if err != nil {
		return SchedulerConfig{}, fmt.Errorf("%w; allowed: podTopologySpread.defaultConstraints with fields of a topology spread constraint", err)
	}
	if err := validateConstraints(config.DefaultConstraints()); err != nil {
		return SchedulerConfig{}, err
	}
	return config, nil
}

// validateConstraints returns all violations at once.
func validateConstraints(constraints []corev1.TopologySpreadConstraint) error {
	type identity struct {
		key  string
		when corev1.UnsatisfiableConstraintAction
	}
	seen := map[identity]int{}
	var errs []error
	for i, c := range constraints {
		at := fmt.Sprintf("podTopologySpread.defaultConstraints[%d]", i)
		if c.MaxSkew <= 0 {
			errs = append(errs, fmt.Errorf("%s.maxSkew is %d; it must be greater than 0", at, c.MaxSkew))
		}
		if problems := validation.IsQualifiedName(c.TopologyKey); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("%s.topologyKey is %q; it must be a label key: %s", at, c.TopologyKey, strings.Join(problems, "; ")))
		}
		if c.WhenUnsatisfiable != corev1.DoNotSchedule && c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			errs = append(errs, fmt.Errorf("%s.whenUnsatisfiable is %q; allowed: %s or %s", at, c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway))
		}
		if c.LabelSelector != nil {
			errs = append(errs, fmt.Errorf("%s.labelSelector must be absent; it is deduced for each pod", at))
		}
		if len(c.MatchLabelKeys) > 0 {
			errs = append(errs, fmt.Errorf("%s.matchLabelKeys must be empty; the selector is deduced for each pod", at))
		}
		id := identity{c.TopologyKey, c.WhenUnsatisfiable}
		if first, dup := seen[id]; dup {
			errs = append(errs, fmt.Errorf("%s repeats topologyKey %q with whenUnsatisfiable %q of element %d; each pair may appear once", at, id.key, id.when, first))
		} else {
			seen[id] = i
		}
	}
	return errors.Join(errs...)
}
