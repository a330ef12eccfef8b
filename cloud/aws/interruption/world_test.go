package interruption_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancelookup"
	"github.com/karpenter-anew/karpenter/cloud/aws/interruption"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// world is a queue with a reader, and an in-memory API server.
type world struct {
	t        *testing.T
	account  *awstest.Account
	clock    *clocktesting.FakeClock
	client   client.Client
	registry *prometheus.Registry
	queue    *interruption.Queue
	*interruption.Handler
	events *sink
	// refuse is why deletions fail; nil if they do not.
	refuse error
	// fresh is the instance that was launched a moment ago.
	fresh string
}

// sink remembers events.
type sink struct {
	record.EventRecorder
	mu   sync.Mutex
	sent []string
}

// Event implements record.EventRecorder.
func (s *sink) Event(o runtime.Object, eventType, reason, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, fmt.Sprintf("%s %s %s: %s", strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1."), eventType, reason, message))
}

// take returns the events so far, sorted, and forgets them.
func (s *sink) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.sent = nil }()
	return slices.Sorted(slices.Values(s.sent))
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), registry: prometheus.NewRegistry(), events: &sink{}}
	w.account = awstest.New(awstest.Options{Clock: w.clock, Types: []string{"m5.large"}})
	w.account.AddQueue("queue")
	building := apiserver.New().WithStatusSubresource(&v1.NodeClaim{}).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if w.refuse != nil {
				return w.refuse
			}
			return c.Delete(ctx, o, opts...)
		},
	})
	for _, i := range instancelookup.Indexes() {
		building = building.WithIndex(i.Object, i.Field, i.Values)
	}
	w.client = building.Build()
	w.Handler = &interruption.Handler{
		Client: w.client, Clock: w.clock, Recorder: observe.NewRecorder(w.events, w.clock), Metrics: observe.NewMetrics(w.registry, nil),
		Manages: func(ref *v1.NodeClassReference) bool { return ref != nil && ref.Kind == "EC2NodeClass" },
		Fresh:   func(id string) bool { return id == w.fresh }, UnavailableOfferings: unavailableofferings.New(w.clock),
	}
	w.queue = &interruption.Queue{
		API: sqs.NewFromConfig(awstest.Connect(t, w.account)), Name: "queue", Region: "us-east-1", Handle: w.Handle, Clock: w.clock, Metrics: telemetry.NewMetrics(w.registry),
	}
	return w
}

// claim adds a claim of an instance, and returns it.
func (w *world) claim(id string, change func(*v1.NodeClaim)) *v1.NodeClaim {
	w.t.Helper()
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "claim-of-" + id, UID: types.UID("uid-of-" + id), Finalizers: []string{v1.TerminationFinalizer},
		Labels: map[string]string{
			v1.NodePoolLabelKey: "pool", v1.CapacityTypeLabelKey: "spot", corev1.LabelTopologyZone: "us-east-1a", corev1.LabelInstanceTypeStable: "m5.large",
		},
	}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Status.ProviderID = "aws:///us-east-1a/" + id
	if change != nil {
		change(claim)
	}
	if err := w.client.Create(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
	return claim
}

// node adds the node of an instance.
func (w *world) node(id string) {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-of-" + id, UID: types.UID("node-uid-of-" + id)}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/" + id}}
	if err := w.client.Create(w.t.Context(), node); err != nil {
		w.t.Fatal(err)
	}
}

// read is a claim as it is.
func (w *world) read(claim *v1.NodeClaim) *v1.NodeClaim {
	w.t.Helper()
	out := &v1.NodeClaim{}
	if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(claim), out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// going reports whether a claim is being deleted.
func (w *world) going(claim *v1.NodeClaim) bool { return !w.read(claim).DeletionTimestamp.IsZero() }

// send puts messages into the queue.
func (w *world) send(texts ...string) {
	for _, text := range texts {
		w.account.Send("queue", &text)
	}
}

// poll reads the queue, which must succeed.
func (w *world) poll() {
	w.t.Helper()
	if err := w.queue.Poll(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// metrics compares metrics with how they are exposed.
func (w *world) metrics(want string, names ...string) {
	w.t.Helper()
	if err := testutil.GatherAndCompare(w.registry, strings.NewReader(want+"\n"), names...); err != nil {
		w.t.Error(err)
	}
}

// event is an EventBridge event of 15 seconds ago.
func (w *world) event(source, kind, detail string) string {
	return eventOf(awstest.AccountID, "us-east-1", w.clock.Now(), source, kind, detail)
}

// eventOf is an event of 15 seconds before now.
func eventOf(account, region string, now time.Time, source, kind, detail string) string {
	return fmt.Sprintf(`{"version":"0","id":"a","account":%q,"region":%q,"detail-type":%q,"source":%q,"time":%q,"detail":%s}`, account, region, kind, source, now.Add(-15*time.Second).Format(time.RFC3339), detail)
}

// state is an event about the state of an instance.
func (w *world) state(id, state string) string {
	return w.event("aws.ec2", "EC2 Instance State-change Notification", fmt.Sprintf(`{"instance-id":%q,"state":%q}`, id, state))
}

// spot is an event about a spot instance that is taken back.
func (w *world) spot(id string) string {
	return w.event("aws.ec2", "EC2 Spot Instance Interruption Warning", fmt.Sprintf(`{"instance-id":%q,"instance-action":"terminate"}`, id))
}

// health is an event of AWS Health.
func (w *world) health(ids ...string) string {
	var entities []string
	for _, id := range ids {
		entities = append(entities, fmt.Sprintf(`{"entityValue":%q}`, id))
	}
	return w.event("aws.health", "AWS Health Event", `{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[`+strings.Join(entities, ",")+`]}`)
}
