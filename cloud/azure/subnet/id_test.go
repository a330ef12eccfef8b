package subnet_test

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
)

const managed = "/subscriptions/sub/resourceGroups/MC_group/providers/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet"

func parse(t *testing.T, text string) subnet.ID {
	t.Helper()
	id, err := subnet.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestIDs(t *testing.T) {
	id := parse(t, managed)
	if id != (subnet.ID{Subscription: "sub", ResourceGroup: "MC_group", VirtualNetwork: "aks-vnet-12345678", Name: "aks-subnet"}) || id.String() != managed {
		t.Errorf("the id is %+v", id)
	}
	upper := parse(t, strings.ToUpper(managed))
	if !upper.Equal(id) || !upper.SameNetwork(id) {
		t.Error("upper and lower case make a difference")
	}
	other := parse(t, strings.Replace(managed, "aks-subnet", "mine", 1))
	if other.Equal(id) || !other.SameNetwork(id) {
		t.Errorf("%s is the same subnet, or in another network", other)
	}
	for _, text := range []string{
		"", "mine", managed + "/", strings.Replace(managed, "/sub/", "//", 1), strings.Replace(managed, "Microsoft.Network", "Microsoft.Compute", 1),
		strings.Replace(managed, "/subnets/", "/subnet/", 1), strings.TrimSuffix(managed, "/subnets/aks-subnet"),
	} {
		if id, err := subnet.Parse(text); err == nil {
			t.Errorf("%q is parsed as %+v", text, id)
		}
	}
}

func TestManagedSubnets(t *testing.T) {
	for _, c := range []struct {
		id                string
		network, isSubnet bool
	}{
		{managed, true, true},
		{strings.ToUpper(managed), true, true},
		{strings.Replace(managed, "aks-subnet", "mine", 1), true, false},
		{strings.Replace(managed, "12345678", "123456789", 1), false, false},
		{strings.Replace(managed, "12345678", "1234567", 1), false, false},
		{strings.Replace(managed, "aks-vnet", "my-aks-vnet", 1), false, false},
		{strings.Replace(managed, "MC_group", "other", 1), false, false},
	} {
		id := parse(t, c.id)
		if id.InManagedNetwork("mc_Group") != c.network || id.Managed("mc_Group") != c.isSubnet {
			t.Errorf("%s: network %v, subnet %v", c.id, id.InManagedNetwork("mc_Group"), id.Managed("mc_Group"))
		}
	}
}
