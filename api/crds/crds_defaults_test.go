package crds_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
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
		{"strategy of a buffer", "CapacityBuffer", "spec", map[string]any{}, []string{"spec"}, map[string]any{"provisioningStrategy": "buffer.x-k8s.io/active-capacity"}},
		{"another strategy of a buffer stays", "CapacityBuffer", "spec.provisioningStrategy", "example.com/other", []string{"spec", "provisioningStrategy"}, "example.com/other"},
		{"limits of a buffer that are empty stay", "CapacityBuffer", "spec.limits", map[string]any{}, []string{"spec", "limits"}, map[string]any{}},
		{"an overlay gets no defaults", "NodeOverlay", "spec", map[string]any{"requirements": []any{}}, []string{"spec"}, map[string]any{"requirements": []any{}}},
		{"minValues is no field of an overlay", "NodeOverlay", "spec.requirements", []any{map[string]any{"key": "a", "operator": "Exists", "minValues": int64(2)}}, []string{"spec", "requirements"}, []any{map[string]any{"key": "a", "operator": "Exists"}}},
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
	for _, kind := range []string{"NodePool", "NodeOverlay", "CapacityBuffer"} {
		t.Run("conditions need a reason: "+kind, func(t *testing.T) {
			object := valid(t, kind)
			create(t, c, object)
			condition := map[string]any{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2024-01-01T01:01:01Z"}
			put(t, object, "status.conditions", []any{condition})
			if err := c.Status().Update(t.Context(), object); !apierrors.IsInvalid(err) {
				t.Errorf("a condition with an empty reason: %v", err)
			}
		})
	}
	t.Run("an overlay has conditions of the engine", func(t *testing.T) {
		object := valid(t, "NodeOverlay")
		create(t, c, object)
		overlay := &v1alpha1.NodeOverlay{}
		typed(t, object, overlay)
		condition.For(overlay, time.Unix(1, 0)).False(v1alpha1.ConditionTypeValidationSucceeded, "Conflict", "conflict with another overlay")
		updateStatus(t, c, overlay, object)
		typed(t, object, overlay)
		if got := condition.Status(overlay, v1alpha1.ConditionTypeReady); got != metav1.ConditionFalse {
			t.Errorf("an overlay with a conflict is ready: %s", got)
		}
	})
	t.Run("a buffer keeps what its status says", func(t *testing.T) {
		object := valid(t, "CapacityBuffer")
		create(t, c, object)
		buffer := &v1beta1.CapacityBuffer{}
		typed(t, object, buffer)
		want := v1beta1.CapacityBufferStatus{
			PodTemplateRef: &v1beta1.LocalObjectRef{Name: "chunk"}, PodTemplateGeneration: new(int64(3)), Replicas: new(int32(0)),
			ProvisioningStrategy: buffer.Spec.ProvisioningStrategy,
		}
		meta.SetStatusCondition(&want.Conditions, metav1.Condition{
			Type: v1beta1.ConditionTypeProvisioning, Status: metav1.ConditionFalse, Reason: "BufferEmpty",
			LastTransitionTime: metav1.NewTime(time.Unix(1, 0)),
		})
		buffer.Status = want
		updateStatus(t, c, buffer, object)
		got := &v1beta1.CapacityBuffer{}
		typed(t, object, got)
		if diff := cmp.Diff(want, got.Status); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// checkScale changes pools through the scale subresource.
func checkScale(t *testing.T, c client.Client) {
	scale := func(t *testing.T, pool *unstructured.Unstructured, replicas int64) error {
		body := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": replicas},
		}}
		body.SetName(pool.GetName())
		return c.SubResource("scale").Update(t.Context(), pool, client.WithSubResourceBody(body))
	}
	t.Run("a dynamic pool cannot be scaled", func(t *testing.T) {
		pool := valid(t, "NodePool")
		create(t, c, pool)
		if err := scale(t, pool, 2); !apierrors.IsInvalid(err) {
			t.Errorf("scaling: %v", err)
		}
	})
	t.Run("a static pool can be scaled", func(t *testing.T) {
		pool := valid(t, "NodePool")
		put(t, pool, "spec.replicas", int64(1))
		create(t, c, pool)
		if err := scale(t, pool, 2); err != nil {
			t.Errorf("scaling: %v", err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedInt64(pool.Object, "spec", "replicas"); got != 2 {
			t.Errorf("spec.replicas = %d, want 2", got)
		}
	})
}

// checkRoundTrip reads a pool into its Go type and writes it back, which must not count as a change.
func checkRoundTrip(t *testing.T, c client.Client) {
	object := valid(t, "NodePool")
	put(t, object, "spec.template.spec.expireAfter", "43200m")
	put(t, object, "spec.template.metadata", map[string]any{"labels": map[string]any{}})
	put(t, object, "spec.disruption", map[string]any{"consolidateAfter": "90s", "budgets": []any{}})
	create(t, c, object)
	generation, kind := object.GetGeneration(), object.GroupVersionKind()
	pool := &v1.NodePool{}
	typed(t, object, pool)
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pool)
	if err != nil {
		t.Fatal(err)
	}
	object.Object = raw
	object.SetGroupVersionKind(kind)
	if err := c.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if object.GetGeneration() != generation {
		t.Errorf("writing a pool back unchanged raised its generation from %d to %d", generation, object.GetGeneration())
	}
}

// checkLargest makes a pool that is as large as the schema allows: evaluating its rules must fit the server's budget.
func checkLargest(t *testing.T, c client.Client) {
	var requirements, values, budgets []any
	labels := map[string]any{}
	for i := range 1000 {
		values = append(values, fmt.Sprintf("value-%d", i))
	}
	for i := range 100 {
		name := fmt.Sprintf("%s.example.com/%s-%03d", strings.Repeat("a", 240), strings.Repeat("b", 59), i)
		requirements = append(requirements, map[string]any{"key": name, "operator": "In", "values": values, "minValues": int64(50)})
		labels[name] = strings.Repeat("c", 63)
	}
	for range 50 {
		budgets = append(budgets, map[string]any{"schedule": "@daily", "duration": "1h"})
	}
	object := valid(t, "NodePool")
	put(t, object, "spec.template.spec.requirements", requirements)
	put(t, object, "spec.template.metadata.labels", labels)
	put(t, object, "spec.disruption.budgets", budgets)
	if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
		t.Errorf("%.1000s", err)
	}
	put(t, object, "spec.template.spec.requirements", append(requirements, requirements[0]))
	if err := c.Create(t.Context(), object, client.DryRunAll); !apierrors.IsInvalid(err) {
		t.Errorf("one more requirement: %.1000v", err)
	}
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
