package crds_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// checkDefaults looks at what the server adds to objects that leave things out.
func checkDefaults(t *testing.T, c client.Client, set string) {
	disruption := map[string]any{
		"consolidateAfter":    "0s",
		"consolidationPolicy": "WhenEmptyOrUnderutilized",
		"budgets":             []any{map[string]any{"nodes": "10%"}},
	}
	partial := map[string]any{
		"consolidateAfter":    "0s",
		"consolidationPolicy": "WhenEmpty",
		"budgets":             []any{},
	}
	readyStatus := map[string]any{"conditions": []any{map[string]any{
		"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2024-01-01T01:01:01Z",
	}}}
	for _, test := range []struct {
		name, kind string
		put        string
		value      any
		look       []string
		want       any
	}{
		{"disruption when omitted", "NodePool", "spec.disruption", omit, []string{"spec", "disruption"}, disruption},
		{"disruption when empty", "NodePool", "spec.disruption", map[string]any{}, []string{"spec", "disruption"}, disruption},
		{"disruption when given in part", "NodePool", "spec.disruption", map[string]any{"consolidationPolicy": "WhenEmpty", "budgets": []any{}}, []string{"spec", "disruption"}, partial},
		{"expiry of a pool", "NodePool", "spec.template.spec.expireAfter", omit, []string{"spec", "template", "spec", "expireAfter"}, "720h"},
		{"expiry of a claim", "NodeClaim", "spec.expireAfter", omit, []string{"spec", "expireAfter"}, "720h"},
		{"nodes of a budget", "NodePool", "spec.disruption", map[string]any{"budgets": []any{map[string]any{"reasons": []any{}}}}, []string{"spec", "disruption", "budgets"}, []any{map[string]any{"nodes": "10%", "reasons": []any{}}}},
		{"labels that are empty stay", "NodePool", "spec.template.metadata.labels", map[string]any{}, []string{"spec", "template", "metadata", "labels"}, map[string]any{}},
		{"other template metadata is dropped", "NodePool", "spec.template.metadata", map[string]any{"name": "x", "annotations": map[string]any{"a": "b"}}, []string{"spec", "template", "metadata"}, map[string]any{"annotations": map[string]any{"a": "b"}}},
		{"status of a kwok node class", "KWOKNodeClass", "spec", omit, []string{"status"}, readyStatus},
	} {
		if test.kind == "KWOKNodeClass" && set != "kwok" {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			object := valid(t, test.kind)
			put(t, object, test.put, test.value)
			if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			got, _, err := unstructured.NestedFieldNoCopy(object.Object, test.look...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// checkStatus writes the status of objects through the Go types, the way the controllers do.
func checkStatus(t *testing.T, c client.Client) {
	t.Run("a pool without a node count gets 0", func(t *testing.T) {
		object := valid(t, "NodePool")
		create(t, c, object)
		pool := &v1.NodePool{}
		typed(t, object, pool)
		pool.Status.NodeClassObservedGeneration = 7
		updateStatus(t, c, pool, object)
		if got, found, _ := unstructured.NestedInt64(object.Object, "status", "nodes"); got != 0 || !found {
			t.Errorf("status.nodes = %d, found %t, want a 0 that is there", got, found)
		}
	})
	t.Run("conditions of claims need neither reason nor message", func(t *testing.T) {
		object := valid(t, "NodeClaim")
		create(t, c, object)
		claim := &v1.NodeClaim{}
		typed(t, object, claim)
		claim.Status.Conditions = []metav1.Condition{{Type: "Launched", Status: "True", LastTransitionTime: metav1.NewTime(time.Unix(1, 0))}}
		updateStatus(t, c, claim, object)
		for _, field := range []string{"reason", "message"} {
			removeFromConditions(t, object, field)
		}
		if err := c.Status().Update(t.Context(), object); err != nil {
			t.Errorf("a condition without reason and message: %v", err)
		}
	})
	t.Run("conditions of pools need a reason", func(t *testing.T) {
		object := valid(t, "NodePool")
		create(t, c, object)
		condition := map[string]any{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2024-01-01T01:01:01Z"}
		put(t, object, "status.conditions", []any{condition})
		if err := c.Status().Update(t.Context(), object); err == nil {
			t.Error("a condition with an empty reason was accepted")
		}
	})
	t.Run("a dynamic pool cannot be scaled", func(t *testing.T) {
		object := valid(t, "NodePool")
		create(t, c, object)
		scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": int64(2)}}}
		scale.SetName(object.GetName())
		if err := c.SubResource("scale").Update(t.Context(), object, client.WithSubResourceBody(scale)); err == nil {
			t.Error("scaling was accepted")
		}
	})
	t.Run("a static pool can be scaled", func(t *testing.T) {
		object := valid(t, "NodePool")
		put(t, object, "spec.replicas", int64(1))
		create(t, c, object)
		scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": int64(2)}}}
		scale.SetName(object.GetName())
		if err := c.SubResource("scale").Update(t.Context(), object, client.WithSubResourceBody(scale)); err != nil {
			t.Errorf("scaling: %v", err)
		}
	})
	t.Run("durations are stored as they were written", func(t *testing.T) {
		object := valid(t, "NodePool")
		put(t, object, "spec.template.spec.expireAfter", "43200m")
		put(t, object, "spec.disruption", map[string]any{"consolidateAfter": "90s", "budgets": []any{}})
		create(t, c, object)
		pool := &v1.NodePool{}
		typed(t, object, pool)
		generation := object.GetGeneration()
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pool)
		if err != nil {
			t.Fatal(err)
		}
		object.Object = raw
		object.SetAPIVersion("karpenter.sh/v1")
		object.SetKind("NodePool")
		if err := c.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if object.GetGeneration() != generation {
			t.Errorf("writing a pool back unchanged raised its generation from %d to %d", generation, object.GetGeneration())
		}
	})
}

// create stores an object for the length of the test.
func create(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, c, object) })
}

// typed reads an object into its Go type.
func typed(t *testing.T, object *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		t.Fatal(err)
	}
}

// updateStatus writes the status of a Go object and reads the result into object.
func updateStatus(t *testing.T, c client.Client, from any, object *unstructured.Unstructured) {
	t.Helper()
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	if err != nil {
		t.Fatal(err)
	}
	kind := object.GroupVersionKind()
	object.Object = raw
	object.SetGroupVersionKind(kind)
	if err := c.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// removeFromConditions drops a field from each condition of an object.
func removeFromConditions(t *testing.T, object *unstructured.Unstructured, field string) {
	t.Helper()
	conditions, found, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil || !found {
		t.Fatalf("no conditions: %v", err)
	}
	for _, condition := range conditions {
		delete(condition.(map[string]any), field)
	}
	put(t, object, "status.conditions", conditions)
}
