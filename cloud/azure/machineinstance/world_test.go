package machineinstance_test

import (
	"context"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/google/go-cmp/cmp"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/machinebatch"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineinstance"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
	"github.com/karpenter-anew/karpenter/test/poll"
)

const (
	pool = "nodes"
	size = "Standard_D4s_v3"

	get    = "GET AKSMachines"
	put    = "PUT AKSMachines"
	list   = "GET list AKSMachines"
	remove = "POST deleteMachines"
)

// world is a client of an account with an agent pool.
type world struct {
	*machineinstance.Client
	t       *testing.T
	clock   *azuretest.Clock
	account *azuretest.Account
	api     *machineapi.Client
}

// options say how a world differs from one that sends each request alone, to an Azure that takes no time.
type options struct {
	batch bool
	takes time.Duration
	// retryAfter is what Azure asks to wait between polls; 0 for as little as possible.
	retryAfter time.Duration
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	w := &world{t: t, clock: azuretest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	w.account = azuretest.New(azuretest.Options{Clock: w.clock, Takes: o.takes, RetryAfter: o.retryAfter})
	w.account.Put(azuretest.PoolID(pool), map[string]any{"properties": map[string]any{"mode": azuretest.ModeMachines()}})
	connection := azuretest.Connect(t, w.account)
	manager, err := arm.NewClient("test", "v1.0.0", connection.Credential, connection.Options)
	must(t, err)
	w.api = machineapi.New(machineapi.Options{
		ResourceManager: manager, Subscription: azuretest.Subscription, ResourceGroup: azuretest.ClusterResourceGroup, Cluster: "test", Pool: pool, APIVersion: "2026-04-02-preview",
	})
	var batcher machineinstance.Batcher
	if o.batch {
		b := machinebatch.New(machinebatch.Options{Sender: w.api, Idle: time.Second, Max: time.Second, Size: 1, Clock: w.clock})
		run(t, b.Start)
		batcher = b
	}
	w.Client = machineinstance.New(machineinstance.Options{API: w.api, Batcher: batcher, Cluster: "test", Pool: pool, Location: "eastus", Clock: w.clock})
	return w
}

// run runs something until the test ends.
func run(t *testing.T, start func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = start(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// request is a launch on demand in zone 1.
func request(name string) machineinstance.Request {
	return machineinstance.Request{
		Name: name, NodeClaim: name,
		Attempt: azureerrors.Attempt{
			InstanceType: unavailableofferings.InstanceType{Name: size}, Zones: []string{"0", "eastus-1", "eastus-2"}, CapacityType: v1.CapacityTypeOnDemand, Zone: "eastus-1",
		},
		Body: &aksmachine.Body{Zones: []string{"1"}, Properties: aksmachine.Properties{
			Mode: "User", Priority: "Regular", Hardware: aksmachine.Hardware{VMSize: size}, NodeImageVersion: "AKSUbuntu-2404gen2containerd-202606.10.0",
			OperatingSystem: aksmachine.OperatingSystem{OSType: "Linux", OSSKU: "Ubuntu2404"},
			Kubernetes:      aksmachine.Kubernetes{NodeInitializationTaints: []string{}, NodeTaints: []string{}},
			Tags:            map[string]string{"karpenter.sh_nodepool": "general", "karpenter.azure.com_cluster": "test", "karpenter.azure.com_aksmachine_nodeclaim": name},
		}},
	}
}

// create launches an AKSMachine and waits for it.
func (w *world) create(name string) *machineinstance.Launch {
	w.t.Helper()
	launch, err := w.Create(w.t.Context(), request(name))
	must(w.t, err)
	must(w.t, w.wait(launch))
	return launch
}

// wait waits for a launch while time passes.
func (w *world) wait(launch *machineinstance.Launch) error {
	w.t.Helper()
	return w.passing(func() error { return launch.Wait(w.t.Context()) })
}

// passing runs something while time passes.
func (w *world) passing(do func() error) error {
	w.t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	poll.Until(w.t, "it has ended", func() bool {
		if len(done) > 0 {
			return true
		}
		w.clock.Step(time.Second)
		return false
	})
	return <-done
}

// put puts an AKSMachine as another client would, from one that exists.
func (w *world) change(name string, change func(properties map[string]any)) {
	w.t.Helper()
	properties := map[string]any{
		"provisioningState": "Succeeded", "nodeImageVersion": "AKSUbuntu-2404gen2containerd-202606.10.0", "hardware": map[string]any{"vmSize": size},
		"resourceId": azuretest.ID("Microsoft.Compute/virtualMachines", vmOf(name)), "status": map[string]any{"creationTimestamp": "2026-05-01T11:00:00Z"},
		"tags": map[string]any{"karpenter.sh_nodepool": "general", "karpenter.azure.com_aksmachine_nodeclaim": name},
	}
	change(properties)
	w.account.Put(machineID(name), map[string]any{"zones": []string{"1"}, "properties": properties})
}

// count is how many requests of an operation the account got.
func (w *world) count(operation string) int { return len(w.account.Calls(operation)) }

func vmOf(name string) string { return "aks-" + pool + "-" + name + "-12345678-vm" }

func machineID(name string) string { return azuretest.PoolID(pool) + "/machines/" + name }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
