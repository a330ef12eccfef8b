package nodeclass_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/nodeclass"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

const (
	finalizer = "example.com/termination"
	hashKey   = "example.com/hash"
	rulesKey  = "example.com/hash-version"
)

// world is one class, of the simplest kind that there is, with the controllers of its status and its hash.
type world struct {
	t      *testing.T
	client client.WithWatch
	events chan string
	status *nodeclass.Status[*kwok.KWOKNodeClass]
	hasher *nodeclass.Hasher[*kwok.KWOKNodeClass]
	// faults are the errors of writes, by verb and kind, such as "patch NodeClaim"; writes counts those of both controllers.
	faults map[string]error
	writes int
}

func newWorld(t *testing.T, steps ...nodeclass.Step[*kwok.KWOKNodeClass]) *world {
	t.Helper()
	w := &world{t: t, faults: map[string]error{}}
	w.client = interceptor.NewClient(apiserver.New().WithStatusSubresource(&v1.NodeClaim{}, &kwok.KWOKNodeClass{}).Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			w.writes++
			if err := w.faults["patch "+kindOf(o)]; err != nil {
				return err
			}
			return c.Patch(ctx, o, p, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			w.writes++
			if err := w.faults["patch "+sub]; err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, options...)
		},
	})
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	sink := record.NewFakeRecorder(10)
	w.events = sink.Events
	kind := nodeclass.Kind[*kwok.KWOKNodeClass]{Group: kwok.Group, Name: "KWOKNodeClass", New: func() *kwok.KWOKNodeClass { return &kwok.KWOKNodeClass{} }}
	w.status = &nodeclass.Status[*kwok.KWOKNodeClass]{
		Kind: kind, Client: w.client, Recorder: observe.NewRecorder(sink, clock), Now: clock.Now, Finalizer: finalizer, Steps: steps,
	}
	w.hasher = &nodeclass.Hasher[*kwok.KWOKNodeClass]{
		Kind: kind, Client: w.client, HashAnnotation: hashKey, VersionAnnotation: rulesKey, Version: "v2",
		Hash: func(class *kwok.KWOKNodeClass) string { return "hash-of-" + class.Labels["spec"] },
	}
	w.create(&kwok.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class-uid", Generation: 1, Labels: map[string]string{"spec": "a"}}})
	return w
}

func kindOf(o client.Object) string {
	if _, ok := o.(*v1.NodeClaim); ok {
		return "NodeClaim"
	}
	return "KWOKNodeClass"
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// claim creates a NodeClaim of a class.
func (w *world) claim(name, group, class string, annotations map[string]string, drifted bool) {
	w.t.Helper()
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: group, Kind: "KWOKNodeClass", Name: class}
	if drifted {
		claim.Status.Conditions = []metav1.Condition{{Type: v1.ConditionTypeDrifted, Status: metav1.ConditionTrue, Reason: "NodeClassDrift"}}
	}
	w.create(claim)
}

func request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: "default"}}
}

// class is the class; nil if it is gone.
func (w *world) class() *kwok.KWOKNodeClass {
	w.t.Helper()
	class := &kwok.KWOKNodeClass{}
	switch err := w.client.Get(w.t.Context(), request().NamespacedName, class); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		w.t.Fatal(err)
	}
	return class
}

// delete deletes the class, which stays until its finalizer is removed.
func (w *world) delete() {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), w.class()); err != nil {
		w.t.Fatal(err)
	}
}

func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Group: kwok.Group, Resource: "kwoknodeclasses"}, "default", errors.New("the object has changed"))
}

func notFound() error {
	return apierrors.NewNotFound(schema.GroupResource{Group: kwok.Group, Resource: "kwoknodeclasses"}, "default")
}

// step is a step that sets Ready to a reason, and answers.
func step(name, reason string, again time.Duration, err error) nodeclass.Step[*kwok.KWOKNodeClass] {
	return nodeclass.Step[*kwok.KWOKNodeClass]{Name: name, Run: func(_ context.Context, _ *kwok.KWOKNodeClass, set condition.Set) (time.Duration, error) {
		if reason != "" {
			set.False(kwok.ConditionTypeReady, reason, "")
		}
		return again, err
	}}
}

// All steps run, the shortest wait counts, and what succeeds is written even if something fails.
func TestSteps(t *testing.T) {
	w := newWorld(t, step("images", "NoImages", time.Hour, nil), step("subnets", "", time.Minute, errors.New("throttled")), step("roles", "NoRole", 0, nil))
	result, err := w.status.Reconcile(t.Context(), request())
	if err == nil || !strings.Contains(err.Error(), `looking after subnets of kwoknodeclass "default": throttled`) {
		t.Errorf("error %v", err)
	}
	if result.RequeueAfter != time.Minute {
		t.Errorf("again after %s, want a minute", result.RequeueAfter)
	}
	class := w.class()
	if set := condition.For(class, time.Time{}); set.Root().Reason != "NoRole" {
		t.Errorf("Ready is %+v, want what the last step says", set.Root())
	}
	if len(class.Finalizers) != 1 || class.Finalizers[0] != finalizer {
		t.Errorf("finalizers %v", class.Finalizers)
	}
	written := w.writes
	if _, err := w.status.Reconcile(t.Context(), request()); err == nil {
		t.Error("the failed step does not fail any more")
	}
	if w.writes != written {
		t.Errorf("%d writes although nothing has changed", w.writes-written)
	}
}

// Writes that another writer was faster than are repeated soon; those to a class that is gone are done.
func TestWritesThatFail(t *testing.T) {
	broken := errors.New("the API server is broken")
	for name, test := range map[string]struct {
		fault error
		again time.Duration
		err   error
	}{
		"conflict":  {conflict(), time.Second, nil},
		"not found": {notFound(), 0, nil},
		"other":     {broken, 0, broken},
	} {
		for _, write := range []string{"patch KWOKNodeClass", "patch status"} { // the finalizer, the status
			t.Run(name+" "+write, func(t *testing.T) {
				w := newWorld(t, step("images", "NoImages", 0, nil))
				w.faults[write] = test.fault
				result, err := w.status.Reconcile(t.Context(), request())
				if !errors.Is(err, test.err) || result.RequeueAfter != test.again {
					t.Errorf("got %s, %v, want %s, %v", result.RequeueAfter, err, test.again, test.err)
				}
				delete(w.faults, write)
				if _, err := w.status.Reconcile(t.Context(), request()); err != nil {
					t.Fatal(err)
				}
				if class := w.class(); len(class.Finalizers) != 1 || condition.Status(class, kwok.ConditionTypeReady) != metav1.ConditionFalse {
					t.Errorf("the class is not completed: %+v", class)
				}
			})
		}
	}
}

// A class that does not exist is not an error, for both controllers.
func TestClassesThatAreGone(t *testing.T) {
	w := newWorld(t)
	w.delete()
	for name, c := range map[string]reconcile.Reconciler{"status": w.status, "hash": w.hasher} {
		if result, err := c.Reconcile(t.Context(), request()); err != nil || result.RequeueAfter != 0 {
			t.Errorf("%s: %v, %v", name, result, err)
		}
	}
	if w.writes > 0 {
		t.Errorf("%d writes", w.writes)
	}
}

// A deleted class stays while NodeClaims refer to it, and until what was made for it is deleted. Its status is left alone meanwhile.
func TestDeletion(t *testing.T) {
	w := newWorld(t, step("images", "NoImages", 0, nil))
	ended, endError := 0, error(nil)
	w.status.End = func(context.Context, *kwok.KWOKNodeClass) error { ended++; return endError }
	reconciled := func() (reconcile.Result, error) { return w.status.Reconcile(t.Context(), request()) }
	if _, err := reconciled(); err != nil {
		t.Fatal(err)
	}
	w.claim("b", kwok.Group, "default", nil, false)
	w.claim("a", kwok.Group, "default", nil, false)
	w.claim("of-another-class", kwok.Group, "other", nil, false)
	w.claim("of-another-cloud", "example.com", "default", nil, false)
	w.create(&v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "of-no-class"}})
	w.delete()
	written := w.writes
	if result, err := reconciled(); err != nil || result.RequeueAfter != 10*time.Minute || w.class() == nil || ended > 0 || w.writes != written {
		t.Errorf("got %v, %v, ended %d times, %d writes", result, err, ended, w.writes-written)
	}
	if got, want := <-w.events, "Normal WaitingOnNodeClaimTermination Waiting on NodeClaim termination for a, b"; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
	for _, name := range []string{"a", "b"} {
		if err := w.client.Delete(t.Context(), &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	endError = errors.New("still in use")
	if _, err := reconciled(); !errors.Is(err, endError) || !strings.Contains(err.Error(), `finalizing kwoknodeclass "default"`) || w.class() == nil {
		t.Errorf("the end fails: %v, the class is gone: %t", err, w.class() == nil)
	}
	endError = nil
	if _, err := reconciled(); err != nil || w.class() != nil || ended != 2 {
		t.Errorf("%v, the class is gone: %t, ended %d times", err, w.class() == nil, ended)
	}
}

// A class with the finalizers of others only is not ended: that has happened before.
func TestDeletionsOfOthers(t *testing.T) {
	w := newWorld(t)
	w.status.End = func(context.Context, *kwok.KWOKNodeClass) error { t.Error("ended again"); return nil }
	class := w.class()
	class.Finalizers = []string{"example.com/other"}
	if err := w.client.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	w.delete()
	if result, err := w.status.Reconcile(t.Context(), request()); err != nil || result.RequeueAfter != 0 || w.writes > 0 {
		t.Errorf("%v, %v, %d writes", result, err, w.writes)
	}
}
