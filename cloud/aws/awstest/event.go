package awstest

import (
	"encoding/json"
	"fmt"
	"time"
)

// noticeOfInterruption is the time between the interruption warning and the end of a spot instance.
const noticeOfInterruption = 2 * time.Minute

// Interrupt interrupts a spot instance as EC2 does: it sends the warning and terminates the instance two minutes later. It reports
// whether such a running instance exists.
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

// tell sends an event about an instance to all queues. The account is locked.
func (a *Account) tell(kind, id string, detail any) {
	for _, q := range a.queues {
		text := a.event("aws.ec2", kind, []string{fmt.Sprintf("arn:aws:ec2:%s:%s:instance/%s", a.region, AccountID, id)}, detail)
		a.put(q, &text)
	}
}

// tellState sends a state change event of an instance. The account is locked.
func (a *Account) tellState(id, state string) {
	a.tell("EC2 Instance State-change Notification", id, map[string]string{"instance-id": id, "state": state})
}

// event is the JSON of an EventBridge event. The account is locked.
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
