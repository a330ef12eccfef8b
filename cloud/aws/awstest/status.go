package awstest

import (
	"slices"
	"time"
)

// wireCheck is a status check of an instance or of its host.
type wireCheck struct {
	Status  string `xml:"status"`
	Details []struct {
		Name   string `xml:"name"`
		Status string `xml:"status"`
		Since  string `xml:"impairedSince,omitempty"`
	} `xml:"details>item"`
}

// checkOf is a check that fails since a time; zero for one that passes.
func checkOf(since time.Time) wireCheck {
	c := wireCheck{Status: "ok"}
	c.Details = append(c.Details, struct {
		Name   string `xml:"name"`
		Status string `xml:"status"`
		Since  string `xml:"impairedSince,omitempty"`
	}{Name: "reachability", Status: "passed"})
	if !since.IsZero() {
		c.Status, c.Details[0].Status, c.Details[0].Since = "impaired", "failed", stamp(since)
	}
	return c
}

// eventCodes are all codes of events.
func eventCodes() []string {
	return []string{"instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop"}
}

// describeInstanceStatus reports running instances, including healthy ones.
func describeInstanceStatus(a *Account, f *form) (any, error) {
	conditions, err := filters(f, "instance-status.status", "system-status.status", "event.code", "instance-state-name")
	if err != nil {
		return nil, err
	}
	for _, c := range conditions {
		known := []string{"ok", "impaired", "initializing", "insufficient-data", "not-applicable"}
		switch c.name {
		case "event.code":
			known = eventCodes()
		case "instance-state-name":
			continue
		}
		for _, value := range c.values {
			if !slices.Contains(known, value) {
				return nil, refuse("InvalidParameterValue", "The filter '%s' has the invalid value '%s'", c.name, value)
			}
		}
	}
	all := f.flag("IncludeAllInstances")
	a.advance()
	found := keep(a.instances, func(i *Instance) bool {
		codes := make([]string, 0, len(i.Events))
		for _, e := range i.Events {
			codes = append(codes, e.Code)
		}
		return (all || i.State == "running") && meets(conditions, nil, map[string][]string{
			"instance-status.status": {checkOf(i.InstanceFailed).Status}, "system-status.status": {checkOf(i.SystemFailed).Status},
			"event.code": codes, "instance-state-name": {i.State},
		})
	})
	found, token, err := page(f, found, 1000, false)
	type event struct {
		Code        string `xml:"code"`
		Description string `xml:"description"`
	}
	type wire struct {
		ID       string    `xml:"instanceId"`
		Zone     string    `xml:"availabilityZone"`
		State    string    `xml:"instanceState>name"`
		System   wireCheck `xml:"systemStatus"`
		Instance wireCheck `xml:"instanceStatus"`
		Events   []event   `xml:"eventsSet>item"`
	}
	answer := struct {
		Statuses []wire `xml:"instanceStatusSet>item"`
		Token    string `xml:"nextToken,omitempty"`
	}{Token: token}
	for _, i := range found {
		w := wire{ID: i.ID, Zone: i.Zone, State: i.State, System: checkOf(i.SystemFailed), Instance: checkOf(i.InstanceFailed)}
		for _, e := range i.Events {
			w.Events = append(w.Events, event(e))
		}
		answer.Statuses = append(answer.Statuses, w)
	}
	return answer, err
}
