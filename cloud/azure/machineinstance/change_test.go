package machineinstance_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/test/poll"
)

func TestDelete(t *testing.T) {
	w := newWorld(t, options{takes: 20 * time.Second})
	launch, err := w.Create(t.Context(), request("general-a"))
	must(t, err)
	must(t, w.wait(launch))
	i := launch.Instance
	if _, _, err := w.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), vmOf("general-a")); !cloud.IsNodeClaimNotFound(err) || w.count(remove) > 0 {
		t.Errorf("deleting an earlier one: %v", err)
	}
	first := make(chan error, 1)
	go func() { first <- w.Delete(t.Context(), i.Name) }()
	poll.Until(t, "something is deleted", func() bool { return w.count(remove) > 0 })
	w.account.Forget()
	must(t, w.Delete(t.Context(), i.Name))
	if len(w.account.Calls(get)) > 0 {
		t.Error("what this process deletes is deleted again")
	}
	must(t, w.passing(func() error { return <-first }))
	if w.account.Exists(machineID("general-a")) || w.account.Exists(i.ID) {
		t.Error("something is left over")
	}
	if err := w.Delete(t.Context(), i.Name); !cloud.IsNodeClaimNotFound(err) || w.count(remove) > 0 {
		t.Errorf("deleted again: %v", err)
	}
	if _, err := w.Get(t.Context(), i.Name); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("the list still has it: %v", err)
	}
	w.change("going", func(p map[string]any) { p["provisioningState"] = "Deleting" })
	if err := w.Delete(t.Context(), vmOf("going")); err != nil || w.count(remove) > 0 {
		t.Errorf("what Azure deletes is deleted again: %v", err)
	}
}

func TestDeletionsFail(t *testing.T) {
	t.Attr("covers", "Z157")
	w := newWorld(t, options{})
	i := w.create("general-a").Instance
	w.account.Fail(remove, http.StatusConflict, "OperationNotAllowed", "Another operation is in progress", 1)
	if err := w.Delete(t.Context(), i.Name); err == nil || cloud.IsNodeClaimNotFound(err) {
		t.Errorf("the error is %v", err)
	}
	w.account.Fail(remove, http.StatusBadRequest, "InvalidParameter", "Cannot find any valid ones", 1) // it went meanwhile
	must(t, w.Delete(t.Context(), i.Name))
	must(t, w.Delete(t.Context(), i.Name))
	if w.account.Exists(i.ID) || w.count(remove) != 3 {
		t.Errorf("%d requests", w.count(remove))
	}
}

func TestCleanupSparesOthers(t *testing.T) {
	w := newWorld(t, options{})
	w.create("general-a")
	must(t, w.Cleanup(t.Context(), "general-a", "general-b"))
	w.change("going", func(p map[string]any) { p["provisioningState"] = "Deleting" })
	must(t, w.Cleanup(t.Context(), "going", "going"))
	if w.count(remove) > 0 {
		t.Error("something was deleted")
	}
	w.account.Fail(get, http.StatusForbidden, "AuthorizationFailed", "", 1)
	if err := w.Cleanup(t.Context(), "general-a", "general-a"); err == nil {
		t.Error("no error")
	}
}

func TestUpdate(t *testing.T) {
	t.Attr("covers", "Z144 Z226")
	w := newWorld(t, options{})
	i := w.create("general-a").Instance
	must(t, w.Update(t.Context(), i.Name, resourcetags.InPlace{Tags: i.Tags}))
	if w.count(put) != 1 {
		t.Error("tags are written that are there")
	}
	if _, _, err := w.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	changed := map[string]string{"karpenter.sh_nodepool": "general", "team": "b"}
	w.account.Fail(put, http.StatusPreconditionFailed, "PreconditionFailed", "", 2)
	must(t, w.Update(t.Context(), i.Name, resourcetags.InPlace{Tags: changed}))
	now, err := w.Get(t.Context(), i.Name)
	must(t, err)
	equal(t, changed, now.Tags)
	for _, call := range w.account.Calls(put)[1:] {
		if call.Header.Get("If-Match") == "" {
			t.Error("an update without If-Match")
		}
	}
	w.account.Forget()
	w.account.Fail(put, http.StatusPreconditionFailed, "PreconditionFailed", "", -1)
	var response *azcore.ResponseError
	if err := w.Update(t.Context(), i.Name, resourcetags.InPlace{Tags: nil}); !errors.As(err, &response) || response.StatusCode != http.StatusPreconditionFailed || w.count(put) != 3 {
		t.Errorf("%d requests, %v", w.count(put), err)
	}
	w.account.Recover(put)
	w.account.Fail(put, http.StatusForbidden, "AuthorizationFailed", "", 1)
	if err := w.Update(t.Context(), i.Name, resourcetags.InPlace{Tags: nil}); err == nil || w.count(put) != 4 {
		t.Errorf("%d requests, %v", w.count(put), err)
	}
	for what, vm := range map[string]string{"unknown": vmOf("general-b"), "an earlier one": vmOf("general-a")} {
		if err := w.Update(t.Context(), vm, resourcetags.InPlace{Tags: nil}); !cloud.IsNodeClaimNotFound(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestUpdateOfAnAKSMachineOfOthers: with the tags of the cluster, it would be deleted as one of the cluster.
func TestUpdateOfAnAKSMachineOfOthers(t *testing.T) {
	w := newWorld(t, options{})
	w.change("of-a-user", func(p map[string]any) { delete(p, "tags") })
	before := w.count(put)
	err := w.Update(t.Context(), vmOf("of-a-user"), resourcetags.InPlace{Tags: map[string]string{"karpenter.azure.com_cluster": "test"}})
	if err == nil || cloud.IsNodeClaimNotFound(err) || w.count(put) != before {
		t.Errorf("%d requests, %v", w.count(put)-before, err)
	}
}
