package provider_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/poll"
)

// count is how many requests of an operation the account got.
func (w *world) count(operation string) int { return len(w.account.Calls(operation)) }

func TestInstancesAreLaunchedFoundAndDeleted(t *testing.T) {
	w := newWorld(t)
	claim := w.claim("general-a", in(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand))
	launched, err := w.provider.Create(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		corev1.LabelInstanceTypeStable: "Standard_B2s", corev1.LabelTopologyZone: "0", v1.CapacityTypeLabelKey: v1.CapacityTypeOnDemand,
		corev1.LabelArchStable: "amd64", v1.NodePoolLabelKey: "general", "kubernetes.azure.com/scalesetpriority": "regular",
	} {
		if launched.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, launched.Labels[key], want)
		}
	}
	if launched.Status.Capacity.Cpu().Value() != 2 || launched.Status.ImageID == "" || launched.Annotations["karpenter.azure.com/aksnodeclass-hash-version"] != "v3" {
		t.Errorf("the claim is %+v", launched)
	}
	again, err := w.provider.Create(t.Context(), claim)
	if err != nil || again.Status.ProviderID != launched.Status.ProviderID || w.count("PUT virtualMachines") != 1 {
		t.Errorf("launched again as %s after %d requests, %v", again.Status.ProviderID, w.count("PUT virtualMachines"), err)
	}
	w.settled()
	if !w.account.Exists(azuretest.ID(vms, "aks-general-a") + "/extensions/computeAksLinuxBilling") {
		t.Error("the billing extension is missing")
	}

	found, err := w.provider.Get(t.Context(), launched.Status.ProviderID)
	if err != nil || found.Labels[corev1.LabelInstanceTypeStable] != "Standard_B2s" || found.UID != claim.UID {
		t.Errorf("found %+v, %v", found, err)
	}
	list, err := w.provider.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Status.ProviderID != launched.Status.ProviderID || list[0].Status.Capacity.Cpu().Value() != 2 {
		t.Errorf("listed %+v, %v", list, err)
	}

	if err := w.provider.Delete(t.Context(), launched); err != nil {
		t.Fatal(err)
	}
	w.settled()
	if err := w.provider.Delete(t.Context(), launched); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("deleted again: %v", err)
	}
	if w.account.Exists(azuretest.ID(vms, "aks-general-a")) || w.account.Exists(azuretest.ID(nics, "aks-general-a")) {
		t.Error("something is left over")
	}
}

// TestDeletionsThatLast deletes an instance while Azure does already: for this process, and for one before it.
func TestDeletionsThatLast(t *testing.T) {
	t.Attr("covers", "Z218")
	w := newWorldOf(t, settings.ModeScriptless, func(*settings.Settings) {}, azuretest.Options{Takes: time.Hour})
	vm := azuretest.ID(vms, "aks-general-a")
	w.account.Put(vm, map[string]any{"location": location, "tags": ours(), "properties": map[string]any{"provisioningState": "Succeeded"}})
	claim := w.claim("general-a")
	claim.Status.ProviderID = "azure://" + vm
	for range 2 {
		if err := w.provider.Delete(t.Context(), claim); err != nil {
			t.Error(err)
		}
	}
	poll.Until(t, "the virtual machine is deleted", func() bool { return w.count("DELETE virtualMachines") > 0 })
	if reads := w.count("GET virtualMachines"); reads != 1 {
		t.Errorf("%d reads for two deletions by one process", reads)
	}
	w.kill()
	w.restart()
	if err := w.provider.Delete(t.Context(), claim); err != nil || w.count("GET virtualMachines") != 2 || w.count("DELETE virtualMachines") != 1 {
		t.Errorf("by the next process: %v, %d reads, %d requests to delete", err, w.count("GET virtualMachines"), w.count("DELETE virtualMachines"))
	}
	w.clock.Step(time.Hour)
	w.account.Settle()
	if err := w.provider.Delete(t.Context(), claim); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("after the deletion: %v", err)
	}
}

func TestRefusedOfferingsAreNotTriedAgain(t *testing.T) {
	w := newWorld(t)
	spot := in(v1.CapacityTypeLabelKey, v1.CapacityTypeSpot)
	w.account.Refuse(azuretest.Pool{Size: "Standard_D2s_v3", Priority: "Spot"}, azuretest.Refusal{Code: "SkuNotAvailable", Message: "The requested size is not available"})
	only := in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3")
	for _, name := range []string{"zonal", "regional"} { // one says nothing about the other
		if _, err := w.provider.Create(t.Context(), w.claim(name, spot, only)); err == nil || cloud.IsInsufficientCapacity(err) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if w.account.Exists(azuretest.ID(nics, "aks-"+name)) {
			t.Errorf("%s: the network interface is left over", name)
		}
	}
	sent := w.count("PUT virtualMachines")
	if _, err := w.provider.Create(t.Context(), w.claim("third", spot, only)); !cloud.IsInsufficientCapacity(err) || w.count("PUT virtualMachines") != sent || sent != 2 {
		t.Errorf("%d requests and then %d, %v", sent, w.count("PUT virtualMachines"), err)
	}
	if _, err := w.provider.Create(t.Context(), w.claim("on-demand", in(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand), only)); err != nil {
		t.Errorf("on-demand: %v", err)
	}
}

func TestLateFailuresEndTheNodeClaim(t *testing.T) {
	t.Attr("covers", "Z112")
	w := newWorld(t)
	w.account.RunOut(azuretest.Pool{Size: "Standard_D2s_v3"})
	claim := w.claim("general-a", in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3"))
	launched, err := w.provider.Create(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	claim.Status = launched.Status
	condition.For(claim, w.clock.Now()).True(v1.ConditionTypeLaunched)
	if err := w.client.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.settled()
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), &v1.NodeClaim{}); !apierrors.IsNotFound(err) {
		t.Errorf("the claim is still there: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.ContainsFunc(w.events, func(e observe.Event) bool { return e.Reason == "AsyncProvisioningError" }) || !slices.Equal(w.disrupted, []string{"general spot"}) {
		t.Errorf("events %v, disrupted %v", w.events, w.disrupted)
	}
	if w.account.Exists(azuretest.ID(vms, "aks-general-a")) || w.account.Exists(azuretest.ID(nics, "aks-general-a")) {
		t.Error("something is left over")
	}
}

func TestStandaloneNodeClaimsFailAtOnce(t *testing.T) {
	t.Attr("covers", "Z112")
	w := newWorld(t)
	w.account.RunOut(azuretest.Pool{Size: "Standard_D2s_v3"})
	claim := w.claim("mine", in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3"))
	claim.Labels = nil
	if _, err := w.provider.Create(t.Context(), claim); err == nil {
		t.Error("no error")
	}
	if w.account.Exists(azuretest.ID(vms, "aks-mine")) || w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), &v1.NodeClaim{}) != nil {
		t.Error("the instance is left over, or the claim is gone")
	}
}

// settled waits until all launches and deletions have ended.
func (w *world) settled() {
	w.t.Helper()
	poll.Until(w.t, "all launches and deletions have ended", func() bool {
		if w.provider.Launcher.Background.Running() == 0 {
			return true
		}
		w.account.Settle()                   // what no caller polls goes on as well
		w.clock.Step(200 * time.Millisecond) // slowly: a timeout must not end before a request does
		return false
	})
}
