package ecosystem

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// stateMetrics is the part of the configuration of kube-state-metrics that the example uses; other fields fail the test.
type stateMetrics struct {
	Kind string `yaml:"kind"`
	Spec struct {
		Resources []resource `yaml:"resources"`
	} `yaml:"spec"`
}

type resource struct {
	GroupVersionKind struct{ Group, Version, Kind string } `yaml:"groupVersionKind"`
	MetricNamePrefix string                                `yaml:"metricNamePrefix"`
	LabelsFromPath   map[string][]string                   `yaml:"labelsFromPath"`
	Metrics          []struct {
		Name string `yaml:"name"`
		Help string `yaml:"help"`
		Each struct {
			Type  string `yaml:"type"`
			Info  values `yaml:"info"`
			Gauge values `yaml:"gauge"`
		} `yaml:"each"`
	} `yaml:"metrics"`
}

type values struct {
	Path           []string            `yaml:"path"`
	LabelFromKey   string              `yaml:"labelFromKey"`
	LabelsFromPath map[string][]string `yaml:"labelsFromPath"`
	ValueFrom      []string            `yaml:"valueFrom"`
	NilIsZero      bool                `yaml:"nilIsZero"`
}

// schema is the part of a schema that paths are looked up in.
type schema struct {
	Type                 string            `yaml:"type"`
	Properties           map[string]schema `yaml:"properties"`
	Items                *schema           `yaml:"items"`
	AdditionalProperties *schema           `yaml:"additionalProperties"`
}

// definition is the part of a CRD that has the schema.
type definition struct {
	Spec struct {
		Group    string
		Names    struct{ Kind string }
		Versions []struct {
			Name   string
			Schema struct {
				OpenAPIV3Schema schema `yaml:"openAPIV3Schema"`
			}
		}
	}
}

// at follows a path. A CRD says nothing about metadata, which is the same for all kinds.
func (s schema) at(path []string) (schema, error) {
	for i, name := range path {
		next, ok := s.Properties[name]
		switch {
		case i == 0 && name == "metadata" && ok:
			text := schema{Type: "string"}
			next = schema{Properties: map[string]schema{"name": text, "creationTimestamp": text, "deletionTimestamp": text, "labels": {AdditionalProperties: &text}}}
		case !ok && s.AdditionalProperties != nil:
			next = *s.AdditionalProperties
		case !ok:
			return schema{}, fmt.Errorf("%s does not exist", strings.Join(path[:i+1], "."))
		}
		s = next
	}
	return s, nil
}

// problems are the paths of values that a schema does not have.
func (v values) problems(of schema) []string {
	var out []string
	target, err := of.at(v.Path)
	if err != nil {
		return []string{err.Error()}
	}
	each := target
	if target.Items != nil {
		each = *target.Items
	}
	if v.LabelFromKey != "" && target.AdditionalProperties == nil {
		out = append(out, fmt.Sprintf("%v is no map, whose keys could be a label", v.Path))
	}
	for _, path := range append(slices.Collect(maps.Values(v.LabelsFromPath)), v.ValueFrom) {
		if _, err := each.at(path); err != nil {
			out = append(out, err.Error())
		}
	}
	if _, err := each.at(v.ValueFrom); err == nil && len(v.ValueFrom) == 0 && len(v.Path) > 0 && v.LabelFromKey == "" && (len(each.Properties) > 0 || target.Items != nil) {
		out = append(out, fmt.Sprintf("%v has no single value", v.Path))
	}
	return out
}

// TestKubeStateMetricsReadsFieldsThatExist looks up every path in the CRDs.
func TestKubeStateMetricsReadsFieldsThatExist(t *testing.T) {
	schemas := map[string]schema{}
	for _, name := range []string{"nodepools", "nodeclaims"} {
		d := readYAML[definition](t, "api/crds/karpenter.sh_"+name+".yaml", false)
		for _, v := range d.Spec.Versions {
			schemas[d.Spec.Group+"/"+v.Name+" "+d.Spec.Names.Kind] = v.Schema.OpenAPIV3Schema
		}
	}
	config := readYAML[stateMetrics](t, "examples/kube-state-metrics/config.yaml", true)
	seen := map[string]bool{}
	for _, r := range config.Spec.Resources {
		kind := r.GroupVersionKind
		of, known := schemas[kind.Group+"/"+kind.Version+" "+kind.Kind]
		if !known {
			t.Fatalf("there is no definition of %v", kind)
		}
		for _, p := range (values{LabelsFromPath: r.LabelsFromPath}).problems(of) {
			t.Errorf("%s: %s", kind.Kind, p)
		}
		for _, m := range r.Metrics {
			name := r.MetricNamePrefix + "_" + m.Name
			if seen[name] || m.Help == "" || (m.Each.Type == "Gauge") == (m.Each.Gauge.Path == nil) || (m.Each.Type == "Info") == (m.Each.Info.LabelsFromPath == nil) {
				t.Errorf("%s appears twice, or lacks what a metric of type %q has", name, m.Each.Type)
			}
			seen[name] = true
			for _, p := range append(m.Each.Gauge.problems(of), m.Each.Info.problems(of)...) {
				t.Errorf("%s: %s", name, p)
			}
		}
	}
	if config.Kind != "CustomResourceStateMetrics" || len(seen) < 12 {
		t.Errorf("kind %s, %d metrics", config.Kind, len(seen))
	}
}

// TestWrongPathsAreNoticed shows that the test above can fail.
func TestWrongPathsAreNoticed(t *testing.T) {
	of := readYAML[definition](t, "api/crds/karpenter.sh_nodepools.yaml", false).Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, tc := range []struct {
		v    values
		want string
	}{
		{values{Path: []string{"spec", "wait"}}, "spec.wait does not exist"},
		{values{Path: []string{"status", "conditions"}, ValueFrom: []string{"state"}}, "state does not exist"},
		{values{Path: []string{"status", "conditions"}}, "[status conditions] has no single value"},
		{values{Path: []string{"spec", "weight"}, LabelFromKey: "resource"}, "[spec weight] is no map, whose keys could be a label"},
		{values{LabelsFromPath: map[string][]string{"a": {"metadata", "uuid"}}}, "metadata.uuid does not exist"},
	} {
		if got := strings.Join(tc.v.problems(of), "; "); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.v, got, tc.want)
		}
	}
}
