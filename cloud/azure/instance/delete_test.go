package instance_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
)

func TestDelete(t *testing.T) {
	t.Attr("covers", "Z113 Z218")
	simulate(t, func(t *testing.T, a *azure, c *instance.Client) {
		if err := c.Delete(t.Context(), name); err != nil {
			t.Errorf("Delete() of a virtual machine that is gone = %v", err)
		}
		a.vms[name] = armcompute.VirtualMachine{}
		if err := c.Delete(t.Context(), name); err != nil || len(a.vms) > 0 || !a.forced {
			t.Errorf("Delete() = %v, left %d, forced %v", err, len(a.vms), a.forced)
		}
		if diff := cmp.Diff([]string{"delete vm", "delete vm"}, a.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

func TestDeleteNIC(t *testing.T) {
	simulate(t, func(t *testing.T, a *azure, c *instance.Client) {
		if err := c.DeleteNIC(t.Context(), name); err != nil {
			t.Errorf("DeleteNIC() of one that is gone = %v", err)
		}
		a.nics[name], a.nicDeletion = armnetwork.Interface{}, &failure{409, "NicReservedForAnotherVm"}
		if err := c.DeleteNIC(t.Context(), name); err == nil {
			t.Error("DeleteNIC() of a reserved one succeeds")
		}
		a.nicDeletion = nil
		if err := c.DeleteNIC(t.Context(), name); err != nil || len(a.nics) > 0 {
			t.Errorf("DeleteNIC() = %v, left %d", err, len(a.nics))
		}
	})
}
