package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Redacted is s with names replaced: of objects, namespaces, containers and the like, and values of labels, taints and
// device attributes that are not well known. Keys of labels and taints, names of resources, amounts, times, and
// values that are compared as numbers stay. The salt decides the replacements; without it, a guess cannot be verified.
//
// rules decide which labels are well known.
func (s Snapshot) Redacted(rules v1.LabelRules, salt []byte) (Snapshot, error) {
	out, _, err := s.redact(rules, salt)
	return out, err
}

// redact also returns what was replaced.
func (s Snapshot) redact(rules v1.LabelRules, salt []byte) (Snapshot, *pseudonyms, error) {
	r := redaction{format: s.format, rules: rules, numeric: map[string]bool{}, names: newPseudonyms(salt)}
	// The exceptions depend on all objects, and so does the order of replacements: three passes.
	for _, pass := range []func(*field, any){
		func(_ *field, content any) { r.survey(content) },
		func(f *field, content any) { r.walk(f, content, "", r.names.note) },
	} {
		for _, e := range s.entries {
			content, err := e.content()
			if err != nil {
				return Snapshot{}, nil, err
			}
			pass(s.format.kinds[e.kind].root, content)
		}
	}
	r.names.settle()
	hashes, err := s.poolHashes(&r)
	if err != nil {
		return Snapshot{}, nil, err
	}
	out := Snapshot{format: s.format, Absent: s.Absent, Forbidden: s.Forbidden}
	for _, e := range s.entries {
		content, err := e.content()
		if err != nil {
			return Snapshot{}, nil, err
		}
		replaced, _ := r.walk(s.format.kinds[e.kind].root, content, "", r.names.of).(map[string]any)
		hashes.replace(replaced)
		if err := out.add(e.kind, replaced); err != nil {
			return Snapshot{}, nil, err
		}
	}
	out.sort()
	return out, r.names, nil
}

func (e entry) content() (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(e.json))
	decoder.UseNumber() // numbers are written back as they came
	var content map[string]any
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("reading %q back: %w", e.name, err)
	}
	return content, nil
}

// redaction is the state of redacting that depends on all objects.
type redaction struct {
	format *Format
	rules  v1.LabelRules
	// numeric are the labels whose values requirements compare as numbers.
	numeric map[string]bool
	// expressions are all CEL expressions.
	expressions []string
	names       *pseudonyms
}

// survey records the texts that must not be replaced, and names that are composed of others.
func (r *redaction) survey(content any) {
	switch v := content.(type) {
	case map[string]any:
		key, _ := v["key"].(string)
		switch v["operator"] {
		case "Gt", "Lt", "Gte", "Lte":
			r.numeric[r.rules.Normalize(key)] = true
		}
		if expression, ok := v["expression"].(string); ok {
			r.expressions = append(r.expressions, expression)
		}
		if v["kind"] == "Pod" && v["metadata"] != nil {
			r.surveyPod(v)
		}
		for _, part := range v {
			r.survey(part)
		}
	case []any:
		for _, item := range v {
			r.survey(item)
		}
	}
}

// templateHash is the label by which a Deployment distinguishes the pods of its ReplicaSets.
const templateHash = "pod-template-hash"

// surveyPod records the composed names of a pod: its ReplicaSet's, of Deployment and hash, and those of the claims of
// its ephemeral volumes, of pod and volume.
func (r *redaction) surveyPod(pod map[string]any) {
	metadata, _ := pod["metadata"].(map[string]any)
	podLabels, _ := metadata["labels"].(map[string]any)
	if hash, _ := podLabels[templateHash].(string); hash != "" {
		for _, owner := range mapsIn(metadata["ownerReferences"]) {
			owner, _ := owner["name"].(string)
			if deployment, ok := strings.CutSuffix(owner, "-"+hash); ok && deployment != "" {
				r.names.compose(owner, deployment, hash)
			}
		}
	}
	spec, _ := pod["spec"].(map[string]any)
	for _, volume := range mapsIn(spec["volumes"]) {
		if own, _ := volume["name"].(string); volume["ephemeral"] != nil {
			podName, _ := metadata["name"].(string)
			r.names.compose(podName+"-"+own, podName, own)
		}
	}
}

func mapsIn(list any) []map[string]any {
	items, _ := list.([]any)
	out := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// walk hands every text that is to be replaced to rename, in a fixed order, and puts the answer in its place. key is the
// label that operands beside it are for.
func (r *redaction) walk(f *field, value any, key string, rename func(string) string) any {
	switch v := value.(type) {
	case string:
		return r.text(f.mark, v, key, rename)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.walk(f, v[i], key, rename)
		}
		return out
	case map[string]any:
		switch f.mark {
		case labels:
			return r.labels(v, rename)
		case attributes:
			return r.attributes(v, rename)
		case resources:
			return resourcesOf(v, rename)
		case name:
		default:
			return r.provided(f.mark, v, rename)
		}
		key, _ := v["key"].(string)
		out := map[string]any{}
		for _, part := range slices.Sorted(maps.Keys(v)) {
			if out[part] = v[part]; f.below[part] != nil {
				out[part] = r.walk(f.below[part], v[part], key, rename)
			}
		}
		return out
	}
	return value
}

func (r *redaction) text(m mark, value, key string, rename func(string) string) string {
	switch m {
	case name:
		return rename(value)
	case values:
		return r.value(key, value, rename)
	case providerID:
		scheme, rest, ok := strings.Cut(value, "://")
		if !ok {
			return rename(value)
		}
		return scheme + "://" + rename(rest)
	case path:
		parts := strings.Split(value, "/")
		for i := range parts {
			parts[i] = rename(parts[i])
		}
		return strings.Join(parts, "/")
	case address:
		if value == "0.0.0.0" || value == "::" {
			return value
		}
		return rename(value)
	case className:
		if strings.HasPrefix(value, "system-") { // the prefix is reserved for Kubernetes
			return value
		}
		return rename(value)
	default:
		replaced, _ := r.provided(m, value, rename).(string)
		return replaced
	}
}

// provided returns what the redactor of a cloud provider makes of a value; without one, the value.
func (r *redaction) provided(m mark, value any, rename func(string) string) any {
	if redactor := r.format.redactors[m]; redactor != nil {
		return redactor(value, rename)
	}
	return value
}

func (r *redaction) labels(all map[string]any, rename func(string) string) map[string]any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		value, isText := all[key].(string)
		if out[key] = all[key]; isText {
			out[key] = r.value(key, value, rename)
		}
	}
	return out
}

// resourcesOf replaces names of device classes in implicit names of extended resources.
func resourcesOf(all map[string]any, rename func(string) string) map[string]any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		renamed := key
		if class, ok := strings.CutPrefix(key, resourcev1.ResourceDeviceClassPrefix); ok {
			renamed = resourcev1.ResourceDeviceClassPrefix + rename(class)
		}
		out[renamed] = all[key]
	}
	return out
}

// value replaces a value of a label, unless it is spared.
func (r *redaction) value(key, value string, rename func(string) string) string {
	if m, ok := r.format.redactedLabels[key]; ok {
		return r.text(m, value, key, rename)
	}
	if r.public(key) {
		return value
	}
	return rename(value)
}

// public reports whether the values of a label reveal nothing about their owner, or cannot be replaced.
func (r *redaction) public(key string) bool {
	key = r.rules.Normalize(key)
	switch key {
	case v1.NodePoolLabelKey, corev1.LabelHostname:
		return false
	case v1.NodeRegisteredLabelKey, v1.NodeInitializedLabelKey:
		return true
	}
	return r.rules.WellKnown[key] || r.numeric[key]
}

// attributes replaces the texts among attributes of devices. A CEL expression can compare an attribute with anything, so
// those whose name one mentions stay.
func (r *redaction) attributes(all map[string]any, rename func(string) string) map[string]any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		attribute, isMap := all[key].(map[string]any)
		out[key] = all[key]
		if !isMap || r.mentioned(key) {
			continue
		}
		replaced := maps.Clone(attribute)
		for _, part := range []string{"string", "strings"} {
			if attribute[part] != nil {
				replaced[part] = r.walk(&field{}, attribute[part], "", rename)
			}
		}
		out[key] = replaced
	}
	return out
}

func (r *redaction) mentioned(attribute string) bool {
	if i := strings.LastIndex(attribute, "/"); i >= 0 {
		attribute = attribute[i+1:]
	}
	return slices.ContainsFunc(r.expressions, func(e string) bool { return strings.Contains(e, attribute) })
}
