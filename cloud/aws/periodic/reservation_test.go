package periodic_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/periodic"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// reservedWorld is an account with instances in reservations, and their claims and nodes.
type reservedWorld struct {
	periodic.Reservations
	t       *testing.T
	account *awstest.Account
	clock   *clocktesting.FakeClock
	// noNodes rejects writes of nodes.
	noNodes bool
}

func newReservedWorld(t *testing.T) *reservedWorld {
	t.Helper()
	w := &reservedWorld{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	w.account = awstest.New(awstest.Options{Clock: w.clock, Types: []string{"m5.large"}})
	w.Client = apiserver.New().WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*corev1.Node); ok && w.noNodes {
				return errors.New("the API server is away")
			}
			return c.Patch(ctx, o, patch, opts...)
		},
	}).Build()
	w.Manages = func(ref *v1.NodeClassReference) bool { return ref != nil && ref.Kind == "EC2NodeClass" }
	p := provider.New(provider.Options{
		Options: catalog.Options{Settings: catalog.Settings{Region: "us-east-1", ReservesCapacity: true}, Clock: w.clock},
		EC2:     ec2.NewFromConfig(awstest.Connect(t, w.account)), Client: w.Client, Cluster: controlplane.New("test", nil),
	})
	w.Instances, w.Finder = p.Instances, p.Catalog.Finder
	return w
}

// launched adds an instance in a reservation, with its claim and its node, and returns their name.
func (w *reservedWorld) launched(reservation string, change func(*v1.NodeClaim)) string {
	w.t.Helper()
	id := w.account.AddInstance(awstest.Instance{
		Type: "m5.large", Zone: "us-east-1a", Launched: w.clock.Now(), Reservation: reservation, ReservationPreference: "capacity-reservations-only",
	}, map[string]string{awsv1.TagNodePool: "pool", awsv1.TagNodeClass: "default", awsv1.TagClusterName: "test"})
	labels := map[string]string{
		v1.CapacityTypeLabelKey: "reserved", awsv1.LabelCapacityReservationID: reservation, awsv1.LabelCapacityReservationType: "default", v1.NodeRegisteredLabelKey: "true",
	}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: id, Labels: labels, Finalizers: []string{v1.TerminationFinalizer}}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Status.ProviderID = "aws:///us-east-1a/" + id
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: id, Labels: labels}, Spec: corev1.NodeSpec{ProviderID: claim.Status.ProviderID}}
	if change != nil {
		change(claim)
	}
	for _, o := range []client.Object{claim, node} {
		if err := w.Client.Create(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
	return id
}

// fall removes an instance from its reservation.
func (w *reservedWorld) fall(id string) {
	w.account.Change(id, func(i *awstest.Instance) { i.Reservation, i.ReservationPreference = "", "" })
}

// isReserved reports whether claim and node are labeled as reserved, and whether their labels agree.
func (w *reservedWorld) isReserved(id string) (claim, node bool) {
	w.t.Helper()
	read := func(o client.Object) bool {
		if err := w.Client.Get(w.t.Context(), client.ObjectKey{Name: id}, o); err != nil {
			w.t.Fatal(err)
		}
		labels := o.GetLabels()
		reserved := labels[v1.CapacityTypeLabelKey] == "reserved"
		for _, key := range []string{awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType} {
			if _, ok := labels[key]; ok != reserved {
				w.t.Errorf("%T: labels %v", o, labels)
			}
		}
		if !reserved && labels[v1.CapacityTypeLabelKey] != "on-demand" {
			w.t.Errorf("%T: labels %v", o, labels)
		}
		return reserved
	}
	return read(&v1.NodeClaim{}), read(&corev1.Node{})
}

func TestEndedReservations(t *testing.T) {
	t.Attr("covers", "A349")
	w := newReservedWorld(t)
	check := func(id string, wantClaim, wantNode bool) {
		t.Helper()
		if claim, node := w.isReserved(id); claim != wantClaim || node != wantNode {
			t.Errorf("reserved are claim: %v and node: %v, want %v and %v", claim, node, wantClaim, wantNode)
		}
	}
	demote := func() {
		t.Helper()
		if err := w.Demote(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	demote()
	if n := len(w.account.Calls("DescribeInstances")); n != 0 {
		t.Errorf("nothing is reserved, and EC2 was asked %d times", n)
	}
	ended, held := w.launched("cr-1", nil), w.launched("cr-2", nil)
	others := w.launched("cr-1", func(c *v1.NodeClaim) { c.Spec.NodeClassRef.Kind = "KWOKNodeClass" })
	going := w.launched("cr-1", nil)
	if err := w.Client.Delete(t.Context(), &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: going}}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{ended, others, going} {
		w.fall(id)
	}
	// The next run finishes an interrupted one, although the claim no longer names a reservation.
	w.noNodes = true
	if err := w.Demote(t.Context()); err == nil {
		t.Error("an error is not told")
	}
	check(ended, false, true)
	w.noNodes = false
	demote()
	check(ended, false, false)
	for _, id := range []string{held, others, going} {
		check(id, true, true)
	}
	w.account.Forget()
	w.account.Vanish(held)
	demote()
	check(held, true, true)
	if n := len(w.account.Calls("DescribeInstances")); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestCapacityBlocksThatEnd(t *testing.T) {
	t.Attr("covers", "A350")
	w := newReservedWorld(t)
	end := w.clock.Now().Add(time.Hour)
	for id, kind := range map[string]string{"cr-1": "capacity-block", "cr-2": "default", "cr-3": "capacity-block"} {
		r := awstest.Reservation{ID: id, InstanceType: "m5.large", Zone: "us-east-1a", Kind: kind, Total: 5, End: end}
		if id == "cr-3" {
			r.End = end.Add(time.Hour)
		}
		w.account.AddReservation(r)
	}
	if err := w.Expire(t.Context()); err != nil || len(w.account.Calls("")) != 0 {
		t.Errorf("nothing is reserved: %v, %d calls", err, len(w.account.Calls("")))
	}
	launched := map[string]bool{} // whether each is deleted
	for range 15 {
		launched[w.launched("cr-1", nil)] = true
	}
	launched[w.launched("cr-2", nil)] = false
	launched[w.launched("cr-3", nil)] = false
	launched[w.launched("cr-9", nil)] = false
	launched[w.launched("cr-1", func(c *v1.NodeClaim) { c.Spec.NodeClassRef.Kind = "KWOKNodeClass" })] = false
	check := func(late bool) {
		t.Helper()
		w.account.Forget()
		if err := w.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, goes := range launched {
			claim := &v1.NodeClaim{}
			if err := w.Client.Get(t.Context(), client.ObjectKey{Name: id}, claim); err != nil {
				t.Fatal(err)
			}
			if claim.DeletionTimestamp.IsZero() == (goes && late) {
				t.Errorf("%s in %s: going since %v", id, claim.Labels[awsv1.LabelCapacityReservationID], claim.DeletionTimestamp)
			}
		}
		if n := len(w.account.Calls("DescribeCapacityReservations")); n > 4 {
			t.Errorf("%d calls about four reservations", n)
		}
	}
	w.clock.Step(20*time.Minute - time.Second)
	check(false)
	w.clock.Step(time.Minute + time.Second)
	check(true)
	// No call is made for claims that are being deleted.
	w.clock.Step(2 * time.Minute)
	w.account.Forget()
	if err := w.Expire(t.Context()); err != nil || len(w.account.Calls("DescribeCapacityReservations")) != 3 {
		t.Errorf("%v, %d calls", err, len(w.account.Calls("DescribeCapacityReservations")))
	}
}
