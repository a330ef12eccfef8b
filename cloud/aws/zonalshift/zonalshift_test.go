package zonalshift_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/zonalshift"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

const cluster = "arn:aws:eks:us-east-1:123456789012:cluster/test"

// world is an account with a watch over its cluster.
type world struct {
	*zonalshift.Watch
	account *awstest.Account
	clock   *clocktesting.FakeClock
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	w.account = awstest.New(awstest.Options{Clock: w.clock, Types: []string{"m5.large"}})
	w.Watch = zonalshift.New(arczonalshift.NewFromConfig(awstest.Connect(t, w.account)), cluster, w.clock)
	return w
}

// in is the time in a while.
func (w *world) in(d time.Duration) time.Time { return w.clock.Now().Add(d) }

func TestShifts(t *testing.T) {
	w := newWorld(t)
	check := func(want ...string) {
		t.Helper()
		if got := w.Zones(); !slices.Equal(got, want) {
			t.Errorf("shifted are %q, want %q", got, want)
		}
		for _, id := range []string{"use1-az1", "use1-az2", "use1-az3"} {
			if w.Shifted(id) != slices.Contains(want, id) {
				t.Errorf("%s shifted: %v", id, w.Shifted(id))
			}
		}
	}
	refresh := func() {
		t.Helper()
		if err := w.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	refresh()
	check()
	w.account.SetShifts(
		awstest.Shift{ZoneID: "use1-az2", Ends: w.in(time.Hour)}, awstest.Shift{ZoneID: "use1-az1", Ends: w.in(2 * time.Hour)},
		awstest.Shift{ZoneID: "use1-az3", Ends: w.in(time.Hour), Waiting: true},
	)
	check()
	refresh()
	check("use1-az1", "use1-az2")
	// A cancelled shift has ended, whatever other shifts are active.
	w.account.SetShifts(awstest.Shift{ZoneID: "use1-az1", Ends: w.in(time.Hour)})
	refresh()
	check("use1-az1")
	// Without an answer the last one counts, until its shifts end.
	w.account.Fail("GetManagedResource", "InternalServerException", "no", 1)
	if err := w.Refresh(t.Context()); err == nil {
		t.Error("an error is not told")
	}
	check("use1-az1")
	w.clock.Step(time.Hour)
	check()
	w.account.SetShifts(awstest.Shift{ZoneID: "use1-az3"})
	refresh()
	w.clock.Step(100 * time.Hour)
	check("use1-az3")
	w.account.SetShifts()
	refresh()
	check()
}

func TestWithoutAWatchThereAreNoShifts(t *testing.T) {
	var none *zonalshift.Watch
	if none.Shifted("use1-az1") || none.Zones() != nil {
		t.Error("there are shifts")
	}
}

// sink remembers events.
type sink struct {
	record.EventRecorder
	sent []string
}

// Event implements record.EventRecorder.
func (s *sink) Event(o runtime.Object, eventType, reason, message string) {
	s.sent = append(s.sent, fmt.Sprintf("%s: %s %s: %s", o.(client.Object).GetName(), eventType, reason, message))
}

func TestPoolsAreNotifiedOfShifts(t *testing.T) {
	t.Attr("covers", "A352")
	w := newWorld(t)
	c := apiserver.New().Build()
	create := func(o client.Object) {
		t.Helper()
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	class := func(name string, subnets ...awsv1.Subnet) {
		create(&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: awsv1.EC2NodeClassStatus{Subnets: subnets}})
	}
	a, b := awsv1.Subnet{ID: "subnet-1", Zone: "us-east-1a", ZoneID: "use1-az1"}, awsv1.Subnet{ID: "subnet-2", Zone: "us-east-1b", ZoneID: "use1-az2"}
	class("both", a, b)
	class("b-only", b)
	pool := func(name, className, kind string, change func(*v1.NodeClaimTemplate)) {
		p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: kind, Name: className}
		if change != nil {
			change(&p.Spec.Template)
		}
		create(p)
	}
	only := func(key string, operator corev1.NodeSelectorOperator, value string) func(*v1.NodeClaimTemplate) {
		return func(t *v1.NodeClaimTemplate) {
			t.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: key, Operator: operator, Values: []string{value}}}
		}
	}
	pool("any", "both", "EC2NodeClass", nil)
	pool("in-a", "both", "EC2NodeClass", only("topology.kubernetes.io/zone", "In", "us-east-1a"))
	pool("not-in-a", "both", "EC2NodeClass", only("topology.kubernetes.io/zone", "NotIn", "us-east-1a"))
	pool("in-az2", "both", "EC2NodeClass", only("topology.k8s.aws/zone-id", "In", "use1-az2"))
	pool("labelled", "both", "EC2NodeClass", func(t *v1.NodeClaimTemplate) {
		t.Labels = map[string]string{"topology.kubernetes.io/zone": "us-east-1b"}
	})
	pool("without-subnet", "b-only", "EC2NodeClass", nil)
	pool("without-class", "none", "EC2NodeClass", nil)
	pool("of-another-cloud", "both", "KWOKNodeClass", nil)
	events := &sink{}
	announcer := &zonalshift.Announcer{
		Watch: w.Watch, Client: c, Recorder: observe.NewRecorder(events, w.clock),
		Manages: func(ref *v1.NodeClassReference) bool { return ref != nil && ref.Kind == "EC2NodeClass" },
	}
	announce := func(want ...string) {
		t.Helper()
		if err := announcer.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(events.sent)
		if diff := cmp.Diff(want, events.sent); diff != "" {
			t.Errorf("events (-want +got)\n%s", diff)
		}
		events.sent = nil
		w.clock.Step(time.Hour) // so that no event is a repetition
	}
	const active, cleared = "Warning ZonalShiftActive: Zonal shift detected: offerings in zone us-east-1a (use1-az1) are unavailable for this NodePool",
		"Normal ZonalShiftCleared: Zonal shift cleared: offerings in zone us-east-1a (use1-az1) are restored for this NodePool"
	announce()
	w.account.SetShifts(awstest.Shift{ZoneID: "use1-az1", Ends: w.in(100 * time.Hour)})
	announce("any: "+active, "in-a: "+active)
	announce()
	w.account.SetShifts(awstest.Shift{ZoneID: "use1-az1", Ends: w.in(100 * time.Hour)}, awstest.Shift{ZoneID: "use1-az9", Ends: w.in(100 * time.Hour)})
	announce()
	w.account.SetShifts()
	announce("any: "+cleared, "in-a: "+cleared)
}
