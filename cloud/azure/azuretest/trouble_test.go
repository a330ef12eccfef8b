package azuretest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
)

// TestCapacity checks that only the pool without capacity fails, and that the operation fails in an answer with status 200.
func TestCapacity(t *testing.T) {
	c := connect(t, azuretest.Options{})
	c.account.RunOut(azuretest.Pool{Size: "Standard_D2s_v3", Zone: "1", Priority: "Spot"})
	_, err := c.launch(t, "aks-a", "Standard_D2s_v3", "1", "Spot")
	wantCode(t, err, "ZonalAllocationFailed", http.StatusOK)
	failed, err := c.machines.Get(t.Context(), group, "aks-a", nil)
	must(t, err)
	if *failed.Properties.ProvisioningState != "Failed" {
		t.Errorf("the virtual machine is %s, want Failed", *failed.Properties.ProvisioningState)
	}
	for name, pool := range map[string]azuretest.Pool{
		"aks-zone": {Size: "Standard_D2s_v3", Zone: "2", Priority: "Spot"}, "aks-priority": {Size: "Standard_D2s_v3", Zone: "1", Priority: "Regular"},
		"aks-size": {Size: "Standard_D4s_v3", Zone: "1", Priority: "Spot"}, "aks-regional": {Size: "Standard_D2s_v3", Priority: "Spot"},
	} {
		_, err := c.launch(t, name, pool.Size, pool.Zone, armcompute.VirtualMachinePriorityTypes(pool.Priority))
		must(t, err)
	}
	c.account.RunOut(azuretest.Pool{Size: "Standard_D8s_v3"})
	_, err = c.launch(t, "aks-b", "Standard_D8s_v3", "", "Regular")
	wantCode(t, err, "AllocationFailed", http.StatusOK)
	c.account.Refill(azuretest.Pool{Size: "Standard_D8s_v3"})
	_, err = c.launch(t, "aks-c", "Standard_D8s_v3", "", "Regular")
	must(t, err)
}

// TestRefuse checks an error before the operation begins, and a pool with a single virtual machine.
func TestRefuse(t *testing.T) {
	c := connect(t, azuretest.Options{})
	c.account.Refuse(azuretest.Pool{Zone: "1"}, azuretest.Refusal{Code: "SkuNotAvailable", Message: "no"})
	_, err := c.launch(t, "aks-a", "Standard_D2s_v3", "1", "Regular")
	wantCode(t, err, "SkuNotAvailable", http.StatusConflict)
	if c.account.Exists(azuretest.ID("Microsoft.Compute/virtualMachines", "aks-a")) {
		t.Error("the refused virtual machine exists")
	}
	c.account.Leave(azuretest.Pool{Size: "Standard_D2s_v3", Zone: "2", Priority: "Regular"}, 1)
	_, err = c.launch(t, "aks-b", "Standard_D2s_v3", "2", "Regular")
	must(t, err)
	_, err = c.launch(t, "aks-c", "Standard_D2s_v3", "2", "Regular")
	wantCode(t, err, "ZonalAllocationFailed", http.StatusOK)
}

// TestQuota exceeds the quota of a family, of the location, and of spot.
func TestQuota(t *testing.T) {
	for name, test := range map[string]struct {
		limit    string
		vCPUs    int
		priority armcompute.VirtualMachinePriorityTypes
		message  []string
	}{
		"family": {"standardDSv3Family", 5, "Regular", []string{"Family Cores quota", "Current Limit: 5", "Current Usage: 4", "Additional Required: 4"}},
		"none":   {"standardDSv3Family", 4, "Regular", []string{"Family Cores quota", "Current Limit: 4,"}},
		"region": {"cores", 6, "Regular", []string{"exceeding approved Total Regional Cores quota"}},
		"spot":   {"lowPriorityCores", 6, "Spot", []string{"LowPriorityCores"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, azuretest.Options{})
			c.account.Limit(test.limit, test.vCPUs)
			_, err := c.launch(t, "aks-a", "Standard_D4s_v3", "1", test.priority)
			must(t, err)
			_, err = c.launch(t, "aks-b", "Standard_D4s_v3", "1", test.priority)
			wantCode(t, err, "OperationNotAllowed", http.StatusConflict)
			for _, part := range test.message {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %v", part, err)
				}
			}
			c.remove(t, "aks-a")
			_, err = c.launch(t, "aks-b", "Standard_D4s_v3", "1", test.priority)
			must(t, err)
		})
	}
}

// TestThrottling checks that a client with retries waits for Retry-After, and that one without gets status 429.
func TestThrottling(t *testing.T) {
	c := connect(t, azuretest.Options{})
	c.account.Throttle("GET virtualMachines", time.Second, 1)
	_, err := c.machines.Get(t.Context(), group, "aks-a", nil)
	wantCode(t, err, "TooManyRequests", http.StatusTooManyRequests)
	_, err = c.machines.Get(t.Context(), group, "aks-a", nil)
	wantCode(t, err, "ResourceNotFound", http.StatusNotFound)
	var header http.Header
	options := *c.connection.Options
	options.PerCallPolicies = []policy.Policy{headerOf{&header}}
	c.account.Throttle("GET virtualMachines", time.Second, 1)
	client, err := armcompute.NewVirtualMachinesClient(azuretest.Subscription, c.connection.Credential, &options)
	must(t, err)
	_, err = client.Get(t.Context(), group, "aks-a", nil)
	wantCode(t, err, "TooManyRequests", http.StatusTooManyRequests)
	if header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", header.Get("Retry-After"))
	}
	_, err = client.Get(t.Context(), group, "aks-a", nil)
	wantCode(t, err, "ResourceNotFound", http.StatusNotFound)
	c.account.Fail("GET virtualMachines", http.StatusForbidden, "AuthorizationFailed", "no", -1)
	for range 2 {
		_, err = client.Get(t.Context(), group, "aks-a", nil)
		wantCode(t, err, "AuthorizationFailed", http.StatusForbidden)
	}
	c.account.Recover("GET virtualMachines")
	_, err = client.Get(t.Context(), group, "aks-a", nil)
	wantCode(t, err, "ResourceNotFound", http.StatusNotFound)
	_, err = c.launch(t, "aks-a", "Standard_D2s_v3", "1", "Regular")
	must(t, err)
	_, err = client.Get(t.Context(), group, "aks-a", nil)
	must(t, err)
	if header.Get("X-Ms-Ratelimit-Remaining-Subscription-Reads") == "" {
		t.Errorf("no rate limit in %v", header)
	}
}

// TestReservedInterface checks that the network interface of a failed virtual machine outlives it for 180 seconds.
func TestReservedInterface(t *testing.T) {
	c := connect(t, azuretest.Options{})
	c.account.ReserveNICs(azuretest.NICReservation)
	c.account.RunOut(azuretest.Pool{Zone: "1"})
	_, err := c.launch(t, "aks-a", "Standard_D2s_v3", "1", "Regular")
	wantCode(t, err, "ZonalAllocationFailed", http.StatusOK)
	c.remove(t, "aks-a")
	remove := func() error {
		poller, err := c.interfaces.BeginDelete(t.Context(), group, "aks-a", nil)
		_, err = done(t, poller, err)
		return err
	}
	wantCode(t, remove(), "NicReservedForAnotherVm", http.StatusBadRequest)
	other := virtualMachine("aks-b", "Standard_D2s_v3", "2", "Regular")
	other.Properties.NetworkProfile.NetworkInterfaces[0].ID = to.Ptr(azuretest.ID("Microsoft.Network/networkInterfaces", "aks-a"))
	_, err = c.machines.BeginCreateOrUpdate(t.Context(), group, "aks-b", other, nil)
	wantCode(t, err, "NicReservedForAnotherVm", http.StatusBadRequest)
	c.clock.SetTime(c.clock.Now().Add(azuretest.NICReservation))
	must(t, remove())
}

// headerOf keeps the header of the last answer.
type headerOf struct{ into *http.Header }

// Do sends the request.
func (h headerOf) Do(r *policy.Request) (*http.Response, error) {
	answer, err := r.Next()
	if answer != nil {
		*h.into = answer.Header
	}
	return answer, err
}
