package kwok

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

const className = "default"

// world is the kwok cloud on an in-memory API server, with a ready node class.
type world struct {
	t      *testing.T
	client client.WithWatch
	clock  *clocktesting.FakeClock
	cloud  cloud.Cloud
	joiner *joiner
	claims int
}

func newWorld(t *testing.T, opts Options) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	w.client = apiserver.New().
		WithStatusSubresource(&v1.NodeClaim{}, &v1alpha1.KWOKNodeClass{}).
		WithInterceptorFuncs(interceptor.Funcs{Create: w.stampAndCreate}).Build()
	opts.Clock = w.clock
	c, err := New(w.client, opts)
	if err != nil {
		t.Fatal(err)
	}
	w.cloud = c
	w.joiner = &joiner{client: w.client, live: w.client, clock: w.clock, manages: c.Manages, devices: devicesByType(w.types())}
	w.create(&v1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: className}})
	return w
}

// types are those of the world's cloud.
func (w *world) types() []*cloud.InstanceType {
	w.t.Helper()
	types, err := w.cloud.Provider.InstanceTypes(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return types
}

// stampAndCreate sets the creation timestamp, which the in-memory server omits.
func (w *world) stampAndCreate(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	o.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
	return c.Create(ctx, o, opts...)
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// claim writes a NodeClaim of the default node class with the finalizer that the lifecycle controller adds first.
func (w *world) claim(reqs ...v1.NodeSelectorRequirementWithMinValues) *v1.NodeClaim {
	w.t.Helper()
	w.claims++
	claim := newClaim(fmt.Sprintf("claim-%d", w.claims), reqs...)
	claim.UID = types.UID(fmt.Sprintf("uid-%d", w.claims))
	w.create(claim)
	return claim
}

func newClaim(name string, reqs ...v1.NodeSelectorRequirementWithMinValues) *v1.NodeClaim {
	ref := &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "KWOKNodeClass", Name: className}
	claim := &v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:       name,
			Labels:     map[string]string{v1.NodePoolLabelKey: "pool", v1.NodeClassLabelKey(ref.Group, ref.Kind): ref.Name},
			Finalizers: []string{v1.TerminationFinalizer},
		},
	}
	claim.Spec.NodeClassRef = ref
	claim.Spec.Requirements = reqs
	return claim
}

// launch calls Create and records its result as the lifecycle controller does: metadata first, then status.
func (w *world) launch(claim *v1.NodeClaim) *v1.NodeClaim {
	w.t.Helper()
	created, err := w.cloud.Provider.Create(w.t.Context(), claim)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := record(w.t.Context(), w.client, created, w.clock.Now()); err != nil {
		w.t.Fatal(err)
	}
	return w.stored(created.Name)
}

// record writes the result of Create to the API server.
func record(ctx context.Context, c client.Client, created *v1.NodeClaim, now time.Time) error {
	claim := &v1.NodeClaim{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(created), claim); err != nil {
		return err
	}
	before := claim.DeepCopy()
	claim.Labels, claim.Annotations = created.Labels, created.Annotations
	if err := c.Patch(ctx, claim, client.MergeFrom(before)); err != nil {
		return err
	}
	before = claim.DeepCopy()
	claim.Status.ProviderID = created.Status.ProviderID
	claim.Status.Capacity, claim.Status.Allocatable = created.Status.Capacity, created.Status.Allocatable
	condition.For(claim, now).True(v1.ConditionTypeLaunched)
	return c.Status().Patch(ctx, claim, client.MergeFrom(before))
}

func (w *world) stored(name string) *v1.NodeClaim {
	w.t.Helper()
	claim := &v1.NodeClaim{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: name}, claim); err != nil {
		w.t.Fatal(err)
	}
	return claim
}

// join runs the joiner on a claim.
func (w *world) join(name string) reconcile.Result {
	w.t.Helper()
	result, err := w.joiner.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func (w *world) nodes() []corev1.Node {
	w.t.Helper()
	var list corev1.NodeList
	if err := w.client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// theNode is the only Node there is.
func (w *world) theNode() *corev1.Node {
	w.t.Helper()
	nodes := w.nodes()
	if len(nodes) != 1 {
		w.t.Fatalf("there are %d nodes, expected one", len(nodes))
	}
	return &nodes[0]
}

// update changes a stored object, its status included.
func (w *world) update(o client.Object, change func()) {
	w.t.Helper()
	before := o.DeepCopyObject().(client.Object)
	change()
	if err := w.client.Patch(w.t.Context(), o.DeepCopyObject().(client.Object), client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Status().Patch(w.t.Context(), o, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

// delay gives the node class a registration delay.
func (w *world) delay(d time.Duration) {
	w.t.Helper()
	class := &v1alpha1.KWOKNodeClass{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: className}, class); err != nil {
		w.t.Fatal(err)
	}
	w.update(class, func() { class.Spec.NodeRegistrationDelay = &metav1.Duration{Duration: d} })
}

// intercepted is the world's client with some calls replaced.
func (w *world) intercepted(f interceptor.Funcs) client.Client {
	return interceptor.NewClient(w.client, f)
}
