package nodeclaim_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

func TestFinalize(t *testing.T) {
	t.Run("Nodes, instance and finalizer go in this order", func(t *testing.T) {
		t.Attr("covers", "C077 C080 C082 C089 C092 C093")
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), w.RegisteredNode("a")
		w.Add(claim, node)
		w.Delete(claim)
		l := nodeclaim.NewLifecycle(w.Shared, &health{})

		if result := w.Run(l, claim); result != (reconcile.Result{}) || w.Provider.Calls("Delete") != 0 {
			t.Fatalf("with a Node left: result %+v, %d instance deletions", result, w.Provider.Calls("Delete"))
		}
		if fakecluster.Must(w, node).DeletionTimestamp == nil {
			t.Fatal("the Node was not deleted")
		}
		fakecluster.Change(w, node, func(n *corev1.Node) { n.Finalizers = nil })
		if result := w.Run(l, claim); result.RequeueAfter != 5*time.Second {
			t.Fatalf("with the instance terminating: %+v", result)
		}
		got := fakecluster.Must(w, claim)
		if c := fakecluster.Condition(got.Status.Conditions, "InstanceTerminating"); c != "True/InstanceTerminating/" {
			t.Errorf("InstanceTerminating %q", c)
		}
		if c := fakecluster.Condition(got.Status.Conditions, "Ready"); c != "True/Ready/" {
			t.Errorf("Ready %q", c)
		}
		w.Run(l, claim)
		w.Provider.Finish("test://a")
		w.Run(l, claim)
		if _, there := fakecluster.Get(w, claim); there {
			t.Error("the claim is still there")
		}
		for _, metric := range []string{"karpenter_nodeclaims_instance_termination_duration_seconds", "karpenter_nodeclaims_termination_duration_seconds"} {
			if n := w.Count(metric, "nodepool=pool"); n != 1 {
				t.Errorf("%s has %v samples", metric, n)
			}
		}
		if n := w.Count("karpenter_nodeclaims_terminated_total", "nodepool=pool", "capacity_type=spot", "zone=zone-1"); n != 1 {
			t.Errorf("terminated %v times", n)
		}
		if len(w.Events()) != 0 {
			t.Errorf("events %v", w.Events())
		}
	})
	t.Run("every Node with the provider id goes first", func(t *testing.T) {
		t.Attr("covers", "C081 C082")
		w := fakecluster.New(t)
		claim, first, second := w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a"), w.RegisteredNode("b")
		second.Spec.ProviderID = first.Spec.ProviderID
		w.Add(claim, first, second)
		w.Delete(claim)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		for _, node := range []*corev1.Node{first, second} {
			if fakecluster.Must(w, node).DeletionTimestamp == nil {
				t.Errorf("%s is not deleted", node.Name)
			}
		}
	})
	t.Run("a Node that registered just before the deletion goes first", func(t *testing.T) {
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a"), w.RegisteredNode("a")
		w.Add(claim, node)
		w.Delete(claim)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if fakecluster.Must(w, node).DeletionTimestamp == nil || w.Provider.Calls("Delete") != 0 {
			t.Errorf("with a Node that pods may run on: %d instance deletions", w.Provider.Calls("Delete"))
		}
	})
	t.Run("a claim that was never launched goes at once", func(t *testing.T) {
		t.Attr("covers", "C083 C084")
		w := fakecluster.New(t)
		claim, node := w.Claim("a"), w.Node("x")
		claim.Finalizers = []string{v1.TerminationFinalizer}
		node.Spec.ProviderID = ""
		w.Add(claim, node)
		w.Delete(claim)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if _, there := fakecluster.Get(w, claim); there || w.Provider.Calls("Delete") != 0 || fakecluster.Must(w, node).DeletionTimestamp != nil {
			t.Errorf("claim there: %v, instance deletions: %d", there, w.Provider.Calls("Delete"))
		}
	})
	t.Run("Nodes of an unregistered claim are not touched", func(t *testing.T) {
		t.Attr("covers", "C085")
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a"), w.Node("a")
		w.Add(claim, node)
		w.Delete(claim)
		w.Provider.Finish("test://a")
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if _, there := fakecluster.Get(w, claim); there || fakecluster.Must(w, node).DeletionTimestamp != nil {
			t.Errorf("claim there: %v", there)
		}
	})
	t.Run("an unmanaged claim is left alone", func(t *testing.T) {
		t.Attr("covers", "C078")
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		claim.Spec.NodeClassRef = fakecluster.Unmanaged()
		w.Add(claim)
		w.Delete(claim)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if len(fakecluster.Must(w, claim).Finalizers) != 1 || w.Provider.Calls("Delete") != 0 {
			t.Error("it was finalized")
		}
	})
	t.Run("a provider error is returned and the finalizer stays", func(t *testing.T) {
		t.Attr("covers", "C079")
		for name, cause := range map[string]error{"throttled": errors.New("slow down"), "an API error in disguise": fakecluster.NotFound()} {
			t.Run(name, func(t *testing.T) {
				w := fakecluster.New(t)
				claim := w.LaunchedClaim("a")
				w.Add(claim)
				w.Delete(claim)
				w.Provider.DeleteErr = cause
				if _, err := w.Try(nodeclaim.NewLifecycle(w.Shared, &health{}), claim); !errors.Is(err, cause) {
					t.Errorf("error %v", err)
				}
				if len(fakecluster.Must(w, claim).Finalizers) != 1 {
					t.Error("the finalizer is gone")
				}
			})
		}
	})
	t.Run("users see what an instance that cannot be terminated waits for", func(t *testing.T) {
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		w.Add(claim)
		w.Delete(claim)
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		for _, c := range []struct {
			cause            error
			condition, event string
		}{
			{errors.New("slow down"), "", "Failed to terminate the instance, slow down"},
			{cloud.NewDeleteError(errors.New("foreign"), "NotOurs", "Set a tag"), "False/NotOurs/Set a tag", "Failed to terminate the instance, Set a tag"},
		} {
			w.Provider.DeleteErr = c.cause
			w.Time.Step(2 * time.Minute)
			for range 2 {
				if _, err := w.Try(l, claim); !errors.Is(err, c.cause) {
					t.Errorf("error %v, want %v", err, c.cause)
				}
			}
			got := fakecluster.Must(w, claim)
			if text := fakecluster.Condition(got.Status.Conditions, "InstanceTerminating"); text != c.condition || len(got.Finalizers) != 1 {
				t.Errorf("%v: condition %q, want %q; finalizers %q", c.cause, text, c.condition, got.Finalizers)
			}
			if events := w.Events(); len(events) == 0 || events[len(events)-1] != "Warning FailedTermination a: "+c.event {
				t.Errorf("%v: events %q", c.cause, events)
			}
		}
		w.Provider.DeleteErr = nil
		w.Run(l, claim)
		if text := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "InstanceTerminating"); text != "True/InstanceTerminating/" {
			t.Errorf("once it can be terminated, the condition is %q", text)
		}
	})
	t.Run("an instance launched just before the deletion is not forgotten", func(t *testing.T) {
		w := fakecluster.New(t)
		claim := w.Claim("a")
		w.Add(claim)
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Provider.OnCreate = func(*v1.NodeClaim) { w.Delete(claim) }
		w.Run(l, claim) // its writes conflict with the deletion
		w.Run(l, claim)
		if w.Provider.Has("test://a") {
			t.Error("the instance still runs")
		}
		w.Provider.Finish("test://a")
		w.Run(l, claim)
		if _, there := fakecluster.Get(w, claim); there {
			t.Error("the claim is still there")
		}
	})
	t.Run("conflicts are retried quietly", func(t *testing.T) {
		for _, op := range []string{"patch", "patch-status"} {
			w := fakecluster.New(t)
			claim := w.LaunchedClaim("a")
			w.Add(claim)
			w.Delete(claim)
			if op == "patch" {
				w.Provider.Finish("test://a")
			}
			w.Fail = fakecluster.Always(op, claim, fakecluster.Conflict())
			if result := w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim); result != requeue.Soon() {
				t.Errorf("%s: %+v", op, result)
			}
			if n := w.Count("karpenter_nodeclaims_terminated_total"); n != 0 {
				t.Errorf("%s: counted %v", op, n)
			}
		}
	})
	t.Run("quantities that spell differently do not matter", func(t *testing.T) {
		t.Attr("covers", "C090")
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		claim.Spec.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("0.5"), "memory": resource.MustParse("1024Mi")}
		w.Add(claim)
		w.Delete(claim)
		w.Provider.Finish("test://a")
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if _, there := fakecluster.Get(w, claim); there {
			t.Error("the claim is still there")
		}
	})
	t.Run("conditions follow the generation", func(t *testing.T) {
		t.Attr("covers", "C091")
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		claim.Generation = 9
		w.Add(claim)
		w.Delete(claim)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		for _, c := range fakecluster.Must(w, claim).Status.Conditions {
			if c.ObservedGeneration != 9 {
				t.Errorf("%s at generation %d", c.Type, c.ObservedGeneration)
			}
		}
	})
}

func TestFinalizeDeadline(t *testing.T) {
	t.Attr("covers", "C086 C087 C088")
	grace := &metav1.Duration{Duration: time.Hour}
	for name, c := range map[string]struct {
		grace *metav1.Duration
		have  string
		want  func(deleted time.Time) string
		event bool
	}{
		"no grace period, no deadline":      {want: func(time.Time) string { return "" }},
		"the grace period gives a deadline": {grace: grace, event: true, want: func(at time.Time) string { return at.Add(time.Hour).Format(time.RFC3339) }},
		"a deadline is never changed":       {grace: grace, have: "2026-01-01T00:00:00Z", want: func(time.Time) string { return "2026-01-01T00:00:00Z" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim := w.LaunchedClaim("a")
			claim.Spec.TerminationGracePeriod = c.grace
			if c.have != "" {
				claim.Annotations = map[string]string{v1.NodeClaimTerminationTimestampAnnotationKey: c.have}
			}
			w.Add(claim)
			w.Delete(claim)
			w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
			got := fakecluster.Must(w, claim)
			want := c.want(got.DeletionTimestamp.Time)
			if value := got.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey]; value != want {
				t.Errorf("deadline %q, want %q", value, want)
			}
			wantEvents := []string{}
			if c.event {
				wantEvents = append(wantEvents, "Warning TerminationGracePeriodExpiring a: All pods will be deleted by "+want)
			}
			if !slices.Equal(w.Events(), wantEvents) {
				t.Errorf("events %q, want %q", w.Events(), wantEvents)
			}
		})
	}
}
