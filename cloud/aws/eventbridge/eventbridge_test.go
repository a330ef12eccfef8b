package eventbridge_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/aws/eventbridge"
)

// event is an event of EventBridge.
func event(source, kind, detail string) string {
	return fmt.Sprintf(`{"version":"0","id":"7bf73129","detail-type":%q,"source":%q,"account":"123456789012","time":"2026-05-01T12:00:00Z","region":"us-east-1","resources":["arn"],"detail":%s}`,
		kind, source, detail)
}

const stateChange = "EC2 Instance State-change Notification"

func TestParse(t *testing.T) {
	id := `{"instance-id":"i-1"}`
	state := func(s string) string {
		return event("aws.ec2", stateChange, fmt.Sprintf(`{"instance-id":"i-1","state":%q}`, s))
	}
	health := func(service, category string) string {
		return event("aws.health", "AWS Health Event",
			fmt.Sprintf(`{"service":%q,"eventTypeCategory":%q,"affectedEntities":[{"entityValue":"i-1"},{"entityValue":"i-2"},{"entityValue":"i-1"}]}`, service, category))
	}
	for name, test := range map[string]struct {
		text string
		kind eventbridge.Kind
		ids  []string
	}{
		"spot interruption":         {event("aws.ec2", "EC2 Spot Instance Interruption Warning", id), "spot_interrupted", []string{"i-1"}},
		"rebalance recommendation":  {event("aws.ec2", "EC2 Instance Rebalance Recommendation", id), "rebalance_recommendation", []string{"i-1"}},
		"reservation interruption":  {event("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", id), "capacity_reservation_interrupted", []string{"i-1"}},
		"stopping":                  {state("stopping"), "instance_stopped", []string{"i-1"}},
		"stopped":                   {state("STOPPED"), "instance_stopped", []string{"i-1"}},
		"shutting down":             {state("Shutting-Down"), "instance_terminated", []string{"i-1"}},
		"terminated":                {state("terminated"), "instance_terminated", []string{"i-1"}},
		"running":                   {state("running"), "no_op", nil},
		"pending":                   {state("pending"), "no_op", nil},
		"scheduled change":          {health("EC2", "scheduledChange"), "scheduled_change", []string{"i-1", "i-2"}},
		"another service":           {health("RDS", "scheduledChange"), "no_op", nil},
		"an issue":                  {health("EC2", "issue"), "no_op", nil},
		"another source":            {event("aws.s3", "EC2 Spot Instance Interruption Warning", id), "no_op", nil},
		"another type":              {event("aws.ec2", "EC2 Fast Launch State-change Notification", id), "no_op", nil},
		"the type of another":       {event("aws.health", stateChange, `{"instance-id":"i-1","state":"stopped"}`), "no_op", nil},
		"without instance":          {event("aws.ec2", "EC2 Spot Instance Interruption Warning", `{}`), "spot_interrupted", nil},
		"strange details of others": {event("aws.s3", "Object Created", `["a"]`), "no_op", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := eventbridge.Parse([]byte(test.text))
			want := eventbridge.Event{Kind: test.kind, Account: "123456789012", Region: "us-east-1", InstanceIDs: test.ids, Time: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
			if err != nil || !cmp.Equal(got, want) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

func TestParseOtherText(t *testing.T) {
	t.Attr("covers", "A335")
	for _, text := range []string{"", "{}", "null", `{"version":"1","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-1"}}`} {
		if got, err := eventbridge.Parse([]byte(text)); err != nil || got.Kind != eventbridge.NoOp || !got.Time.IsZero() {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"interruption", "{", "[]", `"text"`, "1", event("aws.ec2", stateChange, `["a"]`), event("aws.ec2", stateChange, `{"instance-id":1}`),
	} {
		if got, err := eventbridge.Parse([]byte(text)); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

// FuzzParse holds whatever the text is: reading ends, and what it gives is in order.
func FuzzParse(f *testing.F) {
	f.Add("")
	f.Add("{")
	f.Add("null")
	f.Add(`{"version":"0","source":"aws.ec2","detail-type":null,"detail":[]}`)
	f.Add(event("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-1","instance-action":"terminate"}`))
	f.Add(event("aws.ec2", "EC2 Instance Rebalance Recommendation", `{"instance-id":"i-1"}`))
	f.Add(event("aws.ec2", stateChange, `{"instance-id":"i-1","state":"STOPPING"}`))
	f.Add(event("aws.ec2", stateChange, `{"instance-id":{"a":1},"state":"stopping"}`))
	f.Add(event("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", `null`))
	f.Add(event("aws.health", "AWS Health Event", `{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":"i-1"},{},null]}`))
	known := []eventbridge.Kind{
		eventbridge.NoOp, eventbridge.SpotInterrupted, eventbridge.RebalanceRecommendation, eventbridge.InstanceStopped, eventbridge.InstanceTerminated,
		eventbridge.CapacityReservationInterrupted, eventbridge.ScheduledChange,
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := eventbridge.Parse([]byte(text))
		if err != nil {
			if !cmp.Equal(got, eventbridge.Event{}) {
				t.Errorf("an error with %+v", got)
			}
			return
		}
		if !slices.Contains(known, got.Kind) {
			t.Errorf("kind %q", got.Kind)
		}
		if text != "" && !json.Valid([]byte(text)) {
			t.Errorf("read %q", text)
		}
		if got.Kind == eventbridge.NoOp && len(got.InstanceIDs) > 0 {
			t.Error("nothing is to be done, to instances")
		}
		for i, id := range got.InstanceIDs {
			if id == "" || slices.Contains(got.InstanceIDs[:i], id) || !utf8.ValidString(id) {
				t.Errorf("ids %q", got.InstanceIDs)
			}
		}
	})
}
