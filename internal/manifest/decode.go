package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/api/quantity"
)

// decode adds the object of a document, or the items of a list.
func (r *Reader) decode(into *Manifest, d document) error {
	raw, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return d.unreadable(err)
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &content); err != nil {
		return d.problem("", "", "not an object: want apiVersion, kind and metadata")
	}
	if items, ok := content["items"].([]any); ok && strings.HasSuffix(text(content, "kind"), "List") {
		var errs []error
		for i, item := range items {
			one, ok := item.(map[string]any)
			if !ok {
				errs = append(errs, d.problem("", fmt.Sprintf("items[%d]", i), "not an object"))
				continue
			}
			// The API server's own lists, such as a PodList, say once what their items are.
			if kind := strings.TrimSuffix(text(content, "kind"), "List"); kind != "" && one["kind"] == nil && one["apiVersion"] == nil {
				one["kind"], one["apiVersion"] = kind, content["apiVersion"]
			}
			errs = append(errs, r.object(into, d, one, fmt.Sprintf("items[%d].", i)))
		}
		return errors.Join(errs...)
	}
	return r.object(into, d, content, "")
}

// object adds one object; prefix is its place within the document.
func (r *Reader) object(into *Manifest, d document, content map[string]any, prefix string) error {
	apiVersion, kind := text(content, "apiVersion"), text(content, "kind")
	for _, field := range []string{"apiVersion", "kind"} {
		if text(content, field) == "" {
			return d.problem("", prefix+field, "missing; every document needs apiVersion and kind")
		}
	}
	gv, err := runtimeschema.ParseGroupVersion(apiVersion)
	if err != nil {
		return d.problem("", prefix+"apiVersion", "%w", err)
	}
	gvk := gv.WithKind(kind)
	metadata, _ := content["metadata"].(map[string]any)
	what := strings.TrimSpace(kind + " " + text(metadata, "name"))
	empty, err := r.scheme.New(gvk)
	if err != nil {
		if r.known(gvk.Group) && r.kindsOf(gv) == "" {
			return d.problem(what, prefix+"apiVersion", "%s is not read; for objects of earlier APIs there is karpenter convert", apiVersion)
		}
		if r.known(gvk.Group) {
			return d.problem(what, prefix+"kind", "kind %q does not exist in %s; known are %s", kind, apiVersion, r.kindsOf(gv))
		}
		into.Skipped = append(into.Skipped, fmt.Sprintf("%s:%d: %s", d.file, d.lineOf(prefix+"kind"), what))
		return nil
	}
	o, ok := empty.(client.Object)
	if !ok {
		return d.problem(what, prefix+"kind", "a %s is not an object with metadata", kind)
	}
	if text(metadata, "name") == "" {
		return d.problem(what, prefix+"metadata.name", "missing")
	}
	if errs := r.fill(o, gvk, content); len(errs) > 0 {
		joined := make([]error, len(errs))
		for i, f := range errs {
			joined[i] = d.problem(what, prefix+f.field, "%s", f.message)
		}
		return errors.Join(joined...)
	}
	r.identify(o, gvk)
	into.Objects = append(into.Objects, o)
	into.places = append(into.places, place{d, prefix})
	return nil
}

// finding is something wrong with a field.
type finding struct{ field, message string }

// fill decodes content into o, after defaulting and validation where there is a schema.
func (r *Reader) fill(o client.Object, gvk runtimeschema.GroupVersionKind, content map[string]any) []finding {
	s, ours := r.schemas[gvk.String()]
	findings := quantities(content, "", false, ours)
	for _, path := range quantity.Unreadable(content, reflect.TypeOf(o)) {
		if !slices.ContainsFunc(findings, func(f finding) bool { return f.field == path }) {
			findings = append(findings, finding{path, "not a quantity such as 500m or 2Gi, with an exponent of two digits at most"})
		}
	}
	if ours {
		findings = append(findings, s.unknown(content)...)
		s.complete(content)
		findings = append(findings, s.validate(content, r.before(o, gvk, content))...)
	}
	if len(findings) > 0 {
		return findings
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return []finding{{"", err.Error()}}
	}
	strict, err := kjson.UnmarshalStrict(raw, o)
	if err != nil {
		strict = append(strict, err)
	}
	for _, e := range strict {
		findings = append(findings, located(e.Error()))
	}
	return append(findings, invalidCounts(o)...)
}

// maxPods limits the pods of a workload: several times the pods of the largest clusters, and as many as fit in memory.
const maxPods = 500_000

// invalidCounts finds numbers of pods that cannot be.
func invalidCounts(o client.Object) []finding {
	counts := map[string]*int32{}
	switch o := o.(type) {
	case *appsv1.Deployment:
		counts["spec.replicas"] = o.Spec.Replicas
	case *appsv1.ReplicaSet:
		counts["spec.replicas"] = o.Spec.Replicas
	case *appsv1.StatefulSet:
		counts["spec.replicas"] = o.Spec.Replicas
	case *corev1.ReplicationController:
		counts["spec.replicas"] = o.Spec.Replicas
	case *batchv1.Job:
		counts["spec.parallelism"], counts["spec.completions"] = o.Spec.Parallelism, o.Spec.Completions
	}
	var out []finding
	for _, field := range slices.Sorted(maps.Keys(counts)) {
		switch n := counts[field]; {
		case n == nil:
		case *n < 0:
			out = append(out, finding{field, "must not be negative"})
		case *n > maxPods && field != "spec.completions":
			out = append(out, finding{field, fmt.Sprintf("%d pods are more than the %d that can be planned for at once", *n, maxPods)})
		}
	}
	return out
}

// The decoder names fields in these two ways.
var (
	unknownField = regexp.MustCompile(`^(unknown|duplicate) field "([^"]*)"$`)
	wrongType    = regexp.MustCompile(`cannot unmarshal (\S+) into Go struct field \w+\.(\S+) of type \S*?([A-Za-z0-9]+)$`)
)

// located splits a decoder's message into field and complaint.
func located(message string) finding {
	if m := unknownField.FindStringSubmatch(message); m != nil {
		return finding{m[2], m[1] + " field"}
	}
	if m := wrongType.FindStringSubmatch(message); m != nil {
		return finding{m[2], fmt.Sprintf("is a %s, want %s", m[1], m[3])}
	}
	return finding{"", message}
}

// quantities finds values that should be quantities and are not. The decoder finds them too but without their location. Unless signed
// is set, because a schema says what may be, they must not be negative either.
func quantities(value any, path string, inside, signed bool) []finding {
	var out []finding
	negative := false
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			within := inside
			if _, nested := v[key].(map[string]any); nested {
				within = holdsQuantities(key)
			}
			out = append(out, quantities(v[key], join(path, key), within, signed)...)
		}
	case []any:
		for i := range v {
			out = append(out, quantities(v[i], fmt.Sprintf("%s[%d]", path, i), false, signed)...)
		}
	case string:
		q, err := quantity.Parse(v)
		if inside && err != nil {
			out = append(out, finding{path, fmt.Sprintf("%q is not a quantity such as 500m or 2Gi", v)})
		}
		negative = err == nil && q.Sign() < 0
	case int64:
		negative = v < 0
	case float64:
		negative = v < 0
	}
	if inside && negative && !signed {
		out = append(out, finding{path, "must not be negative"})
	}
	return out
}

func holdsQuantities(key string) bool {
	switch key {
	case "requests", "limits", "capacity", "allocatable", "overhead", "podFixed":
		return true
	}
	return false
}

func join(path, key string) string {
	if strings.ContainsAny(key, "./") {
		return path + "[" + key + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func text(content map[string]any, key string) string {
	s, _ := content[key].(string)
	return s
}

func (r *Reader) kindsOf(gv runtimeschema.GroupVersion) string {
	var kinds []string
	for kind := range r.scheme.KnownTypes(gv) {
		if o, err := r.scheme.New(gv.WithKind(kind)); err == nil {
			if _, ok := o.(client.Object); ok {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ", ")
}

// identify gives o the identity that a cluster would: kind, namespace and a UID, which is derived from the name.
func (r *Reader) identify(o client.Object, gvk runtimeschema.GroupVersionKind) {
	o.GetObjectKind().SetGroupVersionKind(gvk)
	switch {
	case r.clusterScoped(gvk):
		o.SetNamespace("")
	case o.GetNamespace() == "":
		o.SetNamespace("default")
	}
	if o.GetUID() == "" {
		o.SetUID(uidOf(gvk.Kind, o.GetNamespace(), o.GetName()))
	}
}

func uidOf(parts ...string) types.UID {
	given := slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return types.UID(strings.ToLower(strings.Join(given, "/")))
}
