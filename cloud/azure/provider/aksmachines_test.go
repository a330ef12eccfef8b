package provider_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

const (
	annotation = "karpenter.azure.com/aks-machine-resource-id"
	putMachine = "PUT AKSMachines"
)

func unchanged(*settings.Settings) {}

func machineID(name string) string { return azuretest.PoolID(agentPool) + "/machines/" + name }

// created launches a NodeClaim.
func (w *world) created(claim *v1.NodeClaim) *v1.NodeClaim {
	w.t.Helper()
	out, err := w.provider.Create(w.t.Context(), claim)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestAKSMachinesAreLaunchedFoundAndDeleted(t *testing.T) {
	t.Attr("covers", "Z247")
	for _, mode := range []settings.ProvisionMode{settings.ModeAKSMachine, settings.ModeAKSMachineBatch} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorldIn(t, mode, unchanged)
			claim := w.claim("general-a", in(v1.CapacityTypeLabelKey, v1.CapacityTypeSpot))
			launched := w.created(claim)
			if launched.Annotations[annotation] != machineID("general-a") || !strings.Contains(launched.Status.ProviderID, "/virtualMachines/aks-nodes-general-a-") {
				t.Errorf("the claim is %+v", launched)
			}
			if launched.Status.ImageID != "AKSUbuntu-2204gen2containerd-202604.1.0" || launched.Labels["kubernetes.azure.com/scalesetpriority"] != "spot" {
				t.Errorf("the claim is %+v", launched)
			}
			w.settled()
			if w.count("PUT virtualMachines")+w.count("PUT networkInterfaces") > 0 || w.count(putMachine) != 1 {
				t.Error("other things were requested")
			}
			found, err := w.provider.Get(t.Context(), launched.Status.ProviderID)
			if err != nil || found.Annotations[annotation] != machineID("general-a") || found.Status.Capacity.Cpu().IsZero() {
				t.Errorf("found %+v, %v", found, err)
			}
			if list, err := w.provider.List(t.Context()); err != nil || len(list) != 1 || list[0].Status.ProviderID != launched.Status.ProviderID {
				t.Errorf("listed %+v, %v", list, err)
			}
			delete(launched.Annotations, annotation) // the name of the virtual machine is enough
			if err := w.provider.Delete(t.Context(), launched); err != nil {
				t.Fatal(err)
			}
			w.settled()
			if err := w.provider.Delete(t.Context(), launched); !cloud.IsNodeClaimNotFound(err) || w.account.Exists(machineID("general-a")) {
				t.Errorf("deleted again: %v", err)
			}
		})
	}
}

// TestBatchesOfLaunches launches several NodeClaims at once, of which one is refused.
func TestBatchesOfLaunches(t *testing.T) {
	t.Attr("covers", "Z096 Z160")
	w := newWorldIn(t, settings.ModeAKSMachineBatch, func(s *settings.Settings) { s.ProviderBatchMaxSize = 3 })
	var launches sync.WaitGroup
	errs := make([]error, 3)
	for i, zone := range []string{"eastus-1", "eastus-2", "eastus-3"} {
		claim := w.claim(fmt.Sprintf("general-%d", i), in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3"), in(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand), in(corev1.LabelTopologyZone, zone))
		launches.Go(func() { _, errs[i] = w.provider.Create(t.Context(), claim) })
	}
	w.account.Refuse(azuretest.Pool{Size: "Standard_D2s_v3", Zone: "2"}, azuretest.Refusal{Code: "VMSizeNotSupported", Message: "no"})
	launches.Wait()
	if errs[0] != nil || errs[1] == nil || errs[2] != nil || w.count(putMachine) != 1 {
		t.Errorf("%d requests, errors %v", w.count(putMachine), errs)
	}
	w.settled()
	for i, zone := range []string{"1", "", "3"} {
		m := machineID(fmt.Sprintf("general-%d", i))
		if w.account.Exists(m) != (zone != "") {
			t.Errorf("%s exists: %v", m, zone == "")
		}
	}
	// The whole size is unavailable now, in each zone.
	if _, err := w.provider.Create(t.Context(), w.claim("again", in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3"))); !cloud.IsInsufficientCapacity(err) {
		t.Errorf("the error is %v", err)
	}
}

// TestLateFailuresOfAKSMachines checks launches that AKS accepts and cannot fulfill.
func TestLateFailuresOfAKSMachines(t *testing.T) {
	t.Attr("covers", "Z112 Z156")
	for _, mode := range []settings.ProvisionMode{settings.ModeAKSMachine, settings.ModeAKSMachineBatch} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %t", mode, restart), func(t *testing.T) {
				w := newWorldIn(t, mode, unchanged)
				w.account.RunOut(azuretest.Pool{Size: "Standard_D2s_v3"})
				claim := w.claim("general-a", in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3"), in(corev1.LabelTopologyZone, "eastus-2"), in(v1.CapacityTypeLabelKey, "spot"))
				if restart {
					w.launchAndStop(claim)
					w.restart()
					if err := w.provider.Launcher.Resume(t.Context(), claim); err != nil {
						t.Fatal(err)
					}
				} else {
					claim.Status = w.created(claim).Status
					condition.For(claim, w.clock.Now()).True(v1.ConditionTypeLaunched)
					if err := w.client.Status().Update(t.Context(), claim); err != nil {
						t.Fatal(err)
					}
				}
				w.settled()
				if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), &v1.NodeClaim{}); !apierrors.IsNotFound(err) || w.account.Exists(machineID("general-a")) {
					t.Errorf("something is left over: %v", err)
				}
				w.mu.Lock()
				failed := slices.ContainsFunc(w.events, func(e observe.Event) bool {
					return e.Reason == "AsyncProvisioningError" && strings.Contains(e.Message, "ZonalAllocationFailed")
				})
				w.mu.Unlock()
				if !failed || !slices.Equal(w.disrupted, []string{"general spot"}) {
					t.Errorf("events %v, disrupted %v", w.events, w.disrupted)
				}
				other := w.claim("other", in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3"), in(corev1.LabelTopologyZone, "eastus-2"))
				if _, err := w.provider.Create(t.Context(), other); !cloud.IsInsufficientCapacity(err) {
					t.Errorf("the offering is not marked: %v", err)
				}
			})
		}
	}
}

// TestModesCanBeSwitched checks what a process in another mode sees of AKSMachines.
func TestModesCanBeSwitched(t *testing.T) {
	t.Attr("covers", "Z158 Z176")
	for _, managed := range []bool{true, false} {
		t.Run(fmt.Sprintf("managed %t", managed), func(t *testing.T) {
			w := newWorldIn(t, settings.ModeAKSMachine, unchanged)
			claim := w.claim("general-a")
			launched := w.created(claim)
			w.settled()
			w.end()
			w.mode, w.change = settings.ModeScriptless, func(s *settings.Settings) { s.ManageExistingAKSMachines = managed }
			w.restart()
			w.account.Forget()
			list, err := w.provider.List(t.Context())
			if err != nil || (len(list) == 1) != managed {
				t.Errorf("listed %+v, %v", list, err)
			}
			_, err = w.provider.Get(t.Context(), launched.Status.ProviderID)
			if (err == nil) != managed || err != nil && !cloud.IsNodeClaimNotFound(err) {
				t.Errorf("the error of Get is %v", err)
			}
			if err := w.provider.Delete(t.Context(), launched); (err == nil) != managed || err != nil && !cloud.IsNodeClaimNotFound(err) {
				t.Errorf("the error of Delete is %v", err)
			}
			w.settled()
			if w.account.Exists(machineID("general-a")) == managed {
				t.Error("the AKSMachine is deleted if it is not managed, or not if it is")
			}
			calls := slices.DeleteFunc(w.account.Calls(""), func(c azuretest.Call) bool { return !strings.Contains(c.Path, "/agentPools/") })
			if (len(calls) > 0) != managed {
				t.Errorf("calls %v", calls)
			}
			other := w.claim("general-b")
			made := make(chan error, 1)
			go func() { _, err := w.provider.Create(t.Context(), other); made <- err }()
			poll.Until(t, "the virtual machine is requested", func() bool { // the network interface takes its time
				w.clock.Step(time.Second)
				return len(made) > 0
			})
			if err := <-made; err != nil || w.count(putMachine) > 0 || w.count("PUT virtualMachines") != 1 {
				t.Errorf("%d new AKSMachines, %v", w.count(putMachine), err)
			}
			w.settled()
		})
	}
}

// TestAKSMachinesDrift checks that what AKS says counts, besides what the class says.
func TestAKSMachinesDrift(t *testing.T) {
	t.Attr("covers", "Z137")
	w := newWorldIn(t, settings.ModeAKSMachine, unchanged)
	launched := w.created(w.claim("general-a"))
	if reason, err := w.provider.IsDrifted(t.Context(), launched); err != nil || reason != "" {
		t.Errorf("drifted: %s, %v", reason, err)
	}
	w.edit("general-a", func(p map[string]any) { p["status"].(map[string]any)["driftAction"] = "Recreate" })
	w.clock.Step(time.Minute)
	if _, err := w.provider.List(t.Context()); err != nil { // what was listed before must not come later
		t.Fatal(err)
	}
	if reason, err := w.provider.IsDrifted(t.Context(), launched); err != nil || reason != "ClusterConfigDrift" {
		t.Errorf("drifted: %s, %v", reason, err)
	}
	for _, operation := range []string{"GET AKSMachines", "GET list AKSMachines"} {
		w.account.Fail(operation, http.StatusForbidden, "AuthorizationFailed", "", -1)
	}
	w.clock.Step(time.Minute)
	if reason, err := w.provider.IsDrifted(t.Context(), launched); err == nil {
		t.Errorf("drifted: %s, in spite of an error", reason)
	}
	w.account.Recover("GET AKSMachines")
	w.account.Remove(machineID("general-a"))
	w.clock.Step(time.Minute)
	if reason, err := w.provider.IsDrifted(t.Context(), launched); err != nil || reason != "" {
		t.Errorf("drifted without an instance: %s, %v", reason, err)
	}
}

// edit changes an AKSMachine as AKS does.
func (w *world) edit(name string, change func(properties map[string]any)) {
	w.t.Helper()
	body := w.account.Body(machineID(name))
	change(body["properties"].(map[string]any))
	w.account.Put(machineID(name), body)
}

// TestUnreadableAKSMachinesAreNotMissing checks that the NodeClaim of one that cannot be read is listed, and others too.
func TestUnreadableAKSMachinesAreNotMissing(t *testing.T) {
	t.Attr("covers", "Z222")
	w := newWorldIn(t, settings.ModeAKSMachine, unchanged)
	claim := w.claim("bad")
	launched, other := w.created(claim), w.created(w.claim("good"))
	w.settled()
	claim.Status = launched.Status
	if err := w.client.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.edit("bad", func(p map[string]any) { delete(p, "resourceId") })
	w.clock.Step(time.Minute)
	list, err := w.provider.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Status.ProviderID != launched.Status.ProviderID || list[1].Status.ProviderID != other.Status.ProviderID || list[0].UID != claim.UID {
		t.Errorf("listed %+v, %v", list, err)
	}
	if err := w.client.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if list, err := w.provider.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("without the claim: listed %+v, %v", list, err)
	}
}

// TestAnotherAgentPoolIsNoLoss checks that a NodeClaim does not end because a setting has changed.
func TestAnotherAgentPoolIsNoLoss(t *testing.T) {
	w := newWorldIn(t, settings.ModeAKSMachine, unchanged)
	launched := w.created(w.claim("general-a"))
	w.settled()
	w.end()
	w.account.Put(azuretest.PoolID("others"), map[string]any{"properties": map[string]any{"mode": azuretest.ModeMachines()}})
	w.change = func(s *settings.Settings) { s.AKSMachinesPoolName = "others" }
	w.restart()
	if err := w.provider.Delete(t.Context(), launched); err == nil || cloud.IsNodeClaimNotFound(err) || !strings.Contains(err.Error(), "AKS_MACHINES_POOL_NAME") {
		t.Errorf("the error is %v", err)
	}
}

// TestClassesThatChangedKeepTheirAKSMachine launches a NodeClaim again after its size is no longer offered.
func TestClassesThatChangedKeepTheirAKSMachine(t *testing.T) {
	t.Attr("covers", "Z223")
	w := newWorldIn(t, settings.ModeAKSMachine, unchanged)
	claim := w.claim("general-a")
	w.created(claim)
	w.settled()
	w.end()
	w.edit("general-a", func(p map[string]any) { p["hardware"] = map[string]any{"vmSize": "Standard_Gone"} })
	w.restart()
	again := w.created(claim)
	if again.Labels[corev1.LabelInstanceTypeStable] != "Standard_Gone" || len(again.Status.Capacity) > 0 || again.Annotations[annotation] == "" || w.count(putMachine) != 1 {
		t.Errorf("the claim is %+v", again)
	}
	w.settled()
}

// TestTheAgentPoolHasToExist checks what the start says.
func TestTheAgentPoolHasToExist(t *testing.T) {
	for name, test := range map[string]struct {
		mode  settings.ProvisionMode
		fault func(*world)
		group string
		want  string
	}{
		"exists":            {settings.ModeAKSMachine, func(*world) {}, azuretest.ClusterResourceGroup, ""},
		"does not exist":    {settings.ModeAKSMachineBatch, func(w *world) { w.account.Remove(azuretest.PoolID(agentPool)) }, azuretest.ClusterResourceGroup, "has to exist"},
		"not needed":        {settings.ModeScriptless, func(w *world) { w.account.Remove(azuretest.PoolID(agentPool)) }, azuretest.ClusterResourceGroup, ""},
		"no resource group": {settings.ModeAKSMachine, func(*world) {}, "", "ARM_RESOURCE_GROUP"},
		"group not needed":  {settings.ModeScriptless, func(*world) {}, "", ""},
		"other mode": {settings.ModeAKSMachine, func(w *world) {
			w.account.Put(azuretest.PoolID(agentPool), map[string]any{"properties": map[string]any{"mode": "User"}})
		}, azuretest.ClusterResourceGroup, `mode "User"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mode = test.mode
			test.fault(w)
			w.metrics = prometheus.NewRegistry()
			if _, err := w.assemble(test.group); (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}
