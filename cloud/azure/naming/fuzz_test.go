package naming_test

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
)

// FuzzNames checks that names of AKSMachines are short enough and lead back from virtual machines, and that ids that can be parsed are those of
// provider IDs.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"general-a", strings.Repeat("a", 34), strings.Repeat("a", 35), strings.Repeat("a", 40) + "-b", "a" + strings.Repeat("-", 40), "a-" + strings.Repeat("b", 40), "ä-\xff"} {
		f.Add(name, "nodes", "azure:///subscriptions/s/resourceGroups/MC_g/providers/Microsoft.Compute/virtualMachines/"+name)
	}
	f.Fuzz(func(t *testing.T, nodeClaim, pool, id string) {
		name, err := naming.AKSMachine(nodeClaim)
		switch again, _ := naming.AKSMachine(nodeClaim); {
		case err == nil && (len(name) > 34 || again != name || len(nodeClaim) <= 34 && name != nodeClaim):
			t.Errorf("%q becomes %q, and then %q", nodeClaim, name, again)
		case err != nil && len(nodeClaim) <= 34:
			t.Errorf("%q: %v", nodeClaim, err)
		case err == nil && name != "" && pool != "":
			if back, ok := naming.AKSMachineOfVM("aks-"+pool+"-"+name+"-12345678-vm", pool); !ok || back != name {
				t.Errorf("the virtual machine of %q in pool %q is that of %q", name, pool, back)
			}
		}
		if back, ok := naming.NodeClaimOfVM(naming.VM(nodeClaim)); ok != (nodeClaim != "") || ok && back != nodeClaim {
			t.Errorf("the virtual machine of %q is that of %q", nodeClaim, back)
		}
		vm, err := naming.ParseProviderID(id)
		if err != nil {
			return
		}
		if again, err := naming.ParseProviderID(vm.ProviderID()); err != nil || !naming.SameID(again.ProviderID(), vm.ProviderID()) || again.Name != vm.Name || again.Subscription != vm.Subscription {
			t.Errorf("%q becomes %+v, and then %+v, %v", id, vm, again, err)
		}
	})
}
