package crdtest

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LargestPool creates a pool that is as large as the schema allows: the server must be able to evaluate its rules within its budget.
func LargestPool(t *testing.T, c client.Client) {
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
	object := Valid(t, "NodePool")
	Put(t, object, "spec.template.spec.requirements", requirements)
	Put(t, object, "spec.template.metadata.labels", labels)
	Put(t, object, "spec.disruption.budgets", budgets)
	if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
		t.Errorf("%.1000s", err)
	}
	Put(t, object, "spec.template.spec.requirements", append(requirements, requirements[0]))
	if err := c.Create(t.Context(), object, client.DryRunAll); !apierrors.IsInvalid(err) {
		t.Errorf("one more requirement: %.1000v", err)
	}
}
