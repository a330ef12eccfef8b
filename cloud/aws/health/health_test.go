package health_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/eventbridge"
	"github.com/karpenter-anew/karpenter/cloud/aws/health"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancelookup"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// world is an account, the health check of its instances, and what the check reports.
type world struct {
	*health.Poller
	t       *testing.T
	account *awstest.Account
	clock   *clocktesting.FakeClock
	client  client.Client
	mu      sync.Mutex
	told    []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	w.account = awstest.New(awstest.Options{Clock: w.clock, Types: []string{"m5.large"}})
	building := apiserver.New()
	for _, i := range instancelookup.Indexes() {
		building = building.WithIndex(i.Object, i.Field, i.Values)
	}
	w.client = building.Build()
	w.Poller = &health.Poller{
		EC2: ec2.NewFromConfig(awstest.Connect(t, w.account)), Client: w.client, Clock: w.clock, Metrics: telemetry.NewMetrics(prometheus.NewRegistry()),
		Manages: func(ref *v1.NodeClassReference) bool { return ref != nil && ref.Kind == "EC2NodeClass" },
		Handle: func(_ context.Context, n eventbridge.Event) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.told = append(w.told, fmt.Sprintf("%s %s", strings.TrimLeft(n.InstanceIDs[0], "i-0"), n.Kind))
			return nil
		},
	}
	return w
}

// instance adds an instance with a claim, in a zone. The first instance has the number 1, and so on.
func (w *world) instance(zone string, change func(*awstest.Instance), claimed bool) *v1.NodeClaim {
	w.t.Helper()
	i := awstest.Instance{Type: "m5.large", Zone: zone, Launched: w.clock.Now()}
	if change != nil {
		change(&i)
	}
	id := w.account.AddInstance(i, nil)
	if !claimed {
		return nil
	}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "claim-of-" + id, Finalizers: []string{v1.TerminationFinalizer}, Labels: map[string]string{corev1.LabelTopologyZone: zone, awsv1.LabelZoneID: "id-of-" + zone},
	}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Status.ProviderID = "aws:///" + zone + "/" + id
	if err := w.client.Create(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
	return claim
}

// failing makes the check of an instance fail since so long.
func (w *world) failing(since time.Duration) func(*awstest.Instance) {
	return func(i *awstest.Instance) { i.InstanceFailed = w.clock.Now().Add(-since) }
}

// having gives an instance events.
func having(events ...awstest.ScheduledEvent) func(*awstest.Instance) {
	return func(i *awstest.Instance) { i.Events = events }
}

// look polls once, and compares the reports.
func (w *world) look(want ...string) {
	w.t.Helper()
	if err := w.Poll(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.told)
	if diff := cmp.Diff(want, w.told); diff != "" {
		w.t.Errorf("told (-want +got)\n%s", diff)
	}
	w.told = nil
}

// unhealthy compares how often a category was counted.
func (w *world) unhealthy(category string, want float64) {
	w.t.Helper()
	if got := testutil.ToFloat64(w.Metrics.InstanceStatusUnhealthy.WithLabelValues(category)); got != want {
		w.t.Errorf("%s was counted %v times, want %v", category, got, want)
	}
}

func TestFailedChecks(t *testing.T) {
	t.Attr("covers", "A338")
	w := newWorld(t)
	w.instance("us-east-1a", w.failing(2*time.Minute), true)
	w.instance("us-east-1b", func(i *awstest.Instance) { i.SystemFailed = w.clock.Now().Add(-time.Hour) }, true)
	w.instance("us-east-1c", w.failing(2*time.Minute-time.Second), true)
	w.instance("us-east-1d", w.failing(time.Hour), false)
	w.look("1 instance_status", "2 system_status")
	w.clock.Step(time.Second)
	w.look("1 instance_status", "2 system_status", "3 instance_status")
}

func TestScheduledEvents(t *testing.T) {
	t.Attr("covers", "A339 A342")
	w := newWorld(t)
	w.instance("us-east-1a", having(awstest.ScheduledEvent{Code: "instance-retirement", Description: "The instance is running on degraded hardware"}), true)
	w.instance("us-east-1b", func(i *awstest.Instance) {
		having(awstest.ScheduledEvent{Code: "system-reboot"})(i)
		w.failing(time.Hour)(i)
	}, true)
	w.instance("us-east-1c", nil, true)
	w.instance("us-east-1d", having(awstest.ScheduledEvent{Code: "instance-stop", Description: "[Completed] Retired"}, awstest.ScheduledEvent{Code: "instance-reboot", Description: "[Canceled] Reboot"}), true)
	w.look("1 event_status", "2 event_status", "2 instance_status")
	w.unhealthy("EventStatus", 2)
	w.unhealthy("InstanceStatus", 1)
}

func TestADryRunOnlyCounts(t *testing.T) {
	t.Attr("covers", "A340")
	w := newWorld(t)
	w.DryRun = true
	w.instance("us-east-1a", w.failing(time.Hour), true)
	w.look()
	w.unhealthy("InstanceStatus", 1)
}

func TestInstancesAreCountedOnce(t *testing.T) {
	t.Attr("covers", "A341")
	w := newWorld(t)
	w.instance("us-east-1a", w.failing(time.Hour), true)
	w.instance("us-east-1b", w.failing(time.Hour), false)
	for range 3 {
		w.look("1 instance_status")
	}
	w.unhealthy("InstanceStatus", 1)
	id := w.account.Instances()[0].ID
	w.account.Change(id, func(i *awstest.Instance) { i.InstanceFailed = time.Time{} })
	w.look()
	w.account.Change(id, w.failing(time.Hour))
	w.look("1 instance_status")
	w.unhealthy("InstanceStatus", 2)
}

func TestManyInstancesComeInPages(t *testing.T) {
	w := newWorld(t)
	for range 1005 {
		w.instance("us-east-1a", w.failing(time.Hour), false)
	}
	w.instance("us-east-1b", w.failing(time.Hour), true)
	if w.look(fmt.Sprintf("%x instance_status", 1006)); len(w.account.Calls("DescribeInstanceStatus")) != 4 {
		t.Errorf("%d calls", len(w.account.Calls("DescribeInstanceStatus")))
	}
}

// TestAZoneIsNotEndedAtOnce has a zone in which all instances appear impaired.
func TestAZoneIsNotEndedAtOnce(t *testing.T) {
	w := newWorld(t)
	var claims []*v1.NodeClaim
	for n := range 11 {
		claims = append(claims, w.instance("us-east-1a", w.failing(time.Duration(3+n)*time.Minute), true))
	}
	w.instance("us-east-1b", w.failing(time.Hour), true)
	// A fifth of eleven, rounded up: those that fail the longest. They go by force, as the answer makes them.
	want := []string{"9 instance_status", "a instance_status", "b instance_status", "c instance_status"}
	w.look(want...)
	force := func(claim *v1.NodeClaim) {
		claim.Annotations = map[string]string{v1.NodeClaimTerminationTimestampAnnotationKey: w.clock.Now().Format(time.RFC3339)}
		if err := w.client.Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	for _, claim := range claims[8:] {
		force(claim)
	}
	// While they exist, no other node is repaired; they are reported again, which is harmless.
	w.look(want...)
	gone := claims[10]
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(gone), gone); err != nil {
		t.Fatal(err)
	}
	gone.Finalizers = nil
	if err := w.client.Update(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	// Ten are left, of which two may be ended: they are, already.
	w.look("9 instance_status", "a instance_status", "c instance_status")
}

func TestShiftedZonesAreLeftAlone(t *testing.T) {
	t.Attr("covers", "A330")
	w := newWorld(t)
	w.Shifted = func(id string) bool { return id == "id-of-us-east-1a" }
	w.instance("us-east-1a", func(i *awstest.Instance) {
		w.failing(time.Hour)(i)
		having(awstest.ScheduledEvent{Code: "system-reboot"})(i)
	}, true)
	w.instance("us-east-1b", w.failing(time.Hour), true)
	w.look("1 event_status", "2 instance_status")
	w.unhealthy("InstanceStatus", 2)
}

func TestWhatIsNotAllowedIsTriedSeldom(t *testing.T) {
	w := newWorld(t)
	w.instance("us-east-1a", w.failing(time.Hour), true)
	w.account.Fail("DescribeInstanceStatus", "UnauthorizedOperation", "no", 1)
	for range 10 {
		w.look()
		w.clock.Step(time.Minute)
	}
	if n := len(w.account.Calls("DescribeInstanceStatus")); n != 1 {
		t.Errorf("%d calls in ten minutes", n)
	}
	w.look("1 instance_status")
	w.account.Fail("DescribeInstanceStatus", "InternalError", "no", 1)
	if err := w.Poll(t.Context()); err == nil {
		t.Error("an error of another kind is not told")
	}
	w.look("1 instance_status")
}
