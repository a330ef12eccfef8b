package interruption_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func TestMessagesDeleteTheClaim(t *testing.T) {
	t.Attr("covers", "A333")
	for name, test := range map[string]struct {
		text         func(w *world) string
		kind, reason string
		going        bool
		eventType    string
		message      string
	}{
		"spot": {func(w *world) string { return w.spot("i-1") }, "spot_interrupted", "SpotInterrupted", true, "Warning", "Spot interruption warning was triggered"},
		"reservation": {func(w *world) string {
			return w.event("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", `{"instance-id":"i-1"}`)
		}, "capacity_reservation_interrupted", "CapacityReservationInstanceInterrupted", true, "Warning", "Capacity Reservation interruption warning was triggered"},
		"scheduled change": {
			func(w *world) string { return w.health("i-1") }, "scheduled_change", "InstanceUnhealthy", true, "Warning",
			"An unhealthy warning was triggered for the instance",
		},
		"stopping":   {func(w *world) string { return w.state("i-1", "stopping") }, "instance_stopped", "InstanceStopping", true, "Warning", "Instance is stopping"},
		"terminated": {func(w *world) string { return w.state("i-1", "terminated") }, "instance_terminated", "InstanceTerminating", true, "Warning", "Instance is terminating"},
		"rebalance": {func(w *world) string {
			return w.event("aws.ec2", "EC2 Instance Rebalance Recommendation", `{"instance-id":"i-1"}`)
		}, "rebalance_recommendation", "SpotRebalanceRecommendation", false, "Normal", "Spot rebalance recommendation was triggered"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			claim, other := w.claim("i-1", nil), w.claim("i-2", nil)
			w.node("i-1")
			w.send(test.text(w))
			w.poll()
			if w.going(claim) != test.going || w.going(other) || len(w.account.Messages("queue")) != 0 {
				t.Errorf("claim going: %v, the other: %v, messages %q", w.going(claim), w.going(other), w.account.Messages("queue"))
			}
			told := fmt.Sprintf(" %s %s: %s", test.eventType, test.reason, test.message)
			want := []string{"Node" + told, "NodeClaim" + told}
			disrupted := ""
			if test.going {
				want = []string{
					"Node" + told, "Node Warning TerminatingOnInterruption: Interruption triggered termination for the Node",
					"NodeClaim" + told, "NodeClaim Warning TerminatingOnInterruption: Interruption triggered termination for the NodeClaim",
				}
				disrupted = fmt.Sprintf(`# HELP karpenter_nodeclaims_disrupted_total NodeClaims whose deletion Karpenter started.
# TYPE karpenter_nodeclaims_disrupted_total counter
karpenter_nodeclaims_disrupted_total{capacity_type="spot",consolidation_policy="",nodepool="pool",reason=%q,termination_mode="graceful"} 1`, test.kind)
			}
			got := w.events.take()
			if diff := cmp.Diff(strings.Join(sorted(want), "\n"), strings.Join(got, "\n")); diff != "" {
				t.Errorf("events (-want +got)\n%s", diff)
			}
			w.metrics(disrupted, "karpenter_nodeclaims_disrupted_total", "karpenter_pods_disruption_initiated_total")
			w.metrics(fmt.Sprintf(`# HELP karpenter_interruption_deleted_messages_total Messages deleted from the interruption queue.
# TYPE karpenter_interruption_deleted_messages_total counter
karpenter_interruption_deleted_messages_total 1
# HELP karpenter_interruption_received_messages_total Messages received from the interruption queue.
# TYPE karpenter_interruption_received_messages_total counter
karpenter_interruption_received_messages_total{message_type=%q} 1`, test.kind), "karpenter_interruption_deleted_messages_total", "karpenter_interruption_received_messages_total")
		})
	}
}

func TestClaimsWithoutNode(t *testing.T) {
	t.Attr("covers", "A334")
	w := newWorld(t)
	claim := w.claim("i-1", nil)
	w.send(w.spot("i-1"))
	w.poll()
	if !w.going(claim) || len(w.events.take()) != 2 || len(w.account.Messages("queue")) != 0 {
		t.Error("the claim stays, or there are no events, or the message stays")
	}
}

func TestOtherMessages(t *testing.T) {
	t.Attr("covers", "A335")
	w := newWorld(t)
	claim := w.claim("i-1", nil)
	w.account.Send("queue", nil)
	w.send("no JSON", "{", "[]", w.event("aws.ec2", "EC2 Instance State-change Notification", `{"instance-id":["i-1"]}`), w.state("i-1", "running"), w.state("i-1", "pending"),
		w.event("aws.s3", "Object Created", `{}`), w.spot("i-9"))
	w.poll()
	if left := w.account.Messages("queue"); len(left) != 0 || w.going(claim) || len(w.events.take()) != 0 {
		t.Errorf("left are %q; going: %v", left, w.going(claim))
	}
	w.metrics(`# HELP karpenter_interruption_deleted_messages_total Messages deleted from the interruption queue.
# TYPE karpenter_interruption_deleted_messages_total counter
karpenter_interruption_deleted_messages_total 9
# HELP karpenter_interruption_received_messages_total Messages received from the interruption queue.
# TYPE karpenter_interruption_received_messages_total counter
karpenter_interruption_received_messages_total{message_type="no_op"} 3
karpenter_interruption_received_messages_total{message_type="spot_interrupted"} 1`,
		"karpenter_interruption_deleted_messages_total", "karpenter_interruption_received_messages_total")
}

func TestTroubleWithTheQueue(t *testing.T) {
	t.Attr("covers", "A337")
	w := newWorld(t)
	claim := w.claim("i-1", nil)
	fails := func(call, code string) {
		t.Helper()
		w.account.Fail(call, code, "no", 1)
		if err := w.queue.Poll(t.Context()); err == nil || !strings.Contains(err.Error(), code) || !strings.Contains(err.Error(), `"queue"`) {
			t.Errorf("%s: %v", call, err)
		}
	}
	w.send(w.spot("i-1"))
	fails("GetQueueUrl", "AccessDeniedException")
	fails("GetQueueUrl", "InternalError")
	fails("ReceiveMessage", "AccessDeniedException")
	fails("ReceiveMessage", "ThrottlingException")
	w.account.RemoveQueue("queue")
	for range 2 {
		if err := w.queue.Poll(t.Context()); err == nil || !strings.Contains(err.Error(), "NonExistentQueue") {
			t.Errorf("a queue that is gone: %v", err)
		}
	}
	// The second poll looks the queue up again.
	if n := len(w.account.Calls("GetQueueUrl")); n != 4 {
		t.Errorf("looked for %d times", n)
	}
	w.account.AddQueue("queue")
	w.send(w.spot("i-1"))
	// A message that was handled and could not be deleted is delivered again, which is harmless.
	fails("DeleteMessageBatch", "AccessDeniedException")
	if !w.going(claim) || len(w.account.Messages("queue")) != 1 {
		t.Error("not answered, or lost")
	}
	w.clock.Step(20 * time.Second)
	w.poll()
	if len(w.account.Messages("queue")) != 0 {
		t.Error("not deleted")
	}
}

func TestAMessageComesAgainUntilItIsAnswered(t *testing.T) {
	w := newWorld(t)
	claim := w.claim("i-1", nil)
	w.send(w.spot("i-1"), w.state("i-1", "running"))
	w.refuse = errors.New("the API server is away")
	w.poll()
	if left := w.account.Messages("queue"); len(left) != 1 || !strings.Contains(left[0], "Spot") {
		t.Errorf("left are %q", left)
	}
	w.refuse = nil
	w.poll()
	if w.going(claim) {
		t.Error("seen while it was hidden")
	}
	w.clock.Step(20 * time.Second)
	w.poll()
	if !w.going(claim) || len(w.account.Messages("queue")) != 0 {
		t.Error("not answered, or not deleted")
	}
	w.metrics(`# HELP karpenter_interruption_received_messages_total Messages received from the interruption queue.
# TYPE karpenter_interruption_received_messages_total counter
karpenter_interruption_received_messages_total{message_type="no_op"} 1
karpenter_interruption_received_messages_total{message_type="spot_interrupted"} 2`, "karpenter_interruption_received_messages_total")
}

func TestAnInstanceMayBeTakenBackBeforeItsClaimIsSeen(t *testing.T) {
	w := newWorld(t)
	w.fresh = "i-1"
	w.send(w.spot("i-1"), w.spot("i-2"))
	w.poll()
	if left := w.account.Messages("queue"); len(left) != 1 || !strings.Contains(left[0], "i-1") {
		t.Errorf("left are %q", left)
	}
	claim := w.claim("i-1", nil)
	w.clock.Step(20 * time.Second)
	w.poll()
	if !w.going(claim) || len(w.account.Messages("queue")) != 0 {
		t.Error("not answered, or not deleted")
	}
}

func TestTheAgeOfMessagesIsMeasured(t *testing.T) {
	t.Attr("covers", "N343")
	w := newWorld(t)
	w.send(w.state("i-1", "running"), "{}", "no JSON")
	w.poll()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	measured := false
	for _, f := range families {
		if f.GetName() != "karpenter_interruption_message_queue_duration_seconds" {
			continue
		}
		measured = true
		if h := f.Metric[0].Histogram; h.GetSampleCount() != 1 || h.GetSampleSum() != 15 {
			t.Errorf("%d messages of %v s", h.GetSampleCount(), h.GetSampleSum())
		}
	}
	if !measured {
		t.Error("no metric of the age")
	}
}

// TestManyMessages has more than one call's worth, each of them twice.
func TestManyMessages(t *testing.T) {
	w := newWorld(t)
	var claims []*v1.NodeClaim
	for n := range 25 {
		id := fmt.Sprintf("i-%d", n)
		claims = append(claims, w.claim(id, nil))
		w.send(w.spot(id))
	}
	w.account.Repeat("queue")
	for range 5 {
		w.poll()
	}
	for _, claim := range claims {
		if !w.going(claim) {
			t.Errorf("%s stays", claim.Name)
		}
	}
	if left := w.account.Messages("queue"); len(left) != 0 {
		t.Errorf("%d messages are left", len(left))
	}
	w.metrics(`# HELP karpenter_nodeclaims_disrupted_total NodeClaims whose deletion Karpenter started.
# TYPE karpenter_nodeclaims_disrupted_total counter
karpenter_nodeclaims_disrupted_total{capacity_type="spot",consolidation_policy="",nodepool="pool",reason="spot_interrupted",termination_mode="graceful"} 25`,
		"karpenter_nodeclaims_disrupted_total")
}

// TestForeignMessages has messages of other senders about instances of another account or region.
func TestForeignMessages(t *testing.T) {
	w := newWorld(t)
	claim := w.claim("i-1", nil)
	const detail = `{"instance-id":"i-1"}`
	for _, of := range [][2]string{{"210987654321", "us-east-1"}, {awstest.AccountID, "eu-west-1"}, {"", ""}} {
		w.send(eventOf(of[0], of[1], w.clock.Now(), "aws.ec2", "EC2 Spot Instance Interruption Warning", detail))
		w.poll()
		if w.going(claim) || len(w.account.Messages("queue")) != 0 {
			t.Errorf("account %q, region %q: the claim is going: %v, %d messages are left", of[0], of[1], w.going(claim), len(w.account.Messages("queue")))
		}
	}
	w.send(w.spot("i-1"))
	w.poll()
	if !w.going(claim) {
		t.Error("an interruption of the account and region is ignored")
	}
}
