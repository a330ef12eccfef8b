package azuretest_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
)

// TestHosts shows virtual machines as their operating system sees them, from their creation to their end, though no client asks for the
// operations.
func TestHosts(t *testing.T) {
	c := connect(t, azuretest.Options{Takes: time.Minute})
	c.account.Put(azuretest.ID("Microsoft.Network/networkInterfaces", "aks-a"), map[string]any{})
	body := virtualMachine("aks-a", "Standard_D2s_v3", "2", "Spot")
	body.Properties.OSProfile = &armcompute.OSProfile{ComputerName: to.Ptr("aks-a"), CustomData: to.Ptr(base64.StdEncoding.EncodeToString([]byte("hello")))}
	_, err := c.machines.BeginCreateOrUpdate(t.Context(), group, "aks-a", body, nil)
	must(t, err)
	only := func() azuretest.Host {
		t.Helper()
		hosts := c.account.Hosts()
		if len(hosts) != 1 {
			t.Fatalf("there are %d virtual machines", len(hosts))
		}
		return hosts[0]
	}
	h := only()
	if h.State != "Creating" || h.Computer != "aks-a" || h.CustomData != "hello" || !h.Spot || h.Zone != "2" || h.Size.VCPUs != 2 || h.Address == "" ||
		h.VMID == "" || !h.NotBefore.IsZero() || !h.Created.Equal(c.clock.Now()) || h.HourlyPrice() != h.Size.Price/5 {
		t.Errorf("it is %+v", h)
	}
	c.clock.SetTime(c.clock.Now().Add(time.Minute))
	if h = only(); h.State != "Succeeded" {
		t.Errorf("its state is %s", h.State)
	}
	c.account.Evict(h.ID)
	if h = only(); !h.NotBefore.Equal(c.clock.Now().Add(azuretest.EvictionNotice)) {
		t.Errorf("it is evicted at %s", h.NotBefore)
	}
	_, err = c.machines.BeginDelete(t.Context(), group, "aks-a", nil)
	must(t, err)
	if h = only(); h.State != "Deleting" {
		t.Errorf("its state is %s", h.State)
	}
	if ids := c.account.IDs("Microsoft.Compute/virtualMachines"); len(ids) != 1 || ids[0] != h.ID {
		t.Errorf("the IDs are %v", ids)
	}
	c.clock.SetTime(c.clock.Now().Add(time.Minute))
	if hosts := c.account.Hosts(); len(hosts) != 0 {
		t.Errorf("there are %+v", hosts)
	}
}

// TestRetryAfter tells clients to wait before the next poll.
func TestRetryAfter(t *testing.T) {
	for want, options := range map[string]azuretest.Options{"2 ": {RetryAfter: 2 * time.Second}, "3 1": {}} {
		c := connect(t, options)
		c.account.Put(azuretest.ID("Microsoft.Network/networkInterfaces", "aks-a"), map[string]any{})
		var answer *http.Response
		_, err := c.machines.BeginCreateOrUpdate(policy.WithCaptureResponse(t.Context(), &answer), group, "aks-a", virtualMachine("aks-a", "Standard_D2s_v3", "", "Regular"), nil)
		must(t, err)
		if got := answer.Header.Get("Retry-After") + " " + answer.Header.Get("retry-after-ms"); got != want {
			t.Errorf("clients wait %q, want %q", got, want)
		}
	}
}

// TestStorm throttles a share of the calls, and lets a share of the virtual machines fail late.
func TestStorm(t *testing.T) {
	c := connect(t, azuretest.Options{})
	c.account.Storm(0.5, 0, 1)
	throttled := 0
	for range 100 {
		_, err := c.machines.Get(t.Context(), group, "aks-a", nil)
		var refused *azcore.ResponseError
		if errors.As(err, &refused) && refused.StatusCode == http.StatusTooManyRequests {
			throttled++
		}
	}
	if throttled < 25 || throttled > 75 {
		t.Errorf("%d of 100 calls are throttled", throttled)
	}
	c.account.Storm(0, 0, 1)
	_, err := c.launch(t, "aks-b", "Standard_D2s_v3", "1", "Spot")
	must(t, err)
}

// TestStormCapacity lets launches fail with the errors about capacity and quota that their zone and priority can have.
func TestStormCapacity(t *testing.T) {
	zonal, overconstrained := "ZonalAllocationFailed", "OverconstrainedZonalAllocationRequest"
	common := []string{"AllocationFailed", "OverconstrainedAllocationRequest", "SkuNotAvailable", "OperationNotAllowed"}
	for name, test := range map[string]struct {
		zone     string
		priority armcompute.VirtualMachinePriorityTypes
		codes    []string
		quota    string
	}{
		"spot in a zone":     {"1", "Spot", append([]string{zonal, overconstrained}, common...), "LowPriorityCores"},
		"regional on-demand": {"", "Regular", common, "standardDSv4Family Cores quota"},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, azuretest.Options{Sizes: azuretest.ManySizes()})
			c.account.Storm(0, 1, 1)
			got := map[string]int{}
			for i := range 60 {
				_, err := c.launch(t, fmt.Sprintf("aks-%d", i), "Standard_D4s_v4", test.zone, test.priority)
				var failed *azcore.ResponseError
				if !errors.As(err, &failed) {
					t.Fatalf("the launch ended with %v", err)
				}
				if got[failed.ErrorCode]++; failed.ErrorCode == "OperationNotAllowed" && !strings.Contains(err.Error(), test.quota) {
					t.Errorf("the quota is not %s: %v", test.quota, err)
				}
			}
			requested, failures := c.account.StormFailures()
			if !maps.Equal(got, failures) || requested != 60 || !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(slices.Values(test.codes))) {
				t.Errorf("%d launches failed with %v, want each of %v; the account counts %v", requested, got, test.codes, failures)
			}
		})
	}
}

// TestStormShare lets a fifth of the launches fail, the same ones for the same seed whatever else is asked in between.
func TestStormShare(t *testing.T) {
	failures := func(reads int) map[string]int {
		c := connect(t, azuretest.Options{Sizes: azuretest.ManySizes()})
		c.account.Storm(0.5, 0.2, 7)
		for i := range 100 {
			name := fmt.Sprintf("aks-%d", i)
			c.account.Put(azuretest.ID("Microsoft.Network/networkInterfaces", name), map[string]any{})
			for range reads {
				_, _ = c.machines.Get(t.Context(), group, "aks-none", nil)
			}
			for {
				_, err := c.machines.BeginCreateOrUpdate(t.Context(), group, name, virtualMachine(name, "Standard_D4s_v4", "2", "Regular"), nil)
				var refused *azcore.ResponseError
				if !errors.As(err, &refused) || refused.StatusCode != http.StatusTooManyRequests {
					break
				}
			}
		}
		_, out := c.account.StormFailures()
		return out
	}
	first, second := failures(0), failures(2)
	sum := 0
	for _, n := range first {
		sum += n
	}
	if sum < 10 || sum > 30 || !maps.Equal(first, second) {
		t.Errorf("%d launches failed: %v, and with more reads %v", sum, first, second)
	}
}
