// Package fakecluster is a cluster for tests of controllers: an API server and a cloud provider in memory, a clock that the test steps,
// and a record of every event and metric. Reads can be frozen and calls can be made to fail, so that tests cover stale caches,
// conflicts and crashes.
package fakecluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	legacyv1alpha1 "github.com/karpenter-anew/karpenter/api/legacy/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/create"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/readyourwrites"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// Cluster is everything that a controller acts on.
type Cluster struct {
	testing.TB
	deps.Shared
	// API is the API server. Tests read and write with it; controllers use Client, which remembers their writes.
	API      client.Client
	Provider *Provider
	Time     *clocktesting.FakeClock
	// Fail, when set, runs before every call of the API server; its error replaces the call. op is get, list, create, delete, patch,
	// patch-status or create-eviction.
	Fail func(op string, obj runtime.Object) error

	registry *prometheus.Registry
	mu       sync.Mutex
	events   []string
	frozen   map[string]client.Object
}

// New builds a cluster that contains the objects. Its cloud provider manages KWOKNodeClass. Time starts now, because the API server in
// memory stamps deletions with the real time.
func New(t testing.TB, objects ...client.Object) *Cluster {
	t.Helper()
	w := &Cluster{
		TB: t, Provider: &Provider{}, Time: clocktesting.NewFakeClock(time.Now().Truncate(time.Second)),
		registry: prometheus.NewRegistry(), frozen: map[string]client.Object{},
	}
	b := apiserver.New().WithReturnManagedFields().WithObjects(objects...).
		WithStatusSubresource(&v1.NodePool{}, &v1.NodeClaim{}, &v1alpha1.NodeOverlay{}, &opsv1alpha1.OperationsPolicy{}, &opsv1alpha1.DisruptionPlan{}, &kwok.KWOKNodeClass{}, &corev1.Node{}, &corev1.Pod{}, &v1beta1.CapacityBuffer{}, &v1alpha5.Provisioner{}, &legacyv1alpha1.AWSNodeTemplate{}).
		WithInterceptorFuncs(w.intercept())
	for _, index := range nodelookup.Indexes() {
		b = b.WithIndex(index.Object, index.Field, index.Values)
	}
	class := cloud.NodeClass{
		GVK: kwok.SchemeGroupVersion.WithKind("KWOKNodeClass"),
		New: func() cloud.NodeClassObject { return &kwok.KWOKNodeClass{} },
	}
	w.API = b.Build()
	w.Shared = deps.Shared{
		Client:      readyourwrites.New(w.API, w.Time),
		Live:        live{w.API, w},
		Clock:       w.Time,
		Cloud:       cloud.Cloud{Name: "test", Provider: w.Provider, Rebooter: w.Provider, NodeClasses: []cloud.NodeClass{class}, Labels: v1.CoreLabelRules()},
		Metrics:     observe.NewMetrics(w.registry, slices.Sorted(maps.Keys(v1.CoreLabelRules().WellKnown)), ClassLabel),
		Creations:   create.New(w.Time),
		GroupClaims: create.NewGroups(w.Time),
		Planned:     &create.Planned{},
		CPUMillis:   1000,
	}
	w.Recorder = observe.NewRecorder(sink{w}, w.Time)
	w.Provider.clock = w.Time
	return w
}

// Run reconciles one object by name and fails the test on an error.
func (w *Cluster) Run(r reconcile.Reconciler, obj client.Object) reconcile.Result {
	w.Helper()
	result, err := w.Try(r, obj)
	if err != nil {
		w.Fatalf("reconciling %s: %v", obj.GetName(), err)
	}
	return result
}

// Try reconciles one object by name.
func (w *Cluster) Try(r reconcile.Reconciler, obj client.Object) (reconcile.Result, error) {
	return r.Reconcile(w.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
}

// Get reads the current version of the object; false if it is gone.
func Get[T client.Object](w *Cluster, obj T) (T, bool) {
	w.Helper()
	defer w.bypass()()
	out := obj.DeepCopyObject().(T)
	err := w.API.Get(w.Context(), client.ObjectKeyFromObject(obj), out)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return out, err == nil
}

// Must reads the current version of the object and fails the test if it is gone.
func Must[T client.Object](w *Cluster, obj T) T {
	w.Helper()
	out, ok := Get(w, obj)
	if !ok {
		w.Fatalf("%T %s is gone", obj, obj.GetName())
	}
	return out
}

// Add creates objects.
func (w *Cluster) Add(objects ...client.Object) {
	w.Helper()
	defer w.bypass()()
	for _, obj := range objects {
		if err := w.API.Create(w.Context(), obj); err != nil {
			w.Fatal(err)
		}
	}
}

// Delete deletes an object as another client.
func (w *Cluster) Delete(obj client.Object) {
	w.Helper()
	defer w.bypass()()
	if err := w.API.Delete(w.Context(), obj); err != nil {
		w.Fatal(err)
	}
}

// Change changes an object, including its status, as another client.
func Change[T client.Object](w *Cluster, obj T, change func(T)) T {
	w.Helper()
	defer w.bypass()()
	current := Must(w, obj)
	stored := current.DeepCopyObject().(T)
	change(current)
	wanted := current.DeepCopyObject().(T)
	if err := w.API.Patch(w.Context(), current, client.MergeFrom(stored)); err != nil {
		w.Fatal(err)
	}
	err := w.API.Status().Patch(w.Context(), wanted, client.MergeFrom(stored))
	if apierrors.IsNotFound(err) {
		return wanted // the change removed the last finalizer
	}
	if err != nil {
		w.Fatal(err)
	}
	return Must(w, obj)
}

// Freeze makes every later Get of the object, and every List with it, return its current version, like a cache that lags; it returns a function that
// ends this.
func (w *Cluster) Freeze(obj client.Object) func() {
	now := obj.DeepCopyObject().(client.Object)
	if err := w.API.Get(w.Context(), client.ObjectKeyFromObject(obj), now); err != nil {
		w.Fatal(err)
	}
	key := fmt.Sprintf("%T/%s", obj, client.ObjectKeyFromObject(obj))
	w.frozen[key] = now
	return func() { delete(w.frozen, key) }
}

// live reads past frozen versions, as reads from the API server do.
type live struct {
	client.Reader
	w *Cluster
}

// Get implements client.Reader.
func (l live) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	frozen := l.w.frozen
	l.w.frozen = nil
	defer func() { l.w.frozen = frozen }()
	return l.Reader.Get(ctx, key, obj, opts...)
}

// bypass suspends failures and frozen reads while the test itself uses the client.
func (w *Cluster) bypass() (restore func()) {
	fail, frozen := w.Fail, w.frozen
	w.Fail, w.frozen = nil, nil
	return func() { w.Fail, w.frozen = fail, frozen }
}

func (w *Cluster) fail(op string, obj runtime.Object) error {
	if w.Fail == nil {
		return nil
	}
	return w.Fail(op, obj)
}

func (w *Cluster) intercept() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if err := w.fail("get", obj); err != nil {
				return err
			}
			if old, ok := w.frozen[fmt.Sprintf("%T/%s", obj, key)]; ok {
				return runtime.DefaultUnstructuredConverter.FromUnstructured(unstructuredOf(w, old), obj)
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := w.fail("list", list); err != nil {
				return err
			}
			if err := c.List(ctx, list, opts...); err != nil || len(w.frozen) == 0 {
				return err
			}
			return meta.EachListItem(list, func(item runtime.Object) error {
				if old, ok := w.frozen[fmt.Sprintf("%T/%s", item, client.ObjectKeyFromObject(item.(client.Object)))]; ok {
					return runtime.DefaultUnstructuredConverter.FromUnstructured(unstructuredOf(w, old), item)
				}
				return nil
			})
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := w.fail("create", obj); err != nil {
				return err
			}
			return c.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := w.fail("delete", obj); err != nil {
				return err
			}
			return c.Delete(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := w.fail("patch", obj); err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := w.fail("patch-"+sub, obj); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, obj, body client.Object, opts ...client.SubResourceCreateOption) error {
			if err := w.fail("create-"+sub, obj); err != nil {
				return err
			}
			return c.SubResource(sub).Create(ctx, obj, body, opts...)
		},
	}
}

func unstructuredOf(w *Cluster, obj client.Object) map[string]any {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// Conflict is the error of a write to an outdated version.
func Conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "thing", fmt.Errorf("the object has been modified"))
}

// NotFound is the error of a call for an object that does not exist.
func NotFound() error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "thing")
}

// Always fails every call of op on objects of the same type as like.
func Always(op string, like runtime.Object, err error) func(string, runtime.Object) error {
	return func(gotOp string, obj runtime.Object) error {
		if gotOp == op && fmt.Sprintf("%T", obj) == fmt.Sprintf("%T", like) {
			return err
		}
		return nil
	}
}

// Condition returns the condition as "Status/Reason/Message"; empty if there is none.
func Condition(list []metav1.Condition, conditionType string) string {
	for _, c := range list {
		if c.Type == conditionType {
			return fmt.Sprintf("%s/%s/%s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}
