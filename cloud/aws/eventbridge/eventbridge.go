// Package eventbridge parses events of EventBridge about instances, as they come in the messages of a queue. Parsing is a
// pure function of the text; package interruption handles them.
//
// Source: AWS provider specification, interruption: message formats.
package eventbridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is the kind of an event. It is a label of metrics.
type Kind string

// The kinds. InstanceStatus, SystemStatus and EventStatus do not come as messages: package health finds them.
const (
	NoOp                           Kind = "no_op"
	SpotInterrupted                Kind = "spot_interrupted"
	RebalanceRecommendation        Kind = "rebalance_recommendation"
	InstanceStopped                Kind = "instance_stopped"
	InstanceTerminated             Kind = "instance_terminated"
	CapacityReservationInterrupted Kind = "capacity_reservation_interrupted"
	ScheduledChange                Kind = "scheduled_change"
	InstanceStatus                 Kind = "instance_status"
	SystemStatus                   Kind = "system_status"
	EventStatus                    Kind = "event_status"
)

// Event announces a current or future event of instances.
type Event struct {
	Kind Kind
	// InstanceIDs are in the order of the message, without duplicates. Some may be IDs of other resources.
	InstanceIDs []string
	// Account and Region are those of the instances; empty if the message does not say.
	Account, Region string
	// Time is when the event was sent; zero if the message does not say.
	Time time.Time
}

// envelope has the fields that all events share.
type envelope struct {
	Version    string          `json:"version"`
	Source     string          `json:"source"`
	DetailType string          `json:"detail-type"`
	Time       string          `json:"time"`
	Account    string          `json:"account"`
	Region     string          `json:"region"`
	Detail     json.RawMessage `json:"detail"`
}

// detail has the fields that differ between events, as far as they are used.
type detail struct {
	InstanceID        string `json:"instance-id"`
	State             string `json:"state"`
	Service           string `json:"service"`
	EventTypeCategory string `json:"eventTypeCategory"`
	AffectedEntities  []struct {
		EntityValue string `json:"entityValue"`
	} `json:"affectedEntities"`
}

// Parse reads a message. Events of other kinds, and a message without text, are of kind NoOp; text that is no event is an error.
func Parse(text []byte) (Event, error) {
	if len(text) == 0 {
		return Event{Kind: NoOp}, nil
	}
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return Event{}, fmt.Errorf("reading an event: %w", err)
	}
	out := Event{Kind: NoOp, Account: e.Account, Region: e.Region}
	if at, err := time.Parse(time.RFC3339, e.Time); err == nil {
		out.Time = at
	}
	kindOf := kinds()[[2]string{e.Source, e.DetailType}]
	if e.Version != "0" || kindOf == nil {
		return out, nil
	}
	var d detail
	if len(e.Detail) > 0 {
		if err := json.Unmarshal(e.Detail, &d); err != nil {
			return Event{}, fmt.Errorf("reading the detail of event %q: %w", e.DetailType, err)
		}
	}
	if out.Kind = kindOf(&d); out.Kind != NoOp {
		out.InstanceIDs = d.ids()
	}
	return out, nil
}

// kinds are the handled events, by source and type, with their kind by detail.
func kinds() map[[2]string]func(*detail) Kind {
	always := func(k Kind) func(*detail) Kind { return func(*detail) Kind { return k } }
	return map[[2]string]func(*detail) Kind{
		{"aws.ec2", "EC2 Spot Instance Interruption Warning"}:                 always(SpotInterrupted),
		{"aws.ec2", "EC2 Instance Rebalance Recommendation"}:                  always(RebalanceRecommendation),
		{"aws.ec2", "EC2 Instance State-change Notification"}:                 (*detail).stateKind,
		{"aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"}: always(CapacityReservationInterrupted),
		{"aws.health", "AWS Health Event"}:                                    (*detail).healthKind,
	}
}

func (d *detail) stateKind() Kind {
	switch strings.ToLower(d.State) {
	case "stopping", "stopped":
		return InstanceStopped
	case "shutting-down", "terminated":
		return InstanceTerminated
	default:
		return NoOp
	}
}

func (d *detail) healthKind() Kind {
	if d.Service == "EC2" && d.EventTypeCategory == "scheduledChange" {
		return ScheduledChange
	}
	return NoOp
}

// ids are the ids that a message names.
func (d *detail) ids() []string {
	all := []string{d.InstanceID}
	for _, e := range d.AffectedEntities {
		all = append(all, e.EntityValue)
	}
	var out []string
	for _, id := range all {
		if id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
