package machineapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"time"
)

// Provisioning states of AKSMachines. There are others.
const (
	StateCreating  = "Creating"
	StateUpdating  = "Updating"
	StateSucceeded = "Succeeded"
	StateFailed    = "Failed"
	StateDeleting  = "Deleting"
)

// Priorities of AKSMachines.
const (
	PriorityRegular = "Regular"
	PrioritySpot    = "Spot"
)

// AKSMachine is what AKS says of an AKSMachine, as far as it is needed. The rest is kept for updates.
type AKSMachine struct {
	// ID is the ARM id.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Zones are numbers of zones; at most one.
	Zones      []string    `json:"zones"`
	Properties *Properties `json:"properties"`
	// Malformed says why an AKSMachine of a list has no properties; nil if it can be read.
	Malformed error `json:"-"`

	// fields are all that AKS sent.
	fields map[string]json.RawMessage
}

// Properties are the properties of an AKSMachine.
type Properties struct {
	ETag              string `json:"eTag"`
	ProvisioningState string `json:"provisioningState"`
	// ResourceID is the ARM id of the virtual machine.
	ResourceID       string `json:"resourceId"`
	NodeImageVersion string `json:"nodeImageVersion"`
	// Priority is PriorityRegular or PrioritySpot. AKS may omit the former, which is filled in.
	Priority string            `json:"priority"`
	Tags     map[string]string `json:"tags"`
	Hardware *Hardware         `json:"hardware"`
	Status   *Status           `json:"status"`
}

// Hardware is the hardware of an AKSMachine.
type Hardware struct {
	VMSize string `json:"vmSize"`
}

// Status is what AKS found out about an AKSMachine.
type Status struct {
	CreationTimestamp *time.Time `json:"creationTimestamp"`
	// DriftAction is what AKS would do because the AKSMachine differs from the configuration of the cluster.
	DriftAction string `json:"driftAction"`
	// ProvisioningError is why the state is StateFailed.
	ProvisioningError *ProvisioningError `json:"provisioningError"`
}

// ProvisioningError is why AKS could not create a virtual machine.
type ProvisioningError struct {
	Code    string              `json:"code"`
	Message string              `json:"message"`
	Details []ProvisioningError `json:"details"`
}

// Cause returns the code and message that tell what happened: those of the first detail, if there is one.
func (e *ProvisioningError) Cause() *Error {
	if len(e.Details) > 0 {
		return &Error{Code: e.Details[0].Code, Message: e.Details[0].Message}
	}
	return &Error{Code: e.Code, Message: e.Message}
}

// UnmarshalJSON decodes what AKS sends.
func (m *AKSMachine) UnmarshalJSON(data []byte) error {
	type plain AKSMachine
	out := plain{}
	if err := json.Unmarshal(data, &out); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &out.fields); err != nil {
		return err
	}
	if out.Properties != nil {
		out.Properties.Priority = cmp.Or(out.Properties.Priority, PriorityRegular)
	}
	*m = AKSMachine(out)
	return nil
}

// withTags is the body of an update: all that AKS sent, with other tags.
func (m *AKSMachine) withTags(tags map[string]string) (map[string]json.RawMessage, error) {
	properties := map[string]json.RawMessage{}
	if sent := m.fields["properties"]; sent != nil {
		if err := json.Unmarshal(sent, &properties); err != nil {
			return nil, err
		}
	}
	if properties == nil { // the text was null
		properties = map[string]json.RawMessage{}
	}
	text, err := json.Marshal(tags)
	if err != nil {
		return nil, err
	}
	properties["tags"] = text
	out := maps.Clone(m.fields)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	if out["properties"], err = json.Marshal(properties); err != nil {
		return nil, err
	}
	return out, nil
}

// listed is an AKSMachine of a list, which does not fail because of one of its items.
type listed struct{ AKSMachine }

// UnmarshalJSON decodes an item of a list.
func (l *listed) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, &l.AKSMachine)
	if err == nil && l.Name == "" {
		err = errors.New("it has no name")
	}
	if err == nil {
		return nil
	}
	l.AKSMachine = AKSMachine{Malformed: err}
	var name struct {
		Name any `json:"name"`
	}
	if json.Unmarshal(data, &name) == nil {
		l.Name, _ = name.Name.(string)
	}
	return nil
}
