package crdtest

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Omit is the fragment that removes a path.
const Omit = "OMIT"

// Valid returns an object of a core kind that the server accepts.
func Valid(t *testing.T, kind string) *unstructured.Unstructured {
	t.Helper()
	const node = "{nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}, requirements: []}"
	const disruptionPlan = `{method: drift, reason: Drifted, action: delete, operationsPolicy: {name: a, why: b}, risk: 0, inputHash: x,
		nodes: [{name: node-1, nodeClaim: pool-1, nodeClaimUID: u, nodePool: pool}], expiresAt: "2030-01-01T00:00:00Z",
		admission: {policyUID: u, policyGeneration: 1, bindingUID: u, bindingGeneration: 1}}`
	return Object(t, kind, map[string]string{
		"NodePool":         "{apiVersion: karpenter.sh/v1, spec: {template: {spec: " + node + "}}}",
		"NodeClaim":        "{apiVersion: karpenter.sh/v1, spec: " + node + "}",
		"NodeOverlay":      "{apiVersion: karpenter.sh/v1alpha1, spec: {requirements: []}}",
		"OperationsPolicy": "{apiVersion: ops.karpenter.sh/v1alpha1, spec: {}}",
		"DisruptionPlan":   "{apiVersion: ops.karpenter.sh/v1alpha1, spec: " + disruptionPlan + "}",
		"CapacityBuffer":   "{apiVersion: autoscaling.x-k8s.io/v1beta1, metadata: {namespace: default}, spec: {}}",
	}[kind])
}

// Object returns an object from a manifest without a kind and a name.
func Object(t *testing.T, kind, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil || object.Object == nil {
		t.Fatalf("no manifest of a valid %q: %v", kind, err)
	}
	object.SetKind(kind)
	object.SetName("vector")
	return object
}

// Put sets the value at a dotted path, creating the objects above it, or removes the path if the value is Omit.
func Put(t *testing.T, object *unstructured.Unstructured, path string, value any) {
	t.Helper()
	fields := strings.Split(path, ".")
	if value == Omit {
		unstructured.RemoveNestedField(object.Object, fields...)
		return
	}
	if err := unstructured.SetNestedField(object.Object, Integers(value), fields...); err != nil {
		t.Fatalf("setting %s: %v", path, err)
	}
}

// Integers converts the numbers of a decoded table, which are all floating point, to integers.
func Integers(value any) any {
	switch value := value.(type) {
	case float64:
		return int64(value)
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = Integers(value[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(value))
		for k := range value {
			out[k] = Integers(value[k])
		}
		return out
	default:
		return value
	}
}

// Typed reads an object into its Go type.
func Typed(t *testing.T, object *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		t.Fatal(err)
	}
}
