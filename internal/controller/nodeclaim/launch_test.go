package nodeclaim_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/create"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/controller/readyourwrites"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/controller/writegate"
)

// health records what the lifecycle reports, and returns the configured error.
type health struct {
	succeeded, failed []string
	err               error
}

func (h *health) Succeeded(_ context.Context, claim *v1.NodeClaim) error {
	if h.err == nil {
		h.succeeded = append(h.succeeded, claim.Name)
	}
	return h.err
}

func (h *health) Failed(_ context.Context, claim *v1.NodeClaim) error {
	if h.err == nil {
		h.failed = append(h.failed, claim.Name)
	}
	return h.err
}

func TestLaunch(t *testing.T) {
	t.Run("a new claim is launched once and shows its instance", func(t *testing.T) {
		t.Attr("covers", "C001 C003 C013")
		w := fakecluster.New(t)
		claim := w.Claim("a")
		w.Add(claim)
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Run(l, claim)
		w.Run(l, claim)
		got := fakecluster.Must(w, claim)
		if n := w.Provider.Calls("Create"); n != 1 {
			t.Errorf("Create was called %d times, want 1", n)
		}
		if c := fakecluster.Condition(got.Status.Conditions, "Launched"); c != "True/Launched/" {
			t.Errorf("Launched is %q", c)
		}
		want := v1.NodeClaimStatus{ProviderID: "test://a", ImageID: "image-1", Capacity: fakecluster.Resources("cpu", "2", "memory", "4Gi"), Allocatable: fakecluster.Resources("cpu", "1900m", "memory", "3Gi")}
		want.Conditions = got.Status.Conditions
		if diff := cmp.Diff(want, got.Status); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		if !controllerutil.ContainsFinalizer(got, v1.TerminationFinalizer) {
			t.Error("the finalizer is missing")
		}
	})
	t.Run("it waits while a plan is being written, and so does the end of a claim", func(t *testing.T) {
		w := fakecluster.New(t)
		coming, going := w.Claim("a"), w.LaunchedClaim("b")
		w.Add(coming, going)
		w.Shared.WriteGate = writegate.New(w.Shared.Clock)
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Delete(going)
		written := w.Shared.WriteGate.Begin()
		for _, claim := range []*v1.NodeClaim{coming, going} {
			if result := w.Run(l, claim); result.RequeueAfter == 0 {
				t.Errorf("%s is not looked at again: %+v", claim.Name, result)
			}
		}
		if n := w.Provider.Calls("Create") + w.Provider.Calls("Delete"); n != 0 {
			t.Errorf("the provider was called %d times", n)
		}
		w.Time.Step(5 * time.Second)
		w.Run(l, coming)
		w.Run(l, going)
		if created, deleted := w.Provider.Calls("Create"), w.Provider.Calls("Delete"); created != 1 || deleted != 1 {
			t.Errorf("while the batch takes long, %d are created and %d deleted, want one each", created, deleted)
		}
		written()
		later := w.Claim("c")
		w.Add(later)
		w.Run(l, later)
		if created, deleted := w.Provider.Calls("Create"), w.Provider.Calls("Delete"); created != 2 || deleted != 1 {
			t.Errorf("created %d and deleted %d, want two and one", created, deleted)
		}
	})
	t.Run("own labels and the provider's annotations win", func(t *testing.T) {
		t.Attr("covers", "C004 C005")
		w := fakecluster.New(t)
		claim := w.Claim("a")
		claim.Labels[corev1.LabelTopologyZone] = "mine"
		claim.Annotations = map[string]string{"provider": "no", "own": "yes"}
		w.Add(claim)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		got := fakecluster.Must(w, claim)
		if got.Labels[corev1.LabelTopologyZone] != "mine" || got.Labels[corev1.LabelInstanceTypeStable] != "small" {
			t.Errorf("labels: %v", got.Labels)
		}
		if diff := cmp.Diff(map[string]string{"provider": "yes", "own": "yes"}, got.Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
	})
	t.Run("an unmanaged claim is left alone", func(t *testing.T) {
		t.Attr("covers", "C002 C017 C057 C074")
		w := fakecluster.New(t)
		claim := w.Claim("a")
		claim.Spec.NodeClassRef = fakecluster.Unmanaged()
		w.Add(claim, w.Node("a"))
		w.Time.Step(time.Hour)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		got := fakecluster.Must(w, claim)
		if w.Provider.Calls("Create") != 0 || len(got.Status.Conditions) != 0 || len(got.Finalizers) != 0 {
			t.Errorf("touched: finalizers %v, conditions %v", got.Finalizers, got.Status.Conditions)
		}
	})
	t.Run("conditions follow the generation", func(t *testing.T) {
		t.Attr("covers", "C014")
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized)
		w.Add(claim)
		fakecluster.Change(w, claim, func(c *v1.NodeClaim) { c.Generation = 7 })
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		for _, c := range fakecluster.Must(w, claim).Status.Conditions {
			if c.ObservedGeneration != 7 || c.Status != "True" {
				t.Errorf("%s is %s at generation %d", c.Type, c.Status, c.ObservedGeneration)
			}
		}
	})
}

func TestLaunchErrors(t *testing.T) {
	t.Attr("covers", "C006 C007 C008 C009 C015")
	boom := errors.New(strings.Repeat("é", 400))
	for name, c := range map[string]struct {
		err        error
		wantGone   bool
		wantErr    bool
		condition  string
		metric     string
		eventStart string
	}{
		"insufficient capacity ends the claim": {
			err: cloud.NewInsufficientCapacityError(errors.New("no spot")), wantGone: true, metric: "insufficient_capacity",
			eventStart: "Warning InsufficientCapacityError a: NodeClaim a event: insufficient capacity, no spot",
		},
		"a node class that is not ready ends the claim": {
			err: cloud.NewNodeClassNotReadyError(errors.New("missing")), wantGone: true, metric: "nodeclass_not_ready",
		},
		"a typed launch error is shown in its own words": {
			err: cloud.NewCreateError(errors.New("x"), "QuotaExceeded", "ask for more"), wantErr: true,
			condition: "Unknown/QuotaExceeded/ask for more",
		},
		"any other error is cut": {
			err: boom, wantErr: true, condition: "Unknown/LaunchFailed/" + strings.Repeat("é", 150) + "...",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim := w.Claim("a")
			w.Add(claim)
			w.Provider.CreateErr = c.err
			l := nodeclaim.NewLifecycle(w.Shared, &health{})
			_, err := w.Try(l, claim)
			if (err != nil) != c.wantErr {
				t.Errorf("error %v, want one: %v", err, c.wantErr)
			}
			got := fakecluster.Must(w, claim)
			if gone := got.DeletionTimestamp != nil; gone != c.wantGone {
				t.Errorf("deleted: %v, want %v", gone, c.wantGone)
			}
			if !c.wantGone && fakecluster.Condition(got.Status.Conditions, "Launched") != c.condition {
				t.Errorf("Launched is %q, want %q", fakecluster.Condition(got.Status.Conditions, "Launched"), c.condition)
			}
			total := w.Count("karpenter_nodeclaims_disrupted_total")
			if c.metric != "" && (total != 1 || w.Count("karpenter_nodeclaims_disrupted_total", "reason="+c.metric, "nodepool=pool", "termination_mode=graceful") != 1) {
				t.Errorf("disrupted_total %v, want 1 with reason %s", total, c.metric)
			}
			if c.eventStart != "" && (len(w.Events()) != 1 || w.Events()[0] != c.eventStart) {
				t.Errorf("events %q, want %q", w.Events(), c.eventStart)
			}
		})
	}
	t.Run("pods that need the claim are told", func(t *testing.T) {
		t.Attr("covers", "N202")
		w := fakecluster.New(t)
		claim := w.Claim("a")
		bound, ended, going, replaced := w.Pod("bound", "x"), w.Pod("ended", ""), w.Pod("going", ""), w.Pod("replaced", "")
		ended.Status.Phase = corev1.PodSucceeded
		going.Finalizers = []string{"test/keep"}
		w.Add(claim, w.Pod("waiting", ""), bound, ended, going, replaced, w.Pod("other", ""))
		w.Delete(going)
		for _, name := range []string{"waiting", "bound", "ended", "going", "gone"} {
			w.Planned.Put("a", create.PlannedPod{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}, UID: w.Pod(name, "").UID})
		}
		w.Planned.Put("a", create.PlannedPod{NamespacedName: types.NamespacedName{Namespace: "default", Name: "replaced"}, UID: "former"})
		w.Planned.Put("b", create.PlannedPod{NamespacedName: types.NamespacedName{Namespace: "default", Name: "other"}, UID: w.Pod("other", "").UID})
		w.Provider.CreateErr = cloud.NewInsufficientCapacityError(errors.New("none"))
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		want := []string{
			"Warning InsufficientCapacityError a: NodeClaim a event: insufficient capacity, none",
			"Warning InsufficientCapacityError waiting: NodeClaim a nominated for this pod failed to launch: insufficient capacity, none",
		}
		if !slices.Equal(w.Events(), want) {
			t.Errorf("events %q, want %q", w.Events(), want)
		}
	})
	t.Run("a claim deleted after a failed launch is not launched again while the cache still has it", func(t *testing.T) {
		w := fakecluster.New(t)
		claim := w.Claim("a")
		claim.Finalizers = []string{v1.TerminationFinalizer}
		w.Add(claim)
		defer w.Freeze(claim)()
		w.Provider.CreateErr = cloud.NewInsufficientCapacityError(errors.New("none"))
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Run(l, claim)
		result := w.Run(l, claim)
		if n := w.Provider.Calls("Create"); n != 1 || result != requeue.After(readyourwrites.Retry) {
			t.Errorf("Create was called %d times, second result %+v", n, result)
		}
		if n := w.Count("karpenter_nodeclaims_disrupted_total"); n != 1 {
			t.Errorf("counted %v times", n)
		}
	})
}

func TestLaunchIsRememberedAndGuarded(t *testing.T) {
	t.Run("a lost status write does not launch twice", func(t *testing.T) {
		t.Attr("covers", "C010")
		for name, failure := range map[string]error{"conflict": fakecluster.Conflict(), "outage": errors.New("connection refused")} {
			t.Run(name, func(t *testing.T) {
				w := fakecluster.New(t)
				claim := w.Claim("a")
				w.Add(claim)
				w.Provider.OnCreate = func(*v1.NodeClaim) { w.Fail = fakecluster.Always("patch-status", claim, failure) }
				l := nodeclaim.NewLifecycle(w.Shared, &health{})
				result, err := w.Try(l, claim)
				if retried := err != nil || result == requeue.Soon(); !retried {
					t.Errorf("result %+v, error %v: no retry", result, err)
				}
				w.Fail = nil
				w.Run(l, claim)
				if n := w.Provider.Calls("Create"); n != 1 {
					t.Errorf("Create was called %d times", n)
				}
				if got := fakecluster.Must(w, claim); got.Status.ProviderID != "test://a" {
					t.Errorf("provider id %q", got.Status.ProviderID)
				}
			})
		}
	})
	t.Run("nothing is launched before the finalizer is stored", func(t *testing.T) {
		t.Attr("covers", "C011 C012")
		w := fakecluster.New(t)
		claim := w.Claim("a")
		w.Add(claim)
		w.Fail = fakecluster.Always("patch", claim, fakecluster.Conflict())
		result := w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if result != requeue.Soon() || w.Provider.Calls("Create") != 0 {
			t.Errorf("result %+v after %d launches", result, w.Provider.Calls("Create"))
		}
	})
	t.Run("a claim that vanishes is done", func(t *testing.T) {
		w := fakecluster.New(t)
		if result := w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), w.Claim("a")); result != (reconcile.Result{}) {
			t.Errorf("result %+v", result)
		}
	})
	t.Run("a claim that vanishes during the pass is done", func(t *testing.T) {
		w := fakecluster.New(t)
		claim := w.Claim("a")
		w.Add(claim)
		w.Provider.OnCreate = func(*v1.NodeClaim) {
			w.Fail = func(op string, _ runtime.Object) error {
				if strings.HasPrefix(op, "patch") {
					return fakecluster.NotFound()
				}
				return nil
			}
		}
		if _, err := w.Try(nodeclaim.NewLifecycle(w.Shared, &health{}), claim); err != nil {
			t.Error(err)
		}
	})
	t.Run("another writer's condition survives", func(t *testing.T) {
		w := fakecluster.New(t)
		claim := w.Claim("a")
		w.Add(claim)
		w.Provider.OnCreate = func(*v1.NodeClaim) {
			fakecluster.Change(w, claim, func(c *v1.NodeClaim) {
				c.Status.Conditions = append(c.Status.Conditions, v1Condition("Drifted"))
			})
		}
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Run(l, claim)
		w.Run(l, claim)
		got := fakecluster.Must(w, claim).Status.Conditions
		if fakecluster.Condition(got, "Drifted") == "" || fakecluster.Condition(got, "Launched") != "True/Launched/" {
			t.Errorf("conditions %v", got)
		}
	})
}
