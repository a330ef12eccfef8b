package kwok

import (
	"testing"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

func TestReboot(t *testing.T) {
	t.Attr("covers", "N070")
	w := newWorld(t, Options{})
	claim := w.running()
	if err := w.cloud.Reboot(t.Context(), claim, "op-1"); err == nil || cloud.IsRebootRejected(err) || cloud.IsRebootNotImplemented(err) {
		t.Errorf("before the registration: %v", err)
	}
	condition.For(claim, w.clock.Now()).True(v1.ConditionTypeRegistered)
	for _, operation := range []string{"op-1", "op-1", "op-2"} {
		if err := w.cloud.Reboot(t.Context(), claim, operation); err != nil {
			t.Fatal(err)
		}
		if got := w.theNode().Status.NodeInfo.BootID; got != "kwok-"+operation {
			t.Errorf("boot ID %q after operation %s", got, operation)
		}
	}
	if err := w.cloud.Provider.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if err := w.cloud.Reboot(t.Context(), claim, "op-3"); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("without a node: %v", err)
	}
}
