package instance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
)

const name = "aks-general-abcde"

// request returns a launch on demand in zone 2, with the billing extension.
func request() instance.Request {
	return instance.Request{
		Class: &v1beta1.AKSNodeClass{},
		VM:    virtualmachine.Spec{Name: name, Location: "westus2", Zone: "westus2-2", Size: "Standard_D2s_v3", Image: virtualmachine.Image{ID: "/image"}},
		NIC: armnetwork.Interface{Properties: &armnetwork.InterfacePropertiesFormat{IPConfigurations: []*armnetwork.InterfaceIPConfiguration{
			configuration("primary", "/pool/old"), configuration("second", ""),
		}}},
		RefreshPools: func(context.Context) ([]string, error) { return nil, errors.New("pools are not to be read") },
		Attempt: azureerrors.Attempt{
			InstanceType: unavailableofferings.InstanceType{Name: "Standard_D2s_v3"}, Zones: []string{"0", "westus2-1", "westus2-2"},
			CapacityType: v1.CapacityTypeOnDemand, Zone: "westus2-2",
		},
		Cloud: "AzurePublicCloud",
	}
}

func configuration(name, pool string) *armnetwork.InterfaceIPConfiguration {
	out := &armnetwork.InterfaceIPConfiguration{Name: &name, Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{}}
	if pool != "" {
		out.Properties.LoadBalancerBackendAddressPools = []*armnetwork.BackendAddressPool{{ID: &pool}}
	}
	return out
}

func TestLaunch(t *testing.T) {
	t.Attr("covers", "Z099 Z110")
	simulate(t, func(t *testing.T, a *azure, c *instance.Client) {
		requested := 0
		r := request()
		r.Command = "bootstrap"
		r.Requesting = func() { requested++ }
		launch, err := c.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		want := &instance.Instance{
			ID:   "/subscriptions/sub/resourceGroups/MC_group/providers/Microsoft.Compute/virtualMachines/" + name,
			Name: name, Size: "Standard_D2s_v3", Zone: "westus2-2", CapacityType: v1.CapacityTypeOnDemand, ImageID: "/image",
			Tags: map[string]string{}, Created: time.Now(),
		}
		if diff := cmp.Diff(want, launch.Instance); diff != "" || launch.Existing || requested != 1 {
			t.Errorf("existing %v, requested %d times, instance (-want +got):\n%s", launch.Existing, requested, diff)
		}
		providerID, err := launch.Instance.ProviderID()
		if err != nil || !strings.Contains(providerID, "/resourceGroups/mc_group/") {
			t.Errorf("ProviderID() = %q, %v", providerID, err)
		}
		if err := launch.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if got := *a.vms[name].Properties.NetworkProfile.NetworkInterfaces[0].ID; got != "/subscriptions/sub/resourceGroups/MC_group/providers/Microsoft.Network/networkInterfaces/"+name {
			t.Errorf("the network interface is %q", got)
		}
		calls := []string{"put nic", "get vm", "put vm", "put extension cse-agent-karpenter", "put extension computeAksLinuxBilling"}
		if diff := cmp.Diff(calls, a.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// TestPools checks that a pool that is gone is replaced once, and only where the network interface was in one.
func TestPools(t *testing.T) {
	t.Attr("covers", "Z205")
	gone := failure{400, "InvalidResourceReference"}
	// The simulated errors have no text but their code, in which the id of the pool is looked for.
	const inMessage = "INVALIDResourceReference"
	for title, test := range map[string]struct {
		pool     string
		failures []failure
		calls    []string
		fails    bool
	}{
		"refreshed":    {inMessage, []failure{gone}, []string{"put nic", "put nic", "get vm", "put vm"}, false},
		"once":         {inMessage, []failure{gone, gone}, []string{"put nic", "put nic", "get vm", "get nic"}, true},
		"another code": {inMessage, []failure{{400, "InsufficientSubnetSize"}}, []string{"put nic", "get vm", "get nic"}, true},
		"another pool": {"/pool/other", []failure{gone}, []string{"put nic", "get vm", "get nic"}, true},
	} {
		t.Run(title, func(t *testing.T) {
			simulate(t, func(t *testing.T, a *azure, c *instance.Client) {
				r := request()
				r.NIC.Properties.IPConfigurations[0] = configuration("primary", test.pool)
				r.RefreshPools = func(context.Context) ([]string, error) { return []string{"/pool/new"}, nil }
				a.nicFailures = test.failures
				_, err := c.Create(t.Context(), r)
				var launchError *instance.LaunchError
				if (err != nil) != test.fails || test.fails && (!errors.As(err, &launchError) || launchError.Phase != instance.PhasePrepare ||
					launchError.Code != test.failures[0].code || launchError.Failure.Reason != azureerrors.ReasonCreateInstanceFailed) {
					t.Errorf("the error is %v", err)
				}
				if diff := cmp.Diff(test.calls, a.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if test.fails {
					return
				}
				configurations := a.nics[name].Properties.IPConfigurations
				if got := *configurations[0].Properties.LoadBalancerBackendAddressPools[0].ID; got != "/pool/new" {
					t.Errorf("the pool is %q", got)
				}
				if got := configurations[1].Properties.LoadBalancerBackendAddressPools; len(got) > 0 {
					t.Errorf("the second configuration is in pools")
				}
				if got := *r.NIC.Properties.IPConfigurations[0].Properties.LoadBalancerBackendAddressPools[0].ID; got == "/pool/new" {
					t.Error("the request of the caller was changed")
				}
			})
		})
	}
}

// TestRefused checks that a refused request is classified and that its network interface is deleted.
func TestRefused(t *testing.T) {
	t.Attr("covers", "Z099")
	simulate(t, func(t *testing.T, a *azure, c *instance.Client) {
		a.refused = &failure{409, "ZonalAllocationFailed"}
		_, err := c.Create(t.Context(), request())
		var launchError *instance.LaunchError
		if !errors.As(err, &launchError) || launchError.Phase != instance.PhaseSync ||
			!slices.Equal(launchError.Failure.Unavailable.Zones, []string{"westus2-2"}) {
			t.Fatalf("the error is %#v", err)
		}
		if create, ok := cloud.AsCreateError(err); !ok || create.Reason != azureerrors.ReasonZonalAllocationFailure {
			t.Errorf("the error of the NodeClaim is %v", err)
		}
		if len(a.nics) > 0 || len(a.vms) > 0 {
			t.Errorf("left behind: %v, %v", a.nics, a.vms)
		}
	})
}

// interrupted ends the context when a virtual machine is requested. The server of the SDK cannot be interrupted.
type interrupted struct {
	instance.VirtualMachines
	cancel func()
}

func (i interrupted) BeginCreateOrUpdate(ctx context.Context, _, _ string, _ armcompute.VirtualMachine,
	_ *armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions,
) (*runtime.Poller[armcompute.VirtualMachinesClientCreateOrUpdateResponse], error) {
	i.cancel()
	return nil, ctx.Err()
}

// TestCancelledLaunch checks that a launch that ends with its context leaves the network interface to the next one.
func TestCancelledLaunch(t *testing.T) {
	t.Attr("covers", "Z211")
	simulate(t, func(t *testing.T, a *azure, c *instance.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		r, virtualMachines := request(), c.VirtualMachines
		c.VirtualMachines = interrupted{virtualMachines, cancel}
		if _, err := c.Create(ctx, r); !errors.Is(err, context.Canceled) {
			t.Fatalf("the error is %v", err)
		}
		if len(a.nics) != 1 || slices.Contains(a.calls, "delete nic") {
			t.Errorf("calls %v", a.calls)
		}
		c.VirtualMachines = virtualMachines
		if _, err := c.Create(t.Context(), r); err != nil || len(a.nics) != 1 || len(a.vms) != 1 {
			t.Errorf("the next launch: %v, %d network interfaces, %d virtual machines", err, len(a.nics), len(a.vms))
		}
	})
}

// TestOperationFails checks failures that come after Azure has accepted the request.
func TestOperationFails(t *testing.T) {
	t.Attr("covers", "Z206 Z219")
	for title, set := range map[string]func(*azure){
		azureerrors.ReasonAllocationFailure:    func(a *azure) { a.operation = &failure{200, "AllocationFailed"} },
		azureerrors.ReasonCreateInstanceFailed: func(a *azure) { a.extension = &failure{400, "VMExtensionProvisioningError"} },
	} {
		t.Run(title, func(t *testing.T) {
			simulate(t, func(t *testing.T, a *azure, c *instance.Client) {
				set(a)
				launch, err := c.Create(t.Context(), request())
				if err != nil {
					t.Fatal(err)
				}
				err = launch.Wait(t.Context())
				var launchError *instance.LaunchError
				if !errors.As(err, &launchError) || launchError.Phase != instance.PhaseAsync || launchError.Failure.Reason != title {
					t.Errorf("the error is %v", err)
				}
				if err := c.Cleanup(t.Context(), name); err != nil || len(a.nics) > 0 || len(a.vms) > 0 {
					t.Errorf("Cleanup() = %v, left behind: %v, %v", err, a.nics, a.vms)
				}
			})
		})
	}
}

// TestExisting checks the launch of a NodeClaim whose virtual machine an earlier process requested.
func TestExisting(t *testing.T) {
	t.Attr("covers", "Z100 Z212")
	simulate(t, func(t *testing.T, a *azure, c *instance.Client) {
		vm := armcompute.VirtualMachine{
			ID: to.Ptr("/vm"), Name: to.Ptr(name), Location: to.Ptr("westus2"), Zones: []*string{to.Ptr("1")},
			Properties: &armcompute.VirtualMachineProperties{
				HardwareProfile: &armcompute.HardwareProfile{VMSize: to.Ptr(armcompute.VirtualMachineSizeTypes("Standard_D4s_v3"))},
				Priority:        to.Ptr(armcompute.VirtualMachinePriorityTypesSpot), ProvisioningState: to.Ptr("Creating"),
			},
		}
		a.vms[name] = vm
		launch, err := c.Create(t.Context(), request())
		if err != nil {
			t.Fatal(err)
		}
		if i := launch.Instance; !launch.Existing || i.Size != "Standard_D4s_v3" || i.Zone != "westus2-1" || i.CapacityType != v1.CapacityTypeSpot {
			t.Errorf("Existing = %v, instance %+v", launch.Existing, i)
		}
		done := make(chan error)
		go func() { done <- launch.Wait(t.Context()) }()
		synctest.Wait()
		properties := *vm.Properties
		properties.ProvisioningState = to.Ptr("Succeeded")
		vm.Properties, vm.Resources = &properties, []*armcompute.VirtualMachineExtension{{Name: to.Ptr("CSE-agent-karpenter")}}
		a.mu.Lock()
		a.vms[name] = vm
		a.mu.Unlock()
		if err := <-done; err != nil {
			t.Error(err)
		}
		calls := []string{"put nic", "get vm", "get vm", "get vm", "put extension computeAksLinuxBilling"}
		if diff := cmp.Diff(calls, a.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// TestExistingFailed checks that the status of a virtual machine gives the error that an earlier process would have got.
func TestExistingFailed(t *testing.T) {
	simulate(t, func(t *testing.T, a *azure, c *instance.Client) {
		a.vms[name] = armcompute.VirtualMachine{Name: to.Ptr(name), Location: to.Ptr("westus2"), Properties: &armcompute.VirtualMachineProperties{
			ProvisioningState: to.Ptr("Failed"),
			InstanceView: &armcompute.VirtualMachineInstanceView{Statuses: []*armcompute.InstanceViewStatus{
				{Code: to.Ptr("ProvisioningState/failed/OperationNotAllowed"), Message: to.Ptr("exceeding approved Total Regional Cores quota")},
			}},
		}}
		launch, err := c.Create(t.Context(), request())
		if err != nil {
			t.Fatal(err)
		}
		if err := launch.Wait(t.Context()); !cloud.IsInsufficientCapacity(err) {
			t.Errorf("the error is %v", err)
		}
	})
}
