package provider_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

func TestTheClassDecides(t *testing.T) {
	refused := func(w *world) error {
		w.t.Helper()
		created, err := w.Create(w.t.Context(), w.claim())
		if err == nil {
			w.t.Fatalf("launched %s", created.Status.ProviderID)
		}
		if len(w.account.Instances()) != 0 {
			w.t.Error("an instance was launched")
		}
		return err
	}
	t.Run("not ready", func(t *testing.T) {
		t.Attr("covers", "A176")
		w := newWorld(t, "m5.large")
		w.class.Status.Conditions = []metav1.Condition{{Type: awsv1.ConditionTypeReady, Status: metav1.ConditionFalse, Message: "SubnetsReady=False"}}
		w.saveStatus()
		if err := refused(w); !cloud.IsNodeClassNotReady(err) || !strings.Contains(err.Error(), "SubnetsReady=False") {
			t.Error(err)
		}
	})
	t.Run("not known to be ready", func(t *testing.T) {
		w := newWorld(t, "m5.large")
		w.class.Status.Conditions = nil
		w.saveStatus()
		if e, ok := cloud.AsCreateError(refused(w)); !ok || e.Reason != "NodeClassReadinessUnknown" || e.Message != "NodeClass is in Ready=Unknown" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("bad tags", func(t *testing.T) {
		t.Attr("covers", "A177")
		w := newWorld(t, "m5.large")
		w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"karpenter.sh/nodeclaim": "x"} })
		if err := refused(w); !cloud.IsNodeClassNotReady(err) {
			t.Error(err)
		}
	})
	t.Run("an old status", func(t *testing.T) {
		t.Attr("covers", "A178")
		w := newWorld(t, "m5.large")
		w.class.Generation++
		if err := w.Client.Update(t.Context(), w.class); err != nil {
			t.Fatal(err)
		}
		if err := refused(w); !cloud.IsNodeClassNotReady(err) || !strings.Contains(err.Error(), "has not been reconciled against the latest spec") {
			t.Error(err)
		}
	})
	t.Run("no profile", func(t *testing.T) {
		t.Attr("covers", "A293")
		w := newWorld(t, "m5.large")
		w.class.Status.InstanceProfile = ""
		w.saveStatus()
		if err := refused(w); !strings.Contains(err.Error(), "no instance profile is present in the status") {
			t.Error(err)
		}
	})
	t.Run("no security groups", func(t *testing.T) {
		t.Attr("covers", "A292")
		w := newWorld(t, "m5.large")
		w.class.Status.SecurityGroups = nil
		w.saveStatus()
		if err := refused(w); !strings.Contains(err.Error(), "no security groups are present in the status") {
			t.Error(err)
		}
	})
	t.Run("no image", func(t *testing.T) {
		t.Attr("covers", "A296")
		w := newWorld(t, "m5.large")
		w.class.Status.AMIs = w.class.Status.AMIs[:0]
		w.saveStatus()
		if err := refused(w); !strings.Contains(err.Error(), "no amis exist given constraints") {
			t.Error(err)
		}
	})
	t.Run("no range of services", func(t *testing.T) {
		t.Attr("covers", "A316")
		w := newWorld(t, "m5.large")
		w.Cluster.Change(func(f *providerFacts) { f.ServiceCIDR = "" })
		if err := refused(w); !strings.Contains(err.Error(), "resolving cluster CIDR") {
			t.Error(err)
		}
	})
	t.Run("a block that cannot be read, until it can", func(t *testing.T) {
		t.Attr("covers", "A234")
		w := newWorld(t, "m5.large")
		w.class.Spec.Kubelet = kubeletBlock(t, `{"maxPods": {}}`)
		if err := w.Client.Update(t.Context(), w.class); err != nil {
			t.Fatal(err)
		}
		if _, err := w.InstanceTypes(t.Context(), w.pool); err == nil || !strings.Contains(err.Error(), "parsing spec.kubelet") {
			t.Errorf("got %v", err)
		}
		w.class.Spec.Kubelet = nil
		if err := w.Client.Update(t.Context(), w.class); err != nil {
			t.Fatal(err)
		}
		w.class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-a1", Zone: "us-east-1a"}}
		w.saveStatus()
		if types, err := w.InstanceTypes(t.Context(), w.pool); err != nil || len(types) == 0 {
			t.Errorf("%d types, %v", len(types), err)
		}
	})
}

func TestWhatTheClaimLearns(t *testing.T) {
	t.Attr("covers", "A180 A181 A182 A189")
	w := newWorld(t, "m5.large")
	created := w.create(w.claim(cloud.In(corev1.LabelTopologyZone, "us-east-1b")))
	i := w.account.Instances()[0]
	if created.Status.ProviderID != "aws:///us-east-1b/"+i.ID || created.Status.ImageID != i.Image || !strings.HasPrefix(i.Image, "ami-") {
		t.Errorf("%+v of %+v", created.Status, i)
	}
	for key, want := range map[string]string{
		awsv1.LabelZoneID: "use1-az2", awsv1.LabelInstanceTenancy: "default", corev1.LabelInstanceTypeStable: "m5.large", awsv1.LabelInstanceFamily: "m5",
		v1.CapacityTypeLabelKey: "on-demand", corev1.LabelTopologyRegion: "us-east-1", v1.NodePoolLabelKey: "pool",
	} {
		if created.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, created.Labels[key], want)
		}
	}
	want := map[string]string{awsv1.AnnotationHash: w.class.Hash("Y2E="), awsv1.AnnotationHashVersion: awsv1.HashVersion, awsv1.AnnotationInstanceProfile: profile}
	for key, value := range want {
		if created.Annotations[key] != value {
			t.Errorf("annotation %s is %q, want %q", key, created.Annotations[key], value)
		}
	}
	if len(created.Annotations) != len(want) {
		t.Errorf("annotations %v", created.Annotations)
	}
	if dedicated := w.create(w.claim(cloud.In(awsv1.LabelInstanceTenancy, "dedicated"))); dedicated.Labels[awsv1.LabelInstanceTenancy] != "dedicated" || w.account.Instances()[1].Tenancy != "dedicated" {
		t.Errorf("labels of a dedicated instance are %v", dedicated.Labels)
	}
	if tags := w.account.Tags(i.ID); tags[awsv1.TagNodePool] != "pool" || tags[awsv1.TagNodeClass] != "default" || tags[awsv1.TagClusterName] != "test" || tags["kubernetes.io/cluster/test"] != "owned" {
		t.Errorf("tags %v", tags)
	}
}

func TestContextIsPassedOn(t *testing.T) {
	t.Attr("covers", "A183")
	for relaxed, want := range map[string]string{"": "ctx", "false": "ctx", "true": ""} {
		w := newWorld(t, "m5.large")
		text := "ctx"
		w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.Context = &text })
		claim := w.claim()
		if relaxed != "" {
			claim.Annotations = map[string]string{v1.NodeClaimMinValuesRelaxedAnnotationKey: relaxed}
		}
		w.create(claim)
		if got := w.account.Calls("CreateFleet")[0].Parameters["Context"]; got != want {
			t.Errorf("relaxed %q: got %q", relaxed, got)
		}
	}
}

func TestReservations(t *testing.T) {
	t.Attr("covers", "A187 A188")
	w := newWorld(t, "m5.large", "c5.large")
	w.account.AddReservation(awstest.Reservation{ID: "cr-1", InstanceType: "m5.large", Zone: "us-east-1b", Total: 2, Left: 2})
	w.resolve(func(c *awsv1.EC2NodeClass) {
		c.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
	})
	any := cloud.In(v1.CapacityTypeLabelKey, "reserved", "on-demand")
	first := w.create(w.claim(any))
	for key, want := range map[string]string{
		v1.CapacityTypeLabelKey: "reserved", awsv1.LabelCapacityReservationID: "cr-1", awsv1.LabelCapacityReservationType: "default",
		awsv1.LabelCapacityReservationInterruptible: "false", corev1.LabelTopologyZone: "us-east-1b", corev1.LabelInstanceTypeStable: "m5.large",
	} {
		if first.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, first.Labels[key], want)
		}
	}
	if i := w.account.Instances()[0]; i.Reservation != "cr-1" || w.Catalog.Reservations.Left("cr-1") != 1 {
		t.Errorf("%+v, %d left", i, w.Catalog.Reservations.Left("cr-1"))
	}
	if got, err := w.Get(t.Context(), first.Status.ProviderID); err != nil || got.Labels[awsv1.LabelCapacityReservationID] != "cr-1" {
		t.Errorf("%+v, %v", got, err)
	}
	second, third := w.create(w.claim(any)), w.create(w.claim(any))
	if second.Labels[v1.CapacityTypeLabelKey] != "reserved" || third.Labels[v1.CapacityTypeLabelKey] != "on-demand" || third.Labels[awsv1.LabelCapacityReservationID] != "" {
		t.Errorf("labels %v and %v", second.Labels, third.Labels)
	}
	for range 5 {
		if err := w.Delete(t.Context(), first); cloud.IsNodeClaimNotFound(err) {
			break
		}
		w.clock.Step(time.Minute)
	}
	if w.Catalog.Reservations.Left("cr-1") != 1 {
		t.Errorf("%d left after an end", w.Catalog.Reservations.Left("cr-1"))
	}
}

func TestWithReservationsOff(t *testing.T) {
	t.Attr("covers", "A332")
	w := newWorld(t, "m5.large")
	created := w.create(w.claim())
	w.account.Change(w.account.Instances()[0].ID, func(i *awstest.Instance) { i.Reservation, i.ReservationPreference = "cr-open", "open" })
	if got, err := w.Get(t.Context(), created.Status.ProviderID); err != nil || got.Labels[v1.CapacityTypeLabelKey] != "on-demand" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestNoCapacity(t *testing.T) {
	t.Attr("covers", "A282")
	for _, code := range []string{"InsufficientInstanceCapacity", "MaxFleetCountExceeded", "ReservationCapacityExceeded", "UnfulfillableCapacity", "AuthFailure.ServiceLinkedRoleCreationNotPermitted"} {
		w := newWorld(t, "m5.large")
		w.account.Refuse(awstest.Pool{}, awstest.Refusal{Code: code, Message: "no"})
		_, err := w.Create(t.Context(), w.claim(cloud.In(v1.CapacityTypeLabelKey, "spot")))
		if !cloud.IsInsufficientCapacity(err) || !strings.Contains(err.Error(), "with fleet error(s), "+code+": no") {
			t.Errorf("%s: %v", code, err)
		}
	}
	w := newWorld(t, "m5.large")
	w.account.Refuse(awstest.Pool{Zone: "us-east-1a"}, awstest.Refusal{Code: "InvalidAMIID.NotFound", Message: "no"})
	w.account.RunOut(awstest.Pool{})
	_, err := w.Create(t.Context(), w.claim())
	if e, ok := cloud.AsCreateError(err); !ok || e.Reason != "AMINotFound" {
		t.Errorf("a fault among the errors: %v", err)
	}
}

func TestWhatRanOutIsLeftAlone(t *testing.T) {
	w := newWorld(t, "m5.large", "c5.large")
	w.account.RunOut(awstest.Pool{InstanceType: "c5.large", Zone: "us-east-1a"})
	w.account.RunOut(awstest.Pool{InstanceType: "c5.large", Zone: "us-east-1b"})
	w.account.RunOut(awstest.Pool{InstanceType: "c5.large", Zone: "us-east-1d"})
	w.create(w.claim())
	closed := func() string {
		types, err := w.InstanceTypes(t.Context(), w.pool)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, it := range types {
			for _, o := range it.Offerings {
				if !o.Available && it.Name == "c5.large" && o.CapacityType() == "on-demand" && strings.Contains("us-east-1a us-east-1b us-east-1d", o.Zone()) {
					out = append(out, o.Zone())
				}
			}
		}
		return strings.Join(out, " ")
	}
	if got := closed(); got != "us-east-1a us-east-1b us-east-1d" {
		t.Errorf("closed are %q", got)
	}
	w.clock.Step(4 * time.Minute)
	if got := closed(); got != "" {
		t.Errorf("closed after a while are %q", got)
	}
}

func TestWithoutTheSpotRole(t *testing.T) {
	t.Attr("covers", "A283")
	w := newWorld(t, "m5.large")
	events := w.listen()
	w.account.Refuse(awstest.Pool{CapacityType: "spot"}, awstest.Refusal{Code: "AuthFailure.ServiceLinkedRoleCreationNotPermitted", Message: "no"})
	any := cloud.In(v1.CapacityTypeLabelKey, "spot", "on-demand")
	if _, err := w.Create(t.Context(), w.claim(any)); !cloud.IsInsufficientCapacity(err) {
		t.Error(err)
	}
	want := `claim-1|Warning||Attempted to launch a spot instance but failed due to "AuthFailure.ServiceLinkedRoleCreationNotPermitted"`
	if len(events.lines) != 1 || events.lines[0] != want {
		t.Errorf("users are told %q", events.lines)
	}
	w.clock.Step(3*time.Minute - time.Second)
	if got := w.create(w.claim(any)).Labels[v1.CapacityTypeLabelKey]; got != "on-demand" {
		t.Errorf("the next is %s", got)
	}
	w.account.Refill(awstest.Pool{CapacityType: "spot"})
	w.clock.Step(time.Second)
	if got := w.create(w.claim(any)).Labels[v1.CapacityTypeLabelKey]; got != "spot" {
		t.Errorf("after three minutes it is %s", got)
	}
}

func TestThrottlingSaysNothingAboutReservations(t *testing.T) {
	t.Attr("covers", "A284")
	w := newWorld(t, "m5.large")
	w.account.AddReservation(awstest.Reservation{ID: "cr-1", InstanceType: "m5.large", Zone: "us-east-1b", Total: 2, Left: 2})
	w.resolve(func(c *awsv1.EC2NodeClass) {
		c.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
	})
	reserved := cloud.In(v1.CapacityTypeLabelKey, "reserved")
	w.account.Fail("CreateFleet", awstest.Throttled, "slow down", 1)
	_, err := w.Create(t.Context(), w.claim(reserved))
	if e, ok := cloud.AsCreateError(err); !ok || e.Reason != "RequestLimitExceeded" || e.Message != "Error creating fleet request: Request limit exceeded" {
		t.Errorf("got %v", err)
	}
	w.account.Refuse(awstest.Pool{}, awstest.Refusal{Code: awstest.Throttled, Message: "slow down"})
	if _, err := w.Create(t.Context(), w.claim(reserved)); err == nil || cloud.IsInsufficientCapacity(err) {
		t.Errorf("got %v", err)
	}
	if w.Catalog.Reservations.Left("cr-1") != 2 {
		t.Errorf("%d left", w.Catalog.Reservations.Left("cr-1"))
	}
}

func TestTheStrategy(t *testing.T) {
	t.Attr("covers", "A276")
	for _, test := range []struct{ capacityType, overlaid, key, want string }{
		{"spot", "", "SpotOptions.AllocationStrategy", "price-capacity-optimized"},
		{"spot", "true", "SpotOptions.AllocationStrategy", "capacity-optimized-prioritized"},
		{"on-demand", "", "OnDemandOptions.AllocationStrategy", "lowest-price"},
		{"on-demand", "true", "OnDemandOptions.AllocationStrategy", "prioritized"},
	} {
		w := newWorld(t, "m5.large")
		claim := w.claim(cloud.In(v1.CapacityTypeLabelKey, test.capacityType))
		if test.overlaid != "" {
			claim.Annotations = map[string]string{v1.PriceOverlayAppliedAnnotationKey: test.overlaid}
		}
		w.create(claim)
		call := w.account.Calls("CreateFleet")[0].Parameters
		if call[test.key] != test.want || call["TargetCapacitySpecification.DefaultTargetCapacityType"] != test.capacityType {
			t.Errorf("%+v: got %v", test, call)
		}
	}
}

func TestManyLaunchesAtOnce(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.create(w.claim()) // the launch template is there
	w.account.Forget()
	ids := map[string]bool{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 20 {
		claim := w.claim()
		all.Go(func() {
			created, err := w.Create(t.Context(), claim)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[created.Status.ProviderID] = true
		})
	}
	all.Wait()
	if len(ids) != 20 {
		t.Errorf("%d instances", len(ids))
	}
}
