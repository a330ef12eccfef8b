package provider_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
)

// bootsOf is how often an instance was rebooted.
func (w *world) bootsOf(id string) int {
	all := w.account.Instances()
	return all[slices.IndexFunc(all, func(i awstest.Instance) bool { return i.ID == id })].Reboots
}

func TestReboot(t *testing.T) {
	t.Attr("covers", "N303")
	w := newWorld(t, "m5.large")
	claim, other := w.create(w.claim(in("us-east-1a"))), w.create(w.claim(in("us-east-1a")))
	id, _ := instance.ParseProviderID(claim.Status.ProviderID)
	otherID, _ := instance.ParseProviderID(other.Status.ProviderID)
	if _, err := w.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.shift("use1-az1")
	err := w.Cloud().Reboot(t.Context(), claim, "1")
	if !errors.Is(err, instance.ErrShifted) || cloud.IsRebootRejected(err) || len(w.account.Calls("RebootInstances")) != 0 {
		t.Errorf("in a zone with a zonal shift: %v, %d calls", err, len(w.account.Calls("RebootInstances")))
	}
	w.shift()
	w.clock.Step(time.Minute) // it runs
	if err := w.Cloud().Reboot(t.Context(), claim, "1"); err != nil {
		t.Fatal(err)
	}
	if w.bootsOf(id) != 1 || w.bootsOf(otherID) != 0 || w.state(id) != "running" {
		t.Errorf("rebooted %d times, another one %d times; it is %s", w.bootsOf(id), w.bootsOf(otherID), w.state(id))
	}
}

func TestRebootsThatFail(t *testing.T) {
	t.Attr("covers", "N304")
	w := newWorld(t, "m5.large")
	claim := w.create(w.claim(in("us-east-1a")))
	id, _ := instance.ParseProviderID(claim.Status.ProviderID)
	for code, want := range map[string]struct{ gone, rejected bool }{
		"UnauthorizedOperation":      {rejected: true},
		"InvalidInstanceID.NotFound": {gone: true},
		"InternalError":              {},
		"IncorrectState":             {},
	} {
		w.account.Fail("RebootInstances", code, "no", -1)
		err := w.Cloud().Reboot(t.Context(), claim, "1")
		if err == nil || cloud.IsNodeClaimNotFound(err) != want.gone || cloud.IsRebootRejected(err) != want.rejected || cloud.IsRebootNotImplemented(err) {
			t.Errorf("%s: %v", code, err)
		}
		w.account.Recover("RebootInstances")
	}
	w.account.Change(id, func(i *awstest.Instance) { i.State = "shutting-down" })
	if err := w.Cloud().Reboot(t.Context(), claim, "1"); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("an instance that is being terminated: %v", err)
	}
	w.account.Vanish(id)
	if err := w.Cloud().Reboot(t.Context(), claim, "1"); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("a terminated instance: %v", err)
	}
	claim.Status.ProviderID = "kwok://node"
	if err := w.Cloud().Reboot(t.Context(), claim, "1"); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("the ID of another cloud: %v", err)
	}
	foreign := w.account.AddInstance(awstest.Instance{Type: "m5.large", Zone: "us-east-1a", Launched: w.clock.Now()}, map[string]string{awsv1.TagClusterName: "another"})
	claim.Status.ProviderID = instance.ProviderID("us-east-1a", foreign)
	if err := w.Cloud().Reboot(t.Context(), claim, "1"); !cloud.IsRebootRejected(err) || w.bootsOf(foreign) != 0 {
		t.Errorf("the instance of another cluster: %v", err)
	}
}
