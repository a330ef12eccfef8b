package awstest

import (
	"encoding/json"
	"fmt"
	"time"
)

// noticeOfInterruption is how long before its end the owner of a spot instance is told.
const noticeOfInterruption = 2 * time.Minute

// Interrupt takes a spot instance back, as EC2 does: its owner is told, and it ends two minutes later. It reports whether there is such
// an instance that runs.
func (a *Account) Interrupt(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance()
	for _, i := range a.instances {
		if i.ID == id && i.Spot && (i.State == "pending" || i.State == "running") {
			i.reclaimed = a.clock.Now().Add(noticeOfInterruption)
			a.tell("EC2 Spot Instance Interruption Warning", id, map[string]string{"instance-id": id, "instance-action": "terminate"})
			return true
		}
	}
	return false
}

// tell puts an event about an instance into all queues. The account is locked.
func (a *Account) tell(kind, id string, detail any) {
	for _, q := range a.queues {
		text := a.event("aws.ec2", kind, []string{fmt.Sprintf("arn:aws:ec2:%s:%s:instance/%s", a.region, AccountID, id)}, detail)
		a.put(q, &text)
	}
}

// tellState tells that an instance has come into another state. The account is locked.
func (a *Account) tellState(id, state string) {
	a.tell("EC2 Instance State-change Notification", id, map[string]string{"instance-id": id, "state": state})
}

// event is the text of an event of EventBridge. The account is locked.
func (a *Account) event(source, kind string, resources []string, detail any) string {
	text, err := json.Marshal(map[string]any{
		"version": "0", "id": fmt.Sprintf("event-%d", a.next()), "detail-type": kind, "source": source, "account": AccountID,
		"time": a.clock.Now().UTC().Format(time.RFC3339), "region": a.region, "resources": resources, "detail": detail,
	})
	if err != nil {
		panic(fmt.Sprintf("writing an event: %v", err)) // what this package tells can be written
	}
	return string(text)
}
