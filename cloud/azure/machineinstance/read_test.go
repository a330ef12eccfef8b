package machineinstance_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineinstance"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/test/poll"
)

// names are the names of the virtual machines of instances.
func names(list []*instance.Instance) string {
	var out []string
	for _, i := range list {
		out = append(out, i.Name)
	}
	return strings.Join(out, " ")
}

func TestGet(t *testing.T) {
	t.Attr("covers", "Z157")
	w := newWorld(t, options{})
	launched := w.create("general-a").Instance
	i, err := w.Get(t.Context(), launched.Name)
	must(t, err)
	equal(t, launched, i)
	w.change("spot", func(p map[string]any) {
		p["priority"], p["provisioningState"], p["status"].(map[string]any)["driftAction"] = "Spot", "Deleting", "Recreate"
	})
	if i, err := w.Get(t.Context(), vmOf("spot")); err != nil || i.CapacityType != "spot" || !i.Deleting || i.DriftAction != "Recreate" {
		t.Errorf("got %+v, %v", i, err)
	}
	for what, vm := range map[string]string{
		"unknown": vmOf("general-b"), "an earlier one": vmOf("general-a"), "of another agent pool": "aks-other-general-a-12345678-vm", "of the provider": "aks-general-a",
	} {
		if _, err := w.Get(t.Context(), vm); !cloud.IsNodeClaimNotFound(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	w.account.Fail(get, http.StatusForbidden, "AuthorizationFailed", "", 1)
	if _, err := w.Get(t.Context(), launched.Name); err == nil || cloud.IsNodeClaimNotFound(err) {
		t.Errorf("without permission: %v", err)
	}
	w.account.Remove(azuretest.PoolID(pool))
	w.account.Remove(machineID("general-a"))
	if _, err := w.Get(t.Context(), launched.Name); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("without the agent pool: %v", err)
	}
}

func TestList(t *testing.T) {
	t.Attr("covers", "Z157")
	w := newWorld(t, options{})
	first, second := w.create("general-a").Instance, w.create("general-b").Instance
	w.change("of-a-user", func(p map[string]any) { delete(p, "tags") })
	w.change("elsewhere", func(p map[string]any) { p["tags"].(map[string]any)["karpenter.azure.com_cluster"] = "other" })
	found, complete, err := w.List(t.Context())
	if got := names(found); err != nil || !complete || got != first.Name+" "+second.Name {
		t.Errorf("listed %s, complete %v, %v", got, complete, err)
	}
	equal(t, first, found[0])

	w.clock.Step(time.Minute)
	w.account.Fail(list, http.StatusForbidden, "AuthorizationFailed", "", 1)
	if found, _, err := w.List(t.Context()); err == nil {
		t.Errorf("listed %s in spite of an error", names(found))
	}
	w.account.Remove(azuretest.PoolID(pool))
	if found, complete, err := w.List(t.Context()); err != nil || !complete || len(found) > 0 {
		t.Errorf("without the agent pool: %s, %v", names(found), err)
	}
}

// TestWhatCannotBeReadIsListed checks that one bad AKSMachine does not hide the others, and is not taken for missing.
func TestWhatCannotBeReadIsListed(t *testing.T) {
	t.Attr("covers", "Z222")
	w := newWorld(t, options{})
	good := w.create("general-a").Instance
	w.change("bad", func(p map[string]any) { delete(p, "resourceId") })
	found, complete, err := w.List(t.Context())
	if err != nil || !complete || len(found) != 2 || names(found) != " "+good.Name {
		t.Fatalf("listed %s, complete %v, %v", names(found), complete, err)
	}
	if bad := found[0]; bad.ID != "" || bad.Tags["karpenter.azure.com_aksmachine_nodeclaim"] != "bad" || !bad.Created.Equal(w.clock.Now()) {
		t.Errorf("listed %+v", bad)
	}
	w.account.Put(machineID("worse"), map[string]any{"zones": 1})
	w.clock.Step(time.Minute)
	if found, complete, err := w.List(t.Context()); err != nil || complete || len(found) != 2 {
		t.Errorf("listed %s, complete %v, %v", names(found), complete, err)
	}
	if _, err := w.Get(t.Context(), vmOf("worse")); err == nil || cloud.IsNodeClaimNotFound(err) {
		t.Errorf("the error is %v", err)
	}
}

// TestReadsAreCached checks that a list serves for thirty seconds, and reads of single AKSMachines too.
func TestReadsAreCached(t *testing.T) {
	t.Attr("covers", "Z159")
	w := newWorld(t, options{})
	i := w.create("general-a").Instance
	w.account.Forget()
	read := func() {
		t.Helper()
		_, err := w.Get(t.Context(), i.Name)
		must(t, err)
	}
	read()
	read() // there is no list yet, and none is read in the background
	if w.count(get) != 2 || w.count(list) != 0 {
		t.Errorf("%d reads and %d lists", w.count(get), w.count(list))
	}
	for range 2 {
		if _, _, err := w.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		read()
		w.clock.Step(29 * time.Second)
	}
	if w.count(get) != 2 || w.count(list) != 1 {
		t.Errorf("%d reads and %d lists", w.count(get), w.count(list))
	}
	w.change("general-b", func(map[string]any) {})
	if _, err := w.Get(t.Context(), vmOf("general-b")); err != nil || w.count(get) != 3 { // what a list lacks may be new
		t.Errorf("%d reads, %v", w.count(get), err)
	}
	if found, _, err := w.List(t.Context()); err != nil || len(found) != 2 { // 58 seconds old
		t.Errorf("listed %s, %v", names(found), err)
	}
}

// TestListsAreReadInTheBackground checks that a read of what is too old causes one list.
func TestListsAreReadInTheBackground(t *testing.T) {
	t.Attr("covers", "Z159")
	w := newWorld(t, options{})
	i := w.create("general-a").Instance
	w.account.Forget()
	for range 10 {
		_, err := w.Get(t.Context(), i.Name)
		must(t, err)
	}
	if w.count(list) > 0 {
		t.Error("a read waits for a list")
	}
	run(t, w.Start)
	poll.Until(t, "a list is read", func() bool { return w.count(list) > 0 })
	// A list serves the next one, which would otherwise be a second request.
	if _, _, err := w.List(t.Context()); err != nil || w.count(list) != 1 {
		t.Errorf("%d lists, %v", w.count(list), err)
	}
}

// TestAListDoesNotUndoWhatChangesMeanwhile changes AKSMachines while a list is read.
func TestAListDoesNotUndoWhatChangesMeanwhile(t *testing.T) {
	t.Attr("covers", "Z159")
	w := newWorld(t, options{})
	old, kept := w.create("old").Instance, w.create("kept").Instance
	slow := &slowList{API: w.api, read: make(chan struct{}), answer: make(chan struct{})}
	w.Client = machineinstance.New(machineinstance.Options{API: slow, Cluster: "test", Pool: pool, Location: "eastus", Clock: w.clock})
	done := make(chan error, 1)
	go func() { _, _, err := w.List(t.Context()); done <- err }()
	<-slow.read
	launch, err := w.Create(t.Context(), request("new"))
	must(t, err)
	must(t, w.Delete(t.Context(), old.Name))
	close(slow.answer)
	must(t, <-done)
	found, _, err := w.List(t.Context())
	if got := names(found); err != nil || got != kept.Name+" "+launch.Instance.Name {
		t.Errorf("listed %s, %v", got, err)
	}
}

// slowList delays the answer to lists.
type slowList struct {
	machineinstance.API
	read, answer chan struct{}
}

func (s *slowList) List(ctx context.Context) ([]*machineapi.AKSMachine, error) {
	out, err := s.API.List(ctx)
	close(s.read)
	<-s.answer
	return out, err
}

// TestAnAnswerDoesNotUndoWhatChangesMeanwhile deletes an AKSMachine while it is read.
func TestAnAnswerDoesNotUndoWhatChangesMeanwhile(t *testing.T) {
	t.Attr("covers", "Z159")
	w := newWorld(t, options{})
	slow := &slowGet{API: w.api, read: make(chan struct{}), answer: make(chan struct{})}
	w.Client = machineinstance.New(machineinstance.Options{API: slow, Cluster: "test", Pool: pool, Location: "eastus", Clock: w.clock})
	if _, _, err := w.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.change("general-a", func(map[string]any) {})
	done := make(chan error, 1)
	go func() { _, err := w.Get(t.Context(), vmOf("general-a")); done <- err }()
	<-slow.read
	must(t, w.Delete(t.Context(), vmOf("general-a")))
	close(slow.answer)
	must(t, <-done)
	if _, err := w.Get(t.Context(), vmOf("general-a")); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("the error is %v", err)
	}
}

// slowGet delays the answer to the first read.
type slowGet struct {
	machineinstance.API
	later        atomic.Bool
	read, answer chan struct{}
}

func (s *slowGet) Get(ctx context.Context, name string) (*machineapi.AKSMachine, error) {
	out, err := s.API.Get(ctx, name)
	if !s.later.Swap(true) {
		close(s.read)
		<-s.answer
	}
	return out, err
}

// TestWhatDisappearsEndsTheWait removes an AKSMachine while a launch waits for it.
func TestWhatDisappearsEndsTheWait(t *testing.T) {
	t.Attr("covers", "Z159")
	w := newWorld(t, options{})
	run(t, w.Start)
	w.change("general-a", func(p map[string]any) { p["provisioningState"] = "Creating" })
	launch, err := w.Create(t.Context(), request("general-a"))
	must(t, err)
	began := w.clock.Now()
	go func() {
		<-w.clock.After(time.Minute)
		w.account.Remove(machineID("general-a"))
	}()
	if err = w.wait(launch); err == nil || !strings.Contains(err.Error(), "it is gone") || w.clock.Since(began) > 10*time.Minute {
		t.Errorf("after %s: %v", w.clock.Since(began), err)
	}
}

// TestWaitingUsesTheCache checks how the state of many AKSMachines is followed.
func TestWaitingUsesTheCache(t *testing.T) {
	t.Attr("covers", "Z159")
	w := newWorld(t, options{batch: true, takes: 2 * time.Minute})
	run(t, w.Start)
	launch, err := w.Create(t.Context(), request("general-a"))
	must(t, err)
	w.account.Forget()
	must(t, w.wait(launch))
	if w.count(list) == 0 || w.count(get) > 12 {
		t.Errorf("%d reads and %d lists", w.count(get), w.count(list))
	}
}

// TestWaitingEnds checks what ends the wait for a state, and what does not.
func TestWaitingEnds(t *testing.T) {
	t.Attr("covers", "Z159")
	for _, test := range []struct {
		state, because string
		background     bool
	}{
		{"Deleting", "is being deleted", true},
		{"Failed", "does not say why", true},
		{"Creating", "not created after 15m0s", true},
		{"", "not created after 15m0s", true},
		{"Upgrading", "not created after 15m0s", false},
		{"gone", "it is gone", true},
	} {
		t.Run(test.state, func(t *testing.T) {
			w := newWorld(t, options{})
			if test.background {
				run(t, w.Start)
			}
			w.change("general-a", func(p map[string]any) { p["provisioningState"] = "Creating" })
			launch, err := w.Create(t.Context(), request("general-a"))
			must(t, err)
			began := w.clock.Now()
			w.change("general-a", func(p map[string]any) { p["provisioningState"] = test.state })
			if test.state == "gone" {
				w.account.Remove(machineID("general-a"))
			}
			err = w.wait(launch)
			if got := failure(t, err); got.Phase != instance.PhaseAsync || !strings.Contains(err.Error(), test.because) {
				t.Errorf("the error is %v", err)
			}
			if took := w.clock.Since(began); strings.HasPrefix(test.because, "not created") != (took >= 15*time.Minute) {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestWaitingSurvivesFailures checks that an AKSMachine is followed while lists, or single reads, fail.
func TestWaitingSurvivesFailures(t *testing.T) {
	t.Attr("covers", "Z159")
	for name, test := range map[string]struct {
		operation string
		then      func(*world)
	}{
		"lists": {list, func(w *world) { w.change("general-a", func(map[string]any) {}) }},
		"reads": {get, func(w *world) { w.change("general-a", func(map[string]any) {}) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			run(t, w.Start)
			w.change("general-a", func(p map[string]any) { p["provisioningState"] = "Creating" })
			launch, err := w.Create(t.Context(), request("general-a"))
			must(t, err)
			w.account.Fail(test.operation, http.StatusServiceUnavailable, "ServiceUnavailable", "", -1)
			done := make(chan error, 1)
			go func() { done <- launch.Wait(t.Context()) }()
			go func() {
				<-w.clock.After(40 * time.Second)
				test.then(w)
			}()
			must(t, w.passing(func() error { return <-done }))
		})
	}
}

// TestWithoutManagement checks a client of a controller that leaves AKSMachines alone.
func TestWithoutManagement(t *testing.T) {
	t.Attr("covers", "Z158")
	w := newWorld(t, options{})
	w.Client = machineinstance.New(machineinstance.Options{API: machineapi.None{}, Cluster: "test", Pool: pool, Location: "eastus", Clock: w.clock})
	if found, complete, err := w.List(t.Context()); err != nil || !complete || len(found) > 0 {
		t.Errorf("listed %s, %v", names(found), err)
	}
	_, get := w.Get(t.Context(), vmOf("general-a"))
	for _, err := range []error{get, w.Delete(t.Context(), vmOf("general-a")), w.Update(t.Context(), vmOf("general-a"), resourcetags.InPlace{Tags: nil})} {
		if !cloud.IsNodeClaimNotFound(err) {
			t.Errorf("the error is %v", err)
		}
	}
	if _, err := w.Create(t.Context(), request("general-a")); failure(t, err).Phase != instance.PhaseSync {
		t.Errorf("the error is %v", err)
	}
	w.Pool = ""
	if _, err := w.Get(t.Context(), vmOf("general-a")); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("without the name of an agent pool: %v", err)
	}
	if calls := w.account.Calls(""); len(calls) > 0 {
		t.Errorf("requests %v", calls)
	}
}
