package provider_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
)

// collect runs the collector of instances over the provider, until what it deletes is gone.
func (w *world) collect() {
	w.t.Helper()
	shared := deps.New(w.client, w.clock)
	shared.Cloud, shared.Live = w.provider.Cloud(), w.client
	g := nodeclaim.NewInstanceGarbage(shared, nodeclaim.NewLifecycle(shared, nil))
	if _, err := g.Reconcile(w.t.Context(), reconcile.Request{}); err != nil {
		w.t.Fatal(err)
	}
	w.settled()
}

// addVM adds a virtual machine of a given age with its network interface and node.
func (w *world) addVM(name string, age time.Duration, tags map[string]any) {
	w.t.Helper()
	w.account.Put(azuretest.ID(nics, name), map[string]any{"location": location, "tags": tags, "properties": map[string]any{}})
	w.account.Put(azuretest.ID(vms, name), map[string]any{"location": location, "tags": tags, "properties": map[string]any{
		"hardwareProfile": map[string]any{"vmSize": "Standard_D2s_v3"}, "provisioningState": "Succeeded",
		"timeCreated": w.clock.Now().Add(-age).Format(time.RFC3339),
	}})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID(name)}}
	if err := w.client.Create(w.t.Context(), node); err != nil {
		w.t.Fatal(err)
	}
}

// providerID is that of a node on a virtual machine.
func providerID(vm string) string {
	return "azure://" + strings.Replace(azuretest.ID(vms, vm), azuretest.NodeResourceGroup, strings.ToLower(azuretest.NodeResourceGroup), 1)
}

// exists reports whether a virtual machine and its node exist. Either both do, or neither.
func (w *world) exists(name string) bool {
	w.t.Helper()
	err := w.client.Get(w.t.Context(), client.ObjectKey{Name: name}, &corev1.Node{})
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	exists := w.account.Exists(azuretest.ID(vms, name))
	if apierrors.IsNotFound(err) == exists {
		w.t.Errorf("virtual machine %s exists: %t, its node: %v", name, exists, err)
	}
	return exists
}

// owned adds the NodeClaim of a virtual machine.
func (w *world) owned(vm string) {
	w.t.Helper()
	claim := w.claim(strings.TrimPrefix(vm, "aks-"))
	claim.Status.ProviderID = providerID(vm)
	if err := w.client.Status().Update(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
}

func ours() map[string]any {
	return map[string]any{"karpenter.sh_nodepool": "general", "karpenter.azure.com_cluster": "test"}
}

// TestInstancesWithoutANodeClaimAreDeleted collects virtual machines of which some have a NodeClaim, and some are of others.
func TestInstancesWithoutANodeClaimAreDeleted(t *testing.T) {
	t.Attr("covers", "Z147 Z148")
	w := newWorld(t)
	want := map[string]bool{"aks-young": true, "aks-untagged": true, "aks-elsewhere": true, "aks-machine": true}
	w.addVM("aks-young", 5*time.Minute-time.Second, ours())
	w.addVM("aks-untagged", time.Hour, map[string]any{})
	w.addVM("aks-elsewhere", time.Hour, map[string]any{"karpenter.sh_nodepool": "general", "karpenter.azure.com_cluster": "other"})
	w.addVM("aks-machine", time.Hour, map[string]any{"karpenter.sh_nodepool": "general", "karpenter.azure.com_aksmachine_nodeclaim": "x"})
	w.addVM("aks-old", 5*time.Minute, ours())
	want["aks-old"] = false
	for i := range 30 {
		orphan, owned := fmt.Sprintf("aks-orphan-%02d", i), fmt.Sprintf("aks-owned-%02d", i)
		w.addVM(orphan, time.Hour, ours())
		w.addVM(owned, time.Hour, ours())
		w.owned(owned)
		want[orphan], want[owned] = false, true
	}
	w.collect()
	for name, kept := range want {
		if got := w.exists(name); got != kept {
			t.Errorf("%s exists: %t, want %t", name, got, kept)
		}
		if nic := w.account.Exists(azuretest.ID(nics, name)); nic != kept {
			t.Errorf("the network interface %s exists: %t, want %t", name, nic, kept)
		}
	}
}

// TestForeignInstancesAreLeftAlone has NodeClaims with the provider ID of a virtual machine that is not one of the cluster, by its tags or by its
// resource group.
func TestForeignInstancesAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	refused := func(what, id string) {
		t.Helper()
		claim := w.claim(what)
		claim.Status.ProviderID = id
		err := w.provider.Delete(t.Context(), claim)
		if why, ok := cloud.AsDeleteError(err); !ok || why.Reason != "InstanceNotOwned" || !strings.Contains(why.Message, v1.TerminationFinalizer) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, tags := range map[string]map[string]any{
		"untagged": {}, "elsewhere": {"karpenter.sh_nodepool": "general", "karpenter.azure.com_cluster": "other"}, "of-a-user": {"karpenter.sh_nodepool": ""},
	} {
		w.addVM("aks-"+what, time.Hour, tags)
		refused(what, providerID("aks-"+what))
		w.settled()
		if !w.exists("aks-" + what) {
			t.Errorf("the virtual machine with tags %v was deleted", tags)
		}
	}
	w.addVM("aks-ours", time.Hour, ours())
	refused("in-another-group", strings.Replace(providerID("aks-ours"), strings.ToLower(azuretest.NodeResourceGroup), "production", 1))
	w.settled()
	if !w.exists("aks-ours") {
		t.Error("a virtual machine was deleted for one of the same name in another resource group")
	}
	for what, tags := range map[string]map[string]any{
		"standalone": {"karpenter.azure.com_cluster": "test"}, "early": {"karpenter.sh_nodepool": "general"}, "launched": ours(),
	} {
		w.addVM("aks-"+what, time.Hour, tags)
		claim := w.claim(what)
		claim.Status.ProviderID = providerID("aks-" + what)
		if err := w.provider.Delete(t.Context(), claim); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		w.settled()
		if w.account.Exists(azuretest.ID(vms, "aks-"+what)) {
			t.Errorf("the virtual machine with tags %v is left", tags)
		}
	}
}

// TestAKSMachinesWithoutANodeClaimAreDeleted does the same for AKSMachines.
func TestAKSMachinesWithoutANodeClaimAreDeleted(t *testing.T) {
	t.Attr("covers", "Z147")
	w := newWorldIn(t, settings.ModeAKSMachine, unchanged)
	orphan, kept := w.claim("orphan"), w.claim("kept")
	w.created(orphan)
	kept.Status = w.created(kept).Status
	w.settled()
	if err := w.client.Status().Update(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(5 * time.Minute)
	w.collect()
	if w.account.Exists(machineID("orphan")) || !w.account.Exists(machineID("kept")) {
		t.Errorf("the orphan exists: %t, the other: %t", w.account.Exists(machineID("orphan")), w.account.Exists(machineID("kept")))
	}
}

// TestProviderIDsAreComparedWithoutCase lets Resource Graph write the ID of an instance in other letters: it is no orphan because of that.
func TestProviderIDsAreComparedWithoutCase(t *testing.T) {
	t.Attr("covers", "Z246")
	w := newWorld(t)
	w.addVM("AKS-General-A", time.Hour, ours())
	w.owned("aks-general-a")
	w.collect()
	if !w.account.Exists(azuretest.ID(vms, "aks-general-a")) {
		t.Error("the instance of a NodeClaim was deleted")
	}
}

// TestCrashBeforeTheNodeClaimIsWritten ends the process when Azure has accepted a launch, and its NodeClaim has no provider ID yet. The next
// process looks for orphans before it launches the NodeClaim again.
func TestCrashBeforeTheNodeClaimIsWritten(t *testing.T) {
	for _, mode := range []settings.ProvisionMode{settings.ModeScriptless, settings.ModeAKSMachine} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorldIn(t, mode, unchanged)
			claim := w.claim("general-a")
			launched := w.created(claim)
			w.settled()
			w.end()
			w.restart()
			w.clock.Step(time.Hour)
			w.account.Forget()
			w.collect()
			again := w.created(claim)
			if again.Status.ProviderID != launched.Status.ProviderID || w.count("PUT virtualMachines")+w.count(putMachine) > 0 {
				t.Errorf("launched again as %s, was %s", again.Status.ProviderID, launched.Status.ProviderID)
			}
			w.settled()
			if err := w.client.Delete(t.Context(), &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "general-a"}}); err != nil {
				t.Fatal(err)
			}
			w.clock.Step(5 * time.Minute)
			w.collect()
			if list, err := w.provider.List(t.Context()); err != nil || len(list) > 0 {
				t.Errorf("without the NodeClaim: listed %+v, %v", list, err)
			}
		})
	}
}
