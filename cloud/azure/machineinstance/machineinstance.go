// Package machineinstance launches, finds, changes and deletes AKSMachines, for each of which AKS creates a virtual machine. It is to AKSMachines
// what package instance is to virtual machines that the provider creates itself, and describes both alike.
//
// Source: Azure provider specification, launch through AKSMachines.
package machineinstance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"k8s.io/utils/clock"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/zone"
)

// API are the requests about AKSMachines; machineapi.Client has them, and machineapi.None where AKSMachines are not managed.
type API interface {
	Get(ctx context.Context, name string) (*machineapi.AKSMachine, error)
	List(context.Context) ([]*machineapi.AKSMachine, error)
	BeginCreate(ctx context.Context, name string, body any) (*runtime.Poller[machineapi.AKSMachine], error)
	BeginSetTags(ctx context.Context, m *machineapi.AKSMachine, tags map[string]string) (*runtime.Poller[machineapi.AKSMachine], error)
	BeginDelete(ctx context.Context, name string) (*runtime.Poller[struct{}], error)
}

// Batcher requests AKSMachines together with others; machinebatch.Batcher is one.
type Batcher interface {
	Create(ctx context.Context, name string, body *aksmachine.Body) error
}

// Options configure a Client.
type Options struct {
	API API
	// Batcher is nil if each AKSMachine has its own request.
	Batcher Batcher
	// Cluster is the name of the cluster, which tags have; Pool that of the agent pool; Location is that of the cluster.
	Cluster, Pool, Location string
	Clock                   clock.WithTicker
}

// Client launches, reads and deletes AKSMachines. Make one with New, and run Start. It is safe for concurrent use.
type Client struct {
	Options
	cache *cache
	// deletions are those of AKSMachines.
	deletions deletions
}

// New returns a client for the AKSMachines of an agent pool.
func New(o Options) *Client {
	return &Client{Options: o, cache: newCache(o.Clock, o.API.List)}
}

// Start reads all AKSMachines in the background whenever they are needed and what is known of them is too old, until the context ends.
func (c *Client) Start(ctx context.Context) error { return c.cache.start(ctx) }

// Get returns the instance with the name of its virtual machine. It may be half a minute old. The error is cloud.NodeClaimNotFoundError if there
// is none.
func (c *Client) Get(ctx context.Context, vm string) (*instance.Instance, error) {
	name, err := c.nameOf(vm)
	if err != nil {
		return nil, err
	}
	found, err := c.lookup(ctx, name)
	if err != nil {
		return nil, readError(name, err)
	}
	return c.asVM(found, vm)
}

// nameOf returns the name of the AKSMachine of a virtual machine. The error is cloud.NodeClaimNotFoundError if the agent pool can have none.
func (c *Client) nameOf(vm string) (string, error) {
	name, ok := naming.AKSMachineOfVM(vm, c.Pool)
	if !ok {
		return "", cloud.NewNodeClaimNotFoundError(fmt.Errorf("virtual machine %q is none of agent pool %q", vm, c.Pool))
	}
	return name, nil
}

// asVM returns an AKSMachine as an instance if it has a virtual machine: a later AKSMachine with the name of an earlier one has another.
func (c *Client) asVM(found *machineapi.AKSMachine, vm string) (*instance.Instance, error) {
	i, err := c.instanceOf(found)
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(i.Name, vm) {
		return nil, cloud.NewNodeClaimNotFoundError(fmt.Errorf("AKSMachine %q has virtual machine %q, not %q", found.Name, i.Name, vm))
	}
	return i, nil
}

// readError is the error of a read of an AKSMachine.
func readError(name string, err error) error {
	err = fmt.Errorf("getting AKSMachine %q: %w", name, err)
	if machineapi.IsNotFound(err) {
		return cloud.NewNodeClaimNotFoundError(err)
	}
	return err
}

// lookup returns an AKSMachine from the cache, and asks Azure if that is too old or does not have it.
func (c *Client) lookup(ctx context.Context, name string) (*machineapi.AKSMachine, error) {
	if found, _ := c.cache.get(name); found != nil && found.Malformed == nil {
		return found, nil
	}
	return c.fetch(ctx, name)
}

// fetch asks Azure for an AKSMachine.
func (c *Client) fetch(ctx context.Context, name string) (*machineapi.AKSMachine, error) {
	serial := c.cache.now()
	found, err := c.API.Get(ctx, name)
	if err == nil || machineapi.IsNotFound(err) {
		c.cache.set(name, found, serial)
	}
	return found, err
}

// instanceOf reads what AKS says of an AKSMachine. It fails if something is missing that each must have.
func (c *Client) instanceOf(m *machineapi.AKSMachine) (*instance.Instance, error) {
	p := m.Properties
	if m.Malformed != nil || p == nil {
		return nil, missing(m, "its properties", m.Malformed)
	}
	for _, have := range []struct {
		what string
		ok   bool
	}{
		{"its id", m.ID != ""},
		{"its size", p.Hardware != nil && p.Hardware.VMSize != ""},
		{"the id of its virtual machine", p.ResourceID != ""},
		{"the version of its image", p.NodeImageVersion != ""},
		{"the time of its creation", p.Status != nil && p.Status.CreationTimestamp != nil},
	} {
		if !have.ok {
			return nil, missing(m, have.what, nil)
		}
	}
	place, err := zone.Label(c.Location, m.Zones)
	if err != nil {
		return nil, missing(m, "a zone", err)
	}
	vm, err := naming.ParseVMID(p.ResourceID)
	if err != nil {
		return nil, missing(m, "the id of its virtual machine", err)
	}
	out := &instance.Instance{
		ID: p.ResourceID, Name: vm.Name, Size: p.Hardware.VMSize, Zone: place, CapacityType: v1.CapacityTypeOnDemand, ImageID: p.NodeImageVersion,
		Tags: maps.Clone(p.Tags), Created: *p.Status.CreationTimestamp, Deleting: p.ProvisioningState == machineapi.StateDeleting,
		AKSMachineID: m.ID, DriftAction: p.Status.DriftAction,
	}
	if p.Priority == machineapi.PrioritySpot {
		out.CapacityType = v1.CapacityTypeSpot
	}
	return out, nil
}

// errMissing says that AKS did not send something that each AKSMachine must have.
var errMissing = errors.New("AKS does not say")

func missing(m *machineapi.AKSMachine, what string, cause error) error {
	if cause != nil {
		return fmt.Errorf("reading AKSMachine %q: %w %s: %w", m.Name, errMissing, what, cause)
	}
	return fmt.Errorf("reading AKSMachine %q: %w %s", m.Name, errMissing, what)
}
