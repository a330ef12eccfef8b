package featuregate_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/featuregate"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeoverlay"
	"github.com/karpenter-anew/karpenter/internal/controller/operationspolicy"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/overlay"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

const (
	overlayOff = "False/NodeOverlayDisabled/the feature gate NodeOverlay is off: this NodeOverlay is not applied; " +
		"start the controller with --feature-gates=NodeOverlay=true"
	policyOff = "False/OperationsPolicyDisabled/the feature gate OperationsPolicy is off: this OperationsPolicy is not applied; " +
		"start the controller with --feature-gates=OperationsPolicy=true"
	bufferOff = "False/CapacityBufferDisabled/the feature gate CapacityBuffer is off: this CapacityBuffer is not applied; " +
		"start the controller with --feature-gates=CapacityBuffer=true"
	planOff = "the feature gate OperationsPolicy is off: this DisruptionPlan is not executed; " +
		"start the controller with --feature-gates=OperationsPolicy=true"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Generation: 1} }

func priced(name string) *v1alpha1.NodeOverlay {
	out := &v1alpha1.NodeOverlay{ObjectMeta: named(name)}
	out.Spec.Price = new("7")
	return out
}

func planned(name string, phase opsv1alpha1.PlanPhase) *opsv1alpha1.DisruptionPlan {
	return &opsv1alpha1.DisruptionPlan{ObjectMeta: named(name), Status: opsv1alpha1.DisruptionPlanStatus{Phase: phase}}
}

// buffer is a CapacityBuffer that is ready, by conditions that these programs wrote.
func buffer(name string, managers ...string) *v1beta1.CapacityBuffer {
	out := &v1beta1.CapacityBuffer{ObjectMeta: named(name)}
	out.Namespace = corev1.NamespaceDefault
	out.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply}}
	for _, manager := range managers {
		out.ManagedFields = append(out.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status"})
	}
	for _, kind := range []string{v1beta1.ConditionTypeReadyForProvisioning, v1beta1.ConditionTypeProvisioning} {
		meta.SetStatusCondition(&out.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Resolved"})
	}
	return out
}

// pass runs the controller with these gates once.
func pass(w *fakecluster.Cluster, gates options.FeatureGates) {
	w.Helper()
	if got := w.Run(featuregate.New(w.Shared, gates), &corev1.Node{}); got != requeue.After(time.Minute) {
		w.Errorf("runs again in %v, want a minute", got)
	}
}

func readyOf(w *fakecluster.Cluster, o interface {
	client.Object
	condition.Object
},
) string {
	w.Helper()
	return fakecluster.Condition(*fakecluster.Must(w, o.(client.Object)).(condition.Object).ConditionList(), "Ready")
}

// TestObjectsSayThatTheirGateIsOff, and that it is on again once their controllers run.
func TestObjectsSayThatTheirGateIsOff(t *testing.T) {
	o, fresh, p := priced("o"), priced("fresh"), &opsv1alpha1.OperationsPolicy{ObjectMeta: named("p")}
	w := fakecluster.New(t, fakecluster.Pool(), o, p)
	overlays, policies := nodeoverlay.New(w.Shared, &overlay.Store{}), operationspolicy.New(w.Shared)
	w.Run(overlays, o)
	w.Run(policies, p)
	if got := []string{readyOf(w, o), readyOf(w, p)}; got[0] != "True/Ready/" || got[1] != "True/Ready/" {
		t.Fatalf("with the gates on: %q", got)
	}
	w.Add(fresh)
	pass(w, options.FeatureGates{})
	if diff := cmp.Diff([]string{overlayOff, overlayOff, policyOff}, []string{readyOf(w, o), readyOf(w, fresh), readyOf(w, p)}); diff != "" {
		t.Errorf("with the gates off (-want +got)\n%s", diff)
	}
	if got := fakecluster.Condition(fakecluster.Must(w, o).Status.Conditions, "ValidationSucceeded"); got != "True/ValidationSucceeded/" {
		t.Errorf("ValidationSucceeded: %s", got)
	}
	w.Run(overlays, o)
	w.Run(policies, p)
	for _, got := range []string{readyOf(w, o), readyOf(w, fresh), readyOf(w, p)} {
		if got != "True/Ready/" {
			t.Errorf("with the gates on again: %s", got)
		}
	}
}

func TestOpenPlansWaitForTheirGate(t *testing.T) {
	proposed, approved, ended := planned("proposed", opsv1alpha1.PlanProposed), planned("approved", opsv1alpha1.PlanApproved), planned("ended", opsv1alpha1.PlanExecuted)
	w := fakecluster.New(t, proposed, approved, ended)
	pass(w, options.FeatureGates{})
	for plan, want := range map[*opsv1alpha1.DisruptionPlan]string{proposed: planOff, approved: planOff, ended: ""} {
		got := fakecluster.Must(w, plan)
		if got.Status.WaitingFor != want || got.Status.Phase != plan.Status.Phase {
			t.Errorf("%s: phase %s, waiting for %q, want %q", plan.Name, got.Status.Phase, got.Status.WaitingFor, want)
		}
	}
}

// TestBuffersOfOthersAreLeftAlone: cluster-autoscaler serves the same kind.
func TestBuffersOfOthersAreLeftAlone(t *testing.T) {
	own, foreign, both, none := buffer("own", "karpenter"), buffer("foreign", "cluster-autoscaler"), buffer("both", "karpenter", "cluster-autoscaler"), buffer("none")
	w := fakecluster.New(t, own, foreign, both, none)
	before := map[string]*v1beta1.CapacityBuffer{}
	for _, b := range []*v1beta1.CapacityBuffer{foreign, both, none} {
		before[b.Name] = fakecluster.Must(w, b)
	}
	pass(w, options.FeatureGates{})
	got := fakecluster.Must(w, own).Status.Conditions
	if ready := fakecluster.Condition(got, "ReadyForProvisioning"); ready != bufferOff {
		t.Errorf("a buffer that Karpenter served: %s", ready)
	}
	if there := fakecluster.Condition(got, "Provisioning"); there != "False/NotReadyForProvisioning/the buffer is not ready for provisioning" {
		t.Errorf("its capacity: %s", there)
	}
	for name, b := range before {
		if diff := cmp.Diff(b, fakecluster.Must(w, b)); diff != "" {
			t.Errorf("%s was written\n%s", name, diff)
		}
	}
}

// TestConditionsAreWrittenOnce for each generation.
func TestConditionsAreWrittenOnce(t *testing.T) {
	o := priced("o")
	w := fakecluster.New(t, o, &opsv1alpha1.OperationsPolicy{ObjectMeta: named("p")}, planned("plan", opsv1alpha1.PlanProposed), buffer("b", "karpenter"))
	writes := 0
	w.Fail = func(op string, _ runtime.Object) error {
		if op == "patch-status" {
			writes++
		}
		return nil
	}
	pass(w, options.FeatureGates{})
	if writes != 4 {
		t.Errorf("%d writes of 4 objects", writes)
	}
	w.Time.Step(time.Hour)
	pass(w, options.FeatureGates{})
	if writes != 4 {
		t.Errorf("%d writes after a second pass, want 4", writes)
	}
	fakecluster.Change(w, o, func(o *v1alpha1.NodeOverlay) { o.Generation++ })
	pass(w, options.FeatureGates{})
	if c := meta.FindStatusCondition(fakecluster.Must(w, o).Status.Conditions, "Ready"); writes != 5 || c.ObservedGeneration != 2 {
		t.Errorf("after a change of one object: %d writes, generation %d", writes, c.ObservedGeneration)
	}
}

func TestObjectsOfGatesThatAreOnAreLeftAlone(t *testing.T) {
	o, p, plan, b := priced("o"), &opsv1alpha1.OperationsPolicy{ObjectMeta: named("p")}, planned("plan", opsv1alpha1.PlanApproved), buffer("b", "karpenter")
	on := options.FeatureGates{NodeOverlay: true, CapacityBuffer: true, OperationsPolicy: true}
	if got := featuregate.New(fakecluster.New(t).Shared, on); got != nil {
		t.Errorf("a controller although all gates are on: %+v", got)
	}
	for _, c := range []struct {
		gates options.FeatureGates
		want  [4]bool
	}{
		{options.FeatureGates{CapacityBuffer: true, OperationsPolicy: true}, [4]bool{true, false, false, false}},
		{options.FeatureGates{NodeOverlay: true, CapacityBuffer: true}, [4]bool{false, true, true, false}},
		{options.FeatureGates{NodeOverlay: true, OperationsPolicy: true}, [4]bool{false, false, false, true}},
	} {
		w := fakecluster.New(t, o, p, plan, b)
		pass(w, c.gates)
		got := [4]bool{
			readyOf(w, o) != "", readyOf(w, p) != "", fakecluster.Must(w, plan).Status.WaitingFor != "",
			fakecluster.Condition(fakecluster.Must(w, b).Status.Conditions, "ReadyForProvisioning") == bufferOff,
		}
		if got != c.want {
			t.Errorf("%s: written are %v, want %v", c.gates, got, c.want)
		}
	}
}

// TestKindsThatCannotBeListed do not delay others. That a CRD is not installed is no error; any other is logged once while it lasts.
func TestKindsThatCannotBeListed(t *testing.T) {
	group := schema.GroupResource{Group: opsv1alpha1.Group, Resource: "operationspolicies"}
	for name, c := range map[string]struct {
		err   error
		lines int
	}{
		"no CRD":               {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: opsv1alpha1.Group, Kind: "OperationsPolicy"}}, 0},
		"no CRD any more":      {apierrors.NewNotFound(group, ""), 0},
		"no permission":        {apierrors.NewForbidden(group, "", errors.New("may not list")), 1},
		"an outage of a group": {errors.New("unavailable"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planned("plan", opsv1alpha1.PlanApproved)
			w := fakecluster.New(t, plan)
			w.Fail = fakecluster.Always("list", &opsv1alpha1.OperationsPolicyList{}, c.err)
			var out logcapture.Buffer
			ctx := log.IntoContext(w.Context(), logr.FromSlogHandler(slog.NewTextHandler(&out, nil)))
			s := featuregate.New(w.Shared, options.FeatureGates{})
			for range 2 {
				if got, err := s.Reconcile(ctx, reconcile.Request{}); err != nil || got != requeue.After(time.Minute) {
					t.Errorf("%v, %v", got, err)
				}
			}
			if got := fakecluster.Must(w, plan).Status.WaitingFor; got != planOff {
				t.Errorf("the plan waits for %q", got)
			}
			if got := strings.Count(out.String(), "cannot show on objects that their feature gate is off"); got != c.lines {
				t.Errorf("%d lines, want %d:\n%s", got, c.lines, out.String())
			}
		})
	}
}

// TestObjectsThatChangeMeanwhile are written by the next pass.
func TestObjectsThatChangeMeanwhile(t *testing.T) {
	for name, err := range map[string]error{"changed": fakecluster.Conflict(), "gone": fakecluster.NotFound(), "refused": errors.New("refused")} {
		o, p := priced("o"), &opsv1alpha1.OperationsPolicy{ObjectMeta: named("p")}
		w := fakecluster.New(t, o, p)
		w.Fail = fakecluster.Always("patch-status", o, err)
		pass(w, options.FeatureGates{})
		if got := readyOf(w, p); got != policyOff {
			t.Errorf("%s: the policy: %s", name, got)
		}
		w.Fail = nil
		pass(w, options.FeatureGates{})
		if got := readyOf(w, o); got != overlayOff {
			t.Errorf("%s: the overlay after the second pass: %s", name, got)
		}
	}
}

func TestRegister(t *testing.T) {
	w := fakecluster.New(t)
	w.Register(t, featuregate.New(w.Shared, options.FeatureGates{}))
}
