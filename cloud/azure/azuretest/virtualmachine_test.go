package azuretest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
)

// TestVirtualMachine launches a virtual machine, changes it, and deletes it with its network interface and disk.
func TestVirtualMachine(t *testing.T) {
	c := connect(t, azuretest.Options{})
	made, err := c.launch(t, "aks-a", "Standard_D2s_v3", "2", armcompute.VirtualMachinePriorityTypesRegular)
	must(t, err)
	if *made.Properties.ProvisioningState != "Succeeded" || *made.Zones[0] != "2" || made.Properties.TimeCreated == nil || made.Properties.OSProfile.CustomData != nil {
		t.Errorf("got %+v", made.Properties)
	}
	extension, err := c.extensions.BeginCreateOrUpdate(t.Context(), group, "aks-a", "computeAksLinuxBilling", armcompute.VirtualMachineExtension{
		Location: to.Ptr("eastus"), Properties: &armcompute.VirtualMachineExtensionProperties{Publisher: to.Ptr("Microsoft.AKS")},
	}, nil)
	_, err = done(t, extension, err)
	must(t, err)
	for _, identity := range []string{"/one", "/two"} {
		patch, err := c.machines.BeginUpdate(t.Context(), group, "aks-a", armcompute.VirtualMachineUpdate{
			Tags: map[string]*string{"team": to.Ptr("a")}, Identity: &armcompute.VirtualMachineIdentity{
				Type: to.Ptr(armcompute.ResourceIdentityTypeUserAssigned), UserAssignedIdentities: map[string]*armcompute.UserAssignedIdentitiesValue{identity: {}},
			},
		}, nil)
		changed, err := done(t, patch, err)
		must(t, err)
		if _, found := changed.Identity.UserAssignedIdentities["/one"]; !found || *changed.Tags["team"] != "a" {
			t.Errorf("after adding %s: %v, tags %v", identity, changed.Identity.UserAssignedIdentities, changed.Tags)
		}
	}
	inUse, err := c.interfaces.BeginDelete(t.Context(), group, "aks-a", nil)
	_, err = done(t, inUse, err)
	wantCode(t, err, "NicInUse", http.StatusBadRequest)
	c.remove(t, "aks-a")
	for _, id := range []string{
		azuretest.ID("Microsoft.Compute/virtualMachines", "aks-a"), azuretest.ID("Microsoft.Compute/virtualMachines", "aks-a") + "/extensions/computeAksLinuxBilling",
		azuretest.ID("Microsoft.Network/networkInterfaces", "aks-a"), azuretest.ID("Microsoft.Compute/disks", "aks-a"),
	} {
		if c.account.Exists(id) {
			t.Errorf("%s still exists", id)
		}
	}
	c.remove(t, "aks-a") // a missing virtual machine is success
}

// TestOperationTakesTime checks that an operation ends when its time has passed on the clock.
func TestOperationTakesTime(t *testing.T) {
	c := connect(t, azuretest.Options{Takes: time.Minute})
	c.account.Put(azuretest.ID("Microsoft.Network/networkInterfaces", "aks-a"), map[string]any{})
	poller, err := c.machines.BeginCreateOrUpdate(t.Context(), group, "aks-a", virtualMachine("aks-a", "Standard_D2s_v3", "1", "Regular"), nil)
	must(t, err)
	for range 3 {
		_, err := poller.Poll(t.Context()) //nolint:bodyclose // the SDK has read it
		must(t, err)
	}
	if poller.Done() {
		t.Fatal("the operation is done too early")
	}
	c.clock.SetTime(c.clock.Now().Add(time.Minute))
	_, err = poller.Poll(t.Context()) //nolint:bodyclose // the SDK has read it
	must(t, err)
	if !poller.Done() {
		t.Fatal("the operation does not end")
	}
}

// TestUnknownFields sends a field that virtual machines do not have, and zones that do not exist.
func TestUnknownFields(t *testing.T) {
	c := connect(t, azuretest.Options{})
	must(t, c.createInterface(t, "aks-a"))
	for name, test := range map[string]struct {
		change func(*armcompute.VirtualMachine)
		code   string
		status int
	}{
		"unknown size": {func(vm *armcompute.VirtualMachine) {
			vm.Properties.HardwareProfile.VMSize = to.Ptr(armcompute.VirtualMachineSizeTypes("Standard_X"))
		}, "InvalidParameter", 400},
		"zone 9": {func(vm *armcompute.VirtualMachine) { vm.Zones = []*string{to.Ptr("9")} }, "InvalidAvailabilityZone", 400},
		"zone of size": {func(vm *armcompute.VirtualMachine) {
			vm.Properties.HardwareProfile.VMSize = to.Ptr(armcompute.VirtualMachineSizeTypes("Standard_B2s"))
		}, "SkuNotAvailable", 409},
		"eviction": {func(vm *armcompute.VirtualMachine) {
			vm.Properties.EvictionPolicy = to.Ptr(armcompute.VirtualMachineEvictionPolicyTypesDelete)
		}, "InvalidParameter", 400},
		"no location":   {func(vm *armcompute.VirtualMachine) { vm.Location = nil }, "LocationRequired", 400},
		"other region":  {func(vm *armcompute.VirtualMachine) { vm.Location = to.Ptr("westus") }, "LocationNotAvailableForResourceType", 400},
		"no interfaces": {func(vm *armcompute.VirtualMachine) { vm.Properties.NetworkProfile = nil }, "InvalidParameter", 400},
	} {
		t.Run(name, func(t *testing.T) {
			vm := virtualMachine("aks-a", "Standard_D2s_v3", "1", "Regular")
			test.change(&vm)
			_, err := c.machines.BeginCreateOrUpdate(t.Context(), group, "aks-a", vm, nil)
			wantCode(t, err, test.code, test.status)
		})
	}
	options := *c.connection.Options
	options.PerCallPolicies = []policy.Policy{withBody(`{"location":"eastus","properties":{"hardwareProfile":{"vmSise":"Standard_D2s_v3"}}}`)}
	client, err := armcompute.NewVirtualMachinesClient(azuretest.Subscription, c.connection.Credential, &options)
	must(t, err)
	_, err = client.BeginCreateOrUpdate(t.Context(), group, "aks-a", armcompute.VirtualMachine{}, nil)
	wantCode(t, err, "InvalidRequestContent", http.StatusBadRequest)
}

// TestInterface checks that what a network interface refers to must exist, and that only its tags are patched.
func TestInterface(t *testing.T) {
	c := connect(t, azuretest.Options{})
	must(t, c.createInterface(t, "aks-a"))
	changed, err := c.interfaces.UpdateTags(t.Context(), group, "aks-a", armnetwork.TagsObject{Tags: map[string]*string{"team": to.Ptr("a")}}, nil)
	must(t, err)
	if len(changed.Tags) != 1 || changed.Properties.IPConfigurations == nil {
		t.Errorf("got %+v", changed)
	}
	deletion, err := c.interfaces.BeginDelete(t.Context(), group, "aks-a", nil)
	_, err = done(t, deletion, err)
	must(t, err)
	c.account.Remove(azuretest.SubnetID())
	_, err = c.interfaces.Get(t.Context(), group, "aks-a", nil)
	wantCode(t, err, "ResourceNotFound", http.StatusNotFound)
	wantCode(t, c.createInterface(t, "aks-b"), "InvalidResourceReference", http.StatusBadRequest)
}
