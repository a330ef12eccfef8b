package crds_test

import (
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
	"github.com/karpenter-anew/karpenter/test/crdtest"
)

// checkDefaults looks at what the server adds to objects that leave things out.
func checkDefaults(t *testing.T, c client.Client) {
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
	for _, test := range []struct {
		name, kind string
		put        string
		value      any
		look       []string
		want       any
	}{
		{"disruption when omitted", "NodePool", "spec.disruption", crdtest.Omit, []string{"spec", "disruption"}, disruption},
		{"disruption when empty", "NodePool", "spec.disruption", map[string]any{}, []string{"spec", "disruption"}, disruption},
		{"disruption when given in part", "NodePool", "spec.disruption", map[string]any{"consolidationPolicy": "WhenEmpty", "budgets": []any{}}, []string{"spec", "disruption"}, partial},
		{"expiry of a pool", "NodePool", "spec.template.spec.expireAfter", crdtest.Omit, []string{"spec", "template", "spec", "expireAfter"}, "720h"},
		{"expiry of a claim", "NodeClaim", "spec.expireAfter", crdtest.Omit, []string{"spec", "expireAfter"}, "720h"},
		{"nodes of a budget", "NodePool", "spec.disruption", map[string]any{"budgets": []any{map[string]any{"reasons": []any{}}}}, []string{"spec", "disruption", "budgets"}, []any{map[string]any{"nodes": "10%", "reasons": []any{}}}},
		{"labels that are empty stay", "NodePool", "spec.template.metadata.labels", map[string]any{}, []string{"spec", "template", "metadata", "labels"}, map[string]any{}},
		{"other template metadata is dropped", "NodePool", "spec.template.metadata", map[string]any{"name": "x", "annotations": map[string]any{"a": "b"}}, []string{"spec", "template", "metadata"}, map[string]any{"annotations": map[string]any{"a": "b"}}},
		{"strategy of a buffer", "CapacityBuffer", "spec", map[string]any{}, []string{"spec"}, map[string]any{"provisioningStrategy": "buffer.x-k8s.io/active-capacity"}},
		{"another strategy of a buffer stays", "CapacityBuffer", "spec.provisioningStrategy", "example.com/other", []string{"spec", "provisioningStrategy"}, "example.com/other"},
		{"limits of a buffer that are empty stay", "CapacityBuffer", "spec.limits", map[string]any{}, []string{"spec", "limits"}, map[string]any{}},
		{"an overlay gets no defaults", "NodeOverlay", "spec", map[string]any{"requirements": []any{}}, []string{"spec"}, map[string]any{"requirements": []any{}}},
		{"minValues is no field of an overlay", "NodeOverlay", "spec.requirements", []any{map[string]any{"key": "a", "operator": "Exists", "minValues": int64(2)}}, []string{"spec", "requirements"}, []any{map[string]any{"key": "a", "operator": "Exists"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := crdtest.Valid(t, test.kind)
			crdtest.Put(t, object, test.put, test.value)
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
		object := crdtest.Valid(t, "NodePool")
		crdtest.Create(t, c, object)
		pool := &v1.NodePool{}
		crdtest.Typed(t, object, pool)
		pool.Status.NodeClassObservedGeneration = 7
		crdtest.UpdateStatus(t, c, pool, object)
		if got, found, _ := unstructured.NestedInt64(object.Object, "status", "nodes"); got != 0 || !found {
			t.Errorf("status.nodes = %d, found %t, want a 0 that is there", got, found)
		}
	})
	t.Run("conditions of claims need neither reason nor message", func(t *testing.T) {
		object := crdtest.Valid(t, "NodeClaim")
		crdtest.Create(t, c, object)
		claim := &v1.NodeClaim{}
		crdtest.Typed(t, object, claim)
		claim.Status.Conditions = []metav1.Condition{{Type: "Launched", Status: "True", LastTransitionTime: metav1.NewTime(time.Unix(1, 0))}}
		crdtest.UpdateStatus(t, c, claim, object)
		for _, field := range []string{"reason", "message"} {
			removeFromConditions(t, object, field)
		}
		if err := c.Status().Update(t.Context(), object); err != nil {
			t.Errorf("a condition without reason and message: %v", err)
		}
	})
	for _, kind := range []string{"NodePool", "NodeOverlay", "CapacityBuffer"} {
		t.Run("conditions need a reason: "+kind, func(t *testing.T) {
			object := crdtest.Valid(t, kind)
			crdtest.Create(t, c, object)
			condition := map[string]any{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2024-01-01T01:01:01Z"}
			crdtest.Put(t, object, "status.conditions", []any{condition})
			if err := c.Status().Update(t.Context(), object); !apierrors.IsInvalid(err) {
				t.Errorf("a condition with an empty reason: %v", err)
			}
		})
	}
	t.Run("an overlay has conditions of the engine", func(t *testing.T) {
		object := crdtest.Valid(t, "NodeOverlay")
		crdtest.Create(t, c, object)
		overlay := &v1alpha1.NodeOverlay{}
		crdtest.Typed(t, object, overlay)
		condition.For(overlay, time.Unix(1, 0)).False(v1alpha1.ConditionTypeValidationSucceeded, "Conflict", "conflict with another overlay")
		crdtest.UpdateStatus(t, c, overlay, object)
		crdtest.Typed(t, object, overlay)
		if got := condition.Status(overlay, v1alpha1.ConditionTypeReady); got != metav1.ConditionFalse {
			t.Errorf("an overlay with a conflict is ready: %s", got)
		}
	})
	t.Run("a buffer keeps what its status says", func(t *testing.T) {
		object := crdtest.Valid(t, "CapacityBuffer")
		crdtest.Create(t, c, object)
		buffer := &v1beta1.CapacityBuffer{}
		crdtest.Typed(t, object, buffer)
		want := v1beta1.CapacityBufferStatus{
			PodTemplateRef: &v1beta1.LocalObjectRef{Name: "chunk"}, PodTemplateGeneration: new(int64(3)), Replicas: new(int32(0)),
			ProvisioningStrategy: buffer.Spec.ProvisioningStrategy,
		}
		meta.SetStatusCondition(&want.Conditions, metav1.Condition{
			Type: v1beta1.ConditionTypeProvisioning, Status: metav1.ConditionFalse, Reason: "BufferEmpty",
			LastTransitionTime: metav1.NewTime(time.Unix(1, 0)),
		})
		buffer.Status = want
		crdtest.UpdateStatus(t, c, buffer, object)
		got := &v1beta1.CapacityBuffer{}
		crdtest.Typed(t, object, got)
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
		pool := crdtest.Valid(t, "NodePool")
		crdtest.Create(t, c, pool)
		if err := scale(t, pool, 2); !apierrors.IsInvalid(err) {
			t.Errorf("scaling: %v", err)
		}
	})
	t.Run("a static pool can be scaled", func(t *testing.T) {
		pool := crdtest.Valid(t, "NodePool")
		crdtest.Put(t, pool, "spec.replicas", int64(1))
		crdtest.Create(t, c, pool)
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
	object := crdtest.Valid(t, "NodePool")
	crdtest.Put(t, object, "spec.template.spec.expireAfter", "43200m")
	crdtest.Put(t, object, "spec.template.metadata", map[string]any{"labels": map[string]any{}})
	crdtest.Put(t, object, "spec.disruption", map[string]any{"consolidateAfter": "90s", "budgets": []any{}})
	crdtest.Create(t, c, object)
	generation, kind := object.GetGeneration(), object.GroupVersionKind()
	pool := &v1.NodePool{}
	crdtest.Typed(t, object, pool)
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
	crdtest.Put(t, object, "status.conditions", conditions)
}
