package e2e

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	overlayv1 "github.com/karpenter-anew/karpenter/api/v1alpha1"
)

// overlay is a NodeOverlay that gives one instance type a price.
func overlay(name, instanceType, price string) *overlayv1.NodeOverlay {
	out := &overlayv1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out.Spec.Requirements = []overlayv1.NodeSelectorRequirement{{
		Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{instanceType},
	}}
	out.Spec.Price = &price
	return out
}

// awaitValidation waits until the condition of an overlay is "True/<reason>/<message>".
func (w *harness) awaitValidation(o *overlayv1.NodeOverlay, want string) {
	w.t.Helper()
	w.await(fmt.Sprintf("nodeoverlay %q is %s", o.Name, want), patience, func() string {
		live := &overlayv1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: o.Name}}
		w.get(live)
		got := meta.FindStatusCondition(live.Status.Conditions, overlayv1.ConditionTypeValidationSucceeded)
		if got == nil || fmt.Sprintf("%s/%s/%s", got.Status, got.Reason, got.Message) != want {
			return "its conditions are " + conditions(live)
		}
		return ""
	})
}

// launched are the instance types of the claims, sorted, marked where their claim has the annotation of a price overlay.
func (w *harness) launched() []string {
	var out []string
	for _, c := range w.claims() {
		one := c.Labels[corev1.LabelInstanceTypeStable]
		if c.Annotations[v1.PriceOverlayAppliedAnnotationKey] == "true" {
			one += " overlaid"
		}
		out = append(out, one)
	}
	slices.Sort(out)
	return out
}

func (w *harness) awaitLaunched(want ...string) {
	w.t.Helper()
	w.await(fmt.Sprintf("what is launched is %q", want), patience, func() string {
		if got := w.launched(); !slices.Equal(got, want) {
			return fmt.Sprintf("%q", got)
		}
		return ""
	})
}

// TestOverlaysSteerLaunches while the controller runs: a price decides what is launched next, an overlay that
// conflicts has a condition and no effect, and applies when the conflicting one is deleted.
func TestOverlaysSteerLaunches(t *testing.T) {
	t.Attr("covers", "L361 L365")
	t.Parallel()
	const large, huge = "m-16x-amd64-linux", "m-64x-amd64-linux"
	const valid, conflict = "True/ValidationSucceeded/", "False/Conflict/conflict with another overlay"
	w := begin(t)
	onDemand := func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(v1.CapacityTypeLabelKey, "on-demand"))
	}
	w.create(class(), pool(onDemand))
	w.controller("--feature-gates=NodeOverlay=true")
	// One pod per node, whatever its size. The test creates them itself: it counts nodes, and a controller of workloads may create a pod more.
	add := func(names ...string) {
		for _, name := range names {
			one := deployment(name, 1, "1").Spec.Template
			one.Name, one.Namespace = name, "default"
			one.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
			w.create(&corev1.Pod{ObjectMeta: one.ObjectMeta, Spec: one.Spec})
		}
	}
	add("one")
	w.awaitLaunched("c-2x-amd64-linux")

	agreed := overlay("b-agreed", large, "0.001")
	w.create(agreed)
	w.awaitValidation(agreed, valid)
	add("two")
	w.awaitLaunched("c-2x-amd64-linux", large+" overlaid")

	late := overlay("a-late", large, "0.002")
	late.Spec.Requirements[0].Values = []string{large, huge}
	late.Spec.PriceAdjustment, late.Spec.Price = late.Spec.Price, nil
	*late.Spec.PriceAdjustment = "-100%"
	w.create(late)
	w.awaitValidation(late, conflict)
	w.awaitValidation(agreed, valid)
	add("three")
	w.awaitLaunched("c-2x-amd64-linux", large+" overlaid", large+" overlaid")

	change(w, agreed, func(o *overlayv1.NodeOverlay) { o.Spec.Requirements[0].Values = []string{"m-32x-amd64-linux"} })
	w.awaitValidation(late, valid)
	add("four", "five")
	w.await("two more nodes are free ones", patience, func() string {
		got := w.launched()
		if len(got) != 5 || slices.ContainsFunc(got[1:], func(one string) bool { return one != large+" overlaid" && one != huge+" overlaid" }) {
			return fmt.Sprintf("%q", got)
		}
		return ""
	})
}
