package machineinstance_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/machinebatch"
)

// eachWay runs a test with requests for single AKSMachines and with batches.
func eachWay(t *testing.T, o options, test func(*testing.T, *world)) {
	t.Helper()
	for name, batch := range map[string]bool{"single": false, "batch": true} {
		t.Run(name, func(t *testing.T) {
			o.batch = batch
			w := newWorld(t, o)
			run(t, w.Start)
			test(t, w)
		})
	}
}

// failure is the LaunchError of an error, which must be one.
func failure(t *testing.T, err error) *instance.LaunchError {
	t.Helper()
	var out *instance.LaunchError
	if !errors.As(err, &out) {
		t.Fatalf("the error is %v", err)
	}
	return out
}

func TestLaunch(t *testing.T) {
	eachWay(t, options{takes: 20 * time.Second}, func(t *testing.T, w *world) {
		launch, err := w.Create(t.Context(), request("general-a"))
		must(t, err)
		i := launch.Instance
		if launch.Existing || !strings.HasPrefix(i.Name, "aks-nodes-general-a-") {
			t.Errorf("launched %+v", i)
		}
		equal(t, &instance.Instance{
			ID: azuretest.ID("Microsoft.Compute/virtualMachines", i.Name), Name: i.Name, Size: size, Zone: "eastus-1", CapacityType: v1.CapacityTypeOnDemand,
			ImageID: "AKSUbuntu-2404gen2containerd-202606.10.0", Tags: request("general-a").Body.Properties.Tags, Created: w.clock.Now(), AKSMachineID: machineID("general-a"),
		}, i)
		if w.account.Exists(i.ID) {
			t.Error("the virtual machine exists before AKS has created it")
		}
		must(t, w.wait(launch))
		if !w.account.Exists(i.ID) || w.count(remove) > 0 {
			t.Error("the virtual machine does not exist")
		}
		if batch := w.account.Calls(put)[0].Header.Get("BatchPutMachine"); (batch != "") != (w.Batcher != nil) || w.count(put) != 1 {
			t.Errorf("%d requests, batch %s", w.count(put), batch)
		}
	})
}

// TestAnExistingAKSMachineIsUsed checks that nothing is requested for a NodeClaim twice.
func TestAnExistingAKSMachineIsUsed(t *testing.T) {
	t.Attr("covers", "Z154")
	eachWay(t, options{takes: 20 * time.Second}, func(t *testing.T, w *world) {
		first, err := w.Create(t.Context(), request("general-a"))
		must(t, err)
		again := request("general-a")
		again.Body.Properties.Hardware.VMSize, again.Attempt.InstanceType.Name, again.Body.Zones = "Standard_D2s_v3", "Standard_D2s_v3", []string{"2"}
		second, err := w.Create(t.Context(), again)
		must(t, err)
		equal(t, first.Instance, second.Instance)
		if !second.Existing || w.count(put) != 1 || w.count(remove) > 0 {
			t.Errorf("existing %v, %d requests, %d deletions", second.Existing, w.count(put), w.count(remove))
		}
		if w.account.Exists(second.Instance.ID) { // Appendix A 23: it is not created yet
			t.Error("the virtual machine exists already")
		}
		must(t, w.wait(second))
		if !w.account.Exists(second.Instance.ID) {
			t.Error("waiting ended before the virtual machine existed")
		}
	})
}

// TestAnotherNodeClaimKeepsItsAKSMachine checks that names that collide are an error, and that what exists stays.
func TestAnotherNodeClaimKeepsItsAKSMachine(t *testing.T) {
	t.Attr("covers", "Z154 Z155")
	eachWay(t, options{}, func(t *testing.T, w *world) {
		w.create("general-a")
		other := request("general-a")
		other.NodeClaim = "other"
		_, err := w.Create(t.Context(), other)
		if got := failure(t, err); got.Phase != instance.PhasePrepare || !strings.Contains(err.Error(), `for nodeclaim "general-a"`) {
			t.Errorf("the error is %v", err)
		}
		w.change("bare", func(p map[string]any) { delete(p, "tags") })
		if _, err = w.Create(t.Context(), request("bare")); failure(t, err).Phase != instance.PhasePrepare {
			t.Errorf("the error is %v", err)
		}
		if w.count(remove) > 0 || !w.account.Exists(machineID("general-a")) || !w.account.Exists(machineID("bare")) || w.count(put) != 1 {
			t.Error("something was deleted or requested")
		}
	})
}

// TestConflicts checks what follows if an AKSMachine turns out to exist when it is requested.
func TestConflicts(t *testing.T) {
	t.Attr("covers", "Z155")
	eachWay(t, options{}, func(t *testing.T, w *world) {
		for name, owner := range map[string]string{"own": "own", "foreign": "other"} {
			w.change(name, func(p map[string]any) {
				p["tags"].(map[string]any)["karpenter.azure.com_aksmachine_nodeclaim"] = owner
			})
			w.account.Fail(get, http.StatusNotFound, "NotFound", "", 1) // it is not visible yet
			launch, err := w.Create(t.Context(), request(name))
			if name == "own" {
				must(t, err)
				if !launch.Existing || launch.Instance.Name != vmOf("own") {
					t.Errorf("launched %+v", launch.Instance)
				}
				continue
			}
			if failure(t, err).Phase != instance.PhasePrepare || !w.account.Exists(machineID(name)) {
				t.Errorf("the error is %v", err)
			}
		}
		w.account.Fail(put, http.StatusConflict, "Conflict", "Another operation is in progress", 1)
		_, err := w.Create(t.Context(), request("new"))
		if got := failure(t, err); got.Phase != instance.PhaseSync || got.Code != "Conflict" || w.count(remove) > 0 {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestRefused checks errors of requests, from which only a few things follow.
func TestRefused(t *testing.T) {
	t.Attr("covers", "Z096 Z155")
	eachWay(t, options{}, func(t *testing.T, w *world) {
		for _, test := range []struct {
			code, message, reason string
			unavailable           bool
		}{
			{"VMSizeNotSupported", "", azureerrors.ReasonSKUNotAvailable, true},
			{"BadRequest", "The size is not supported for subscription 1", azureerrors.ReasonSKUNotAvailable, true},
			{"BadRequest", "something else", azureerrors.ReasonCreateInstanceFailed, false},
			{"SkuNotAvailable", "", azureerrors.ReasonCreateInstanceFailed, false},
		} {
			w.account.Fail(put, http.StatusBadRequest, test.code, test.message, 1)
			_, err := w.Create(t.Context(), request("general-a"))
			got := failure(t, err)
			if got.Phase != instance.PhaseSync || got.Code != test.code || got.Failure.Reason != test.reason || (len(got.Failure.Unavailable.Zones) == 3) != test.unavailable {
				t.Errorf("%s: %+v", test.code, got)
			}
			if create := new(cloud.CreateError); !errors.As(err, &create) {
				t.Errorf("the error is %v", err)
			}
		}
	})
}

// TestWhatFailsAtOnceIsDeleted checks that an AKSMachine that AKS says has failed right after the request is classified and deleted.
func TestWhatFailsAtOnceIsDeleted(t *testing.T) {
	t.Attr("covers", "Z155 Z156 Z225")
	for name, test := range map[string]struct {
		status map[string]any
		code   string
		zones  int
	}{
		"details":    {map[string]any{"code": "Outer", "details": []any{map[string]any{"code": "ZonalAllocationFailed", "message": "full"}, map[string]any{"code": "AllocationFailed"}}}, "ZonalAllocationFailed", 1},
		"no details": {map[string]any{"code": "OverconstrainedZonalAllocationRequest", "message": "full"}, "OverconstrainedZonalAllocationRequest", 1},
		"unknown":    {map[string]any{"code": "Other", "message": "?"}, "Other", 0},
		"nothing":    {nil, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			w.change("general-a", func(p map[string]any) {
				p["provisioningState"] = "Failed"
				p["status"].(map[string]any)["provisioningError"] = test.status
			})
			_, err := w.Create(t.Context(), request("general-a"))
			got := failure(t, err)
			if got.Code != test.code || len(got.Failure.Unavailable.Zones) != test.zones || got.Phase != instance.PhaseAsync {
				t.Errorf("the error is %+v", got)
			}
			if w.account.Exists(machineID("general-a")) || w.count(put) > 0 {
				t.Error("it was requested, or not deleted")
			}
		})
	}
}

// TestFailuresOfOtherOfferingsMarkNothing checks an AKSMachine of an earlier launch that was not what this one would have requested.
func TestFailuresOfOtherOfferingsMarkNothing(t *testing.T) {
	w := newWorld(t, options{})
	for code, spot := range map[string]bool{"ZonalAllocationFailed": false, "OperationNotAllowed": true} {
		w.change("general-a", func(p map[string]any) {
			p["provisioningState"], p["hardware"] = "Failed", map[string]any{"vmSize": "Standard_D2s_v3"}
			p["status"].(map[string]any)["provisioningError"] = map[string]any{"code": code, "message": "LowPriorityCores"}
		})
		_, err := w.Create(t.Context(), request("general-a"))
		if got := failure(t, err); len(got.Failure.Unavailable.Zones) > 0 || got.Failure.Unavailable.Spot != spot || got.Failure.Reason == azureerrors.ReasonCreateInstanceFailed {
			t.Errorf("%s: %+v", code, got.Failure)
		}
	}
}

// TestLateFailures checks the errors of operations, which the AKSMachine explains.
func TestLateFailures(t *testing.T) {
	t.Attr("covers", "Z156 Z225")
	eachWay(t, options{takes: 10 * time.Second}, func(t *testing.T, w *world) {
		w.account.RunOut(azuretest.Pool{Size: size})
		launch, err := w.Create(t.Context(), request("general-a"))
		must(t, err)
		err = w.wait(launch)
		if got := failure(t, err); got.Phase != instance.PhaseAsync || got.Code != "ZonalAllocationFailed" || got.Failure.Reason != azureerrors.ReasonZonalAllocationFailure ||
			len(got.Failure.Unavailable.CapacityTypes) != 2 {
			t.Errorf("the error is %+v", got)
		}
		if !w.account.Exists(machineID("general-a")) {
			t.Error("waiting has deleted it")
		}
		must(t, w.passing(func() error { return w.Cleanup(t.Context(), "general-a", "general-a") }))
		if w.account.Exists(machineID("general-a")) || w.account.Exists(launch.Instance.ID) {
			t.Error("something is left over")
		}
		must(t, w.passing(func() error { return w.Cleanup(t.Context(), "general-a", "general-a") }))
	})
}

// TestOperationsThatCannotBeRead checks that the AKSMachine itself counts.
func TestOperationsThatCannotBeRead(t *testing.T) {
	for _, test := range []struct {
		name, state string
		gone, fails bool
	}{{"done", "Succeeded", false, false}, {"failed", "Failed", false, true}, {"going", "Deleting", false, true}, {"other", "Stopped", false, true}, {"gone", "", true, true}} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, options{takes: time.Hour})
			launch, err := w.Create(t.Context(), request("general-a"))
			must(t, err)
			w.account.Fail("GET operations", http.StatusBadRequest, "ZonalAllocationFailed", "", -1)
			w.change("general-a", func(p map[string]any) { p["provisioningState"] = test.state })
			if test.gone {
				w.account.Remove(machineID("general-a"))
			}
			if err = launch.Wait(t.Context()); (err != nil) != test.fails || err != nil && failure(t, err).Code != "ZonalAllocationFailed" {
				t.Errorf("the error is %v", err)
			}
		})
	}
	t.Run("going on", func(t *testing.T) {
		w := newWorld(t, options{takes: 10 * time.Second})
		launch, err := w.Create(t.Context(), request("general-a"))
		must(t, err)
		w.account.Fail("GET operations", http.StatusServiceUnavailable, "ServiceUnavailable", "", -1)
		if err := w.wait(launch); err != nil || !w.account.Exists(launch.Instance.ID) {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestPreparation checks errors that come before or right after the request.
func TestPreparation(t *testing.T) {
	t.Attr("covers", "Z155")
	t.Run("unreadable", func(t *testing.T) {
		w := newWorld(t, options{})
		w.account.Fail(get, http.StatusForbidden, "AuthorizationFailed", "", 1)
		_, err := w.Create(t.Context(), request("general-a"))
		if got := failure(t, err); got.Phase != instance.PhasePrepare || got.Code != "AuthorizationFailed" || w.count(put) > 0 {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("unreadable after the request", func(t *testing.T) {
		w := newWorld(t, options{})
		w.account.Fail(get, http.StatusNotFound, "NotFound", "", 2)
		_, err := w.Create(t.Context(), request("general-a"))
		if failure(t, err).Phase != instance.PhaseAsync || w.account.Exists(machineID("general-a")) || w.count(put) != 1 {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("on its way out", func(t *testing.T) {
		w := newWorld(t, options{})
		w.change("general-a", func(p map[string]any) { p["provisioningState"] = "Deleting" })
		_, err := w.Create(t.Context(), request("general-a"))
		if failure(t, err).Phase != instance.PhasePrepare || w.count(put)+w.count(remove) > 0 {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("no agent pool", func(t *testing.T) {
		w := newWorld(t, options{})
		w.account.Remove(azuretest.PoolID(pool))
		_, err := w.Create(t.Context(), request("general-a"))
		if failure(t, err).Phase != instance.PhaseSync || w.count(remove) > 0 {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestWhatIsMissing checks each property that an AKSMachine must have.
func TestWhatIsMissing(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"size":     func(p map[string]any) { delete(p, "hardware") },
		"VM":       func(p map[string]any) { delete(p, "resourceId") },
		"no VM":    func(p map[string]any) { p["resourceId"] = "/subscriptions/1" },
		"image":    func(p map[string]any) { delete(p, "nodeImageVersion") },
		"creation": func(p map[string]any) { p["status"] = map[string]any{} },
		"status":   func(p map[string]any) { delete(p, "status") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			w.change("general-a", change)
			if _, err := w.Get(t.Context(), vmOf("general-a")); err == nil || cloud.IsNodeClaimNotFound(err) {
				t.Errorf("the error of Get is %v", err)
			}
			if _, err := w.Create(t.Context(), request("general-a")); failure(t, err).Phase != instance.PhasePrepare {
				t.Errorf("the error of Create is %v", err)
			}
		})
	}
}

// TestAnEndDeletesNothing checks that a launch that is canceled, or not sent because of a shutdown, is not cleaned up.
func TestAnEndDeletesNothing(t *testing.T) {
	w := newWorld(t, options{takes: time.Hour})
	launch, err := w.Create(t.Context(), request("general-a"))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := launch.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error of Wait is %v", err)
	}
	existing, err := w.Create(t.Context(), request("general-a"))
	must(t, err)
	if err := existing.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error of Wait is %v", err)
	}
	if _, err := w.Create(ctx, request("general-b")); !errors.Is(err, context.Canceled) {
		t.Errorf("the error of Create is %v", err)
	}
	w.Batcher = closed{}
	w.account.Forget()
	if _, err := w.Create(t.Context(), request("general-c")); !errors.Is(err, machinebatch.ErrShuttingDown) || w.count(get) != 1 {
		t.Errorf("%d reads, the error of Create is %v", w.count(get), err)
	}
	if w.count(remove) > 0 || !w.account.Exists(machineID("general-a")) {
		t.Error("something was deleted")
	}
}

// closed is a batcher that has ended.
type closed struct{}

// Create implements machineinstance.Batcher.
func (closed) Create(context.Context, string, *aksmachine.Body) error {
	return machinebatch.ErrShuttingDown
}
