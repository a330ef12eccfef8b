package provider_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/azure/provider"
)

// launchAndStop launches a NodeClaim and ends the process at once. It returns the claim as the NodeClaim controller has written it.
func (w *world) launchAndStop(claim *v1.NodeClaim) {
	w.t.Helper()
	launched, err := w.provider.Create(w.t.Context(), claim)
	if err != nil {
		w.t.Fatal(err)
	}
	w.end()
	claim.Status = launched.Status
	condition.For(claim, w.clock.Now()).True(v1.ConditionTypeLaunched)
	if err := w.client.Status().Update(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
}

// restart makes a provider as a new process does, without what the one before has learned.
func (w *world) restart() *provider.Provider {
	w.t.Helper()
	w.metrics = prometheus.NewRegistry()
	w.start()
	return w.provider
}

// TestLaunchesOfEarlierProcessesAreFollowed resumes launches after a restart: one that succeeds, one that fails after Azure had accepted
// it, and one whose class has changed.
func TestLaunchesOfEarlierProcessesAreFollowed(t *testing.T) {
	t.Attr("covers", "Z112")
	const size = "Standard_D2s_v3"
	for name, test := range map[string]struct {
		fails  bool
		change func(*v1beta1.AKSNodeClass)
	}{
		"it runs":                          {},
		"it fails":                         {fails: true},
		"it runs, the class is not ready":  {change: func(c *v1beta1.AKSNodeClass) { c.Status.Images, c.Status.KubernetesVersion = nil, "" }},
		"it fails, the class is not ready": {fails: true, change: func(c *v1beta1.AKSNodeClass) { c.Status.Images, c.Status.KubernetesVersion = nil, "" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if test.fails {
				w.account.RunOut(azuretest.Pool{Size: size})
			}
			claim := w.claim("general-a", in(corev1.LabelInstanceTypeStable, size), in(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand), in(corev1.LabelTopologyZone, "eastus-2"))
			w.launchAndStop(claim)
			if w.account.Exists(azuretest.ID(vms, "aks-general-a") + "/extensions/computeAksLinuxBilling") {
				t.Fatal("the launch ended before the process")
			}
			if test.change != nil {
				class := &v1beta1.AKSNodeClass{}
				if err := w.client.Get(t.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
					t.Fatal(err)
				}
				test.change(class)
				if err := w.client.Status().Update(t.Context(), class); err != nil {
					t.Fatal(err)
				}
			}
			p := w.restart()
			if err := p.Launcher.Resume(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			w.settled()
			vm := azuretest.ID(vms, "aks-general-a")
			err := w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), &v1.NodeClaim{})
			if gone := apierrors.IsNotFound(err); gone != test.fails {
				t.Errorf("the claim is gone: %t, %v", gone, err)
			}
			if exists := w.account.Exists(vm); exists == test.fails {
				t.Errorf("the virtual machine exists: %t", exists)
			}
			if billed := w.account.Exists(vm + "/extensions/computeAksLinuxBilling"); billed == test.fails {
				t.Errorf("the billing extension exists: %t", billed)
			}
			d, _ := p.Catalog.SKU(size)
			if marked := p.Catalog.UnavailableOfferings.IsUnavailable(choice.Identity(&d), v1.CapacityTypeOnDemand, "eastus-2"); marked != test.fails {
				t.Errorf("the offering is marked: %t", marked)
			}
			if n := w.count("PUT virtualMachines"); n != 1 {
				t.Errorf("%d virtual machines were requested", n)
			}
		})
	}
}

// TestLaunchThatLeftNothing resumes a claim whose virtual machine failed and was deleted by a process that ended before it deleted the claim.
func TestLaunchThatLeftNothing(t *testing.T) {
	w := newWorld(t)
	claim := w.claim("general-a")
	claim.Status.ProviderID = "azure://" + azuretest.ID(vms, "aks-general-a")
	for range 2 { // the second time, the cache still has the claim
		if err := w.provider.Launcher.Resume(t.Context(), claim); err != nil || w.provider.Launcher.Background.Running() > 0 {
			t.Errorf("an instance that does not exist: %v", err)
		}
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), &v1.NodeClaim{}); !apierrors.IsNotFound(err) {
		t.Errorf("the claim: %v", err)
	}
	if len(w.disrupted) != 1 {
		t.Errorf("claims are counted: %v", w.disrupted)
	}
}

// TestLaunchThatIsBeingDeleted resumes a claim whose virtual machine failed, and is being deleted since a process that ended meanwhile asked for it.
func TestLaunchThatIsBeingDeleted(t *testing.T) {
	w := newWorld(t)
	claim := w.claim("general-a")
	w.launchAndStop(claim)
	if _, err := w.restart().VMs.(provider.VMs).VirtualMachines.BeginDelete(t.Context(), azuretest.NodeResourceGroup, "aks-general-a", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.provider.Launcher.Resume(t.Context(), claim); err != nil || w.provider.Launcher.Background.Running() > 0 {
		t.Errorf("an instance that is being deleted: %v", err)
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), &v1.NodeClaim{}); !apierrors.IsNotFound(err) {
		t.Errorf("the claim: %v", err)
	}
}

// TestNothingToResume resumes claims whose instance cannot be read.
func TestNothingToResume(t *testing.T) {
	w := newWorld(t)
	claim := w.claim("general-a")
	claim.Status.ProviderID = "aws:///us-east-1a/i-1"
	if err := w.provider.Launcher.Resume(t.Context(), claim); err == nil {
		t.Error("an instance of another cloud: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	claim.Status.ProviderID = "azure://" + azuretest.ID(vms, "aks-general-a")
	if err := w.provider.Launcher.Resume(ctx, claim); err == nil {
		t.Error("a read that fails: no error")
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), &v1.NodeClaim{}); err != nil {
		t.Errorf("the claim: %v", err)
	}
}
