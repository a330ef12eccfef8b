package machineapi

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// errNone is the answer of None to reads, errNoWrites to all else.
var (
	errNone     = errors.New("AKSMachines are not managed: set MANAGE_EXISTING_AKS_MACHINES to true to manage those that exist")
	errNoWrites = errors.New("AKSMachines are not managed, and not created or changed: see PROVISION_MODE and MANAGE_EXISTING_AKS_MACHINES")
)

// None stands for a Client where AKSMachines are not managed: no AKSMachine exists, none can be created, and no request is sent.
type None struct{}

// Get returns an error for which IsNotFound is true.
func (None) Get(context.Context, string) (*AKSMachine, error) { return nil, errNone }

// List returns no AKSMachines.
func (None) List(context.Context) ([]*AKSMachine, error) { return nil, nil }

// BeginCreate refuses.
func (None) BeginCreate(context.Context, string, any) (*runtime.Poller[AKSMachine], error) {
	return nil, errNoWrites
}

// BeginSetTags refuses.
func (None) BeginSetTags(context.Context, *AKSMachine, map[string]string) (*runtime.Poller[AKSMachine], error) {
	return nil, errNoWrites
}

// BeginDelete refuses.
func (None) BeginDelete(context.Context, string) (*runtime.Poller[struct{}], error) {
	return nil, errNoWrites
}
