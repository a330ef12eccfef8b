package naming_test

import (
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
)

func TestVM(t *testing.T) {
	if got := naming.VM("general-abcde"); got != "aks-general-abcde" {
		t.Errorf("VM() = %s", got)
	}
	for vm, want := range map[string]string{"aks-general-abcde": "general-abcde", "aks-": "", "general-abcde": "", "AKS-general": ""} {
		if got, ok := naming.NodeClaimOfVM(vm); ok != (want != "") || ok && got != want {
			t.Errorf("NodeClaimOfVM(%q) = %q, %v, want %q", vm, got, ok, want)
		}
	}
}

// TestAKSMachine pins names that existing clusters have.
//
// Source: Azure provider specification, conformance vectors.
func TestAKSMachine(t *testing.T) {
	t.Attr("covers", "Z150 Z224")
	for nodeClaim, want := range map[string]string{
		"general-abcde": "general-abcde",
		"thisisaverylongnodepoolnamethatexceeds-a1b2c": "thisisaverylongnodepooap1tx8-a1b2c",
		"a-pool-with-many-dashes-in-its-name-x9z8y":    "a-pool-with-many-dashea36haz-x9z8y",
		"12345678901234567890123456789-abcde":          "1234567890123456789012zc32rh-abcde",
		strings.Repeat("a", 34):                        strings.Repeat("a", 34),
		strings.Repeat("a", 28) + "-abcde":             strings.Repeat("a", 28) + "-abcde",
	} {
		if got, err := naming.AKSMachine(nodeClaim); err != nil || got != want {
			t.Errorf("AKSMachine(%q) = %q, %v, want %q", nodeClaim, got, err, want)
		}
	}
	if got, err := naming.AKSMachine(strings.Repeat("p", 30) + "-" + strings.Repeat("s", 27)); err != nil || len(got) != 34 {
		t.Errorf("with space for nothing but the hash: %q, %v", got, err)
	}
	for nodeClaim, because := range map[string]string{
		strings.Repeat("a", 35):           "no dash",
		"pool-" + strings.Repeat("s", 30): "from the last dash on",
		strings.Repeat("p", 30) + strings.Repeat("-s", 1) + strings.Repeat("s", 27): "from the last dash on",
	} {
		if got, err := naming.AKSMachine(nodeClaim); err == nil || !strings.Contains(err.Error(), because) {
			t.Errorf("AKSMachine(%q) = %q, %v, want an error with %q", nodeClaim, got, err, because)
		}
	}
}

// TestNamesOfAKSMachinesDiffer checks that long names are shortened to 34 characters that end as before and depend on every character.
func TestNamesOfAKSMachinesDiffer(t *testing.T) {
	t.Attr("covers", "Z150")
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{30,60}`)
		a, b := name.Draw(t, "a")+"-abcde", name.Draw(t, "b")+"-abcde"
		first, err := naming.AKSMachine(a)
		if err != nil {
			t.Fatal(err)
		}
		second, err := naming.AKSMachine(b)
		if err != nil {
			t.Fatal(err)
		}
		if len(first) != 34 || !strings.HasSuffix(first, "-abcde") || (first == second) != (a == b) {
			t.Errorf("%s and %s are named %s and %s", a, b, first, second)
		}
	})
}

func TestAKSMachineOfVM(t *testing.T) {
	t.Attr("covers", "Z150")
	text, err := os.ReadFile("testdata/aksmachines.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		rows++
		got, ok := naming.AKSMachineOfVM(fields[0], fields[1])
		if ok != (fields[2] != "-") || ok && got != fields[2] {
			t.Errorf("AKSMachineOfVM(%q, %q) = %q, %v, want %s", fields[0], fields[1], got, ok, fields[2])
		}
	}
	if rows != 10 {
		t.Errorf("read %d rows", rows)
	}
	if got, ok := naming.AKSMachineOfVM("aks--general-abcde-12345678-vm", ""); ok {
		t.Errorf("without a pool: %q", got)
	}
}

func TestProviderID(t *testing.T) {
	const (
		id   = "/subscriptions/S/resourceGroups/MC_RG/providers/Microsoft.Compute/virtualMachines/aks-general-abcde"
		want = "azure:///subscriptions/S/resourceGroups/mc_rg/providers/Microsoft.Compute/virtualMachines/aks-general-abcde"
	)
	for _, text := range []string{id, strings.Replace(id, "resourceGroups", "resourcegroups", 1), strings.Replace(id, "Microsoft.Compute/virtualMachines", "microsoft.compute/virtualmachines", 1)} {
		vm, err := naming.ParseVMID(text)
		if err != nil {
			t.Fatal(err)
		}
		if vm != (naming.VMID{Subscription: "S", ResourceGroup: "MC_RG", Name: "aks-general-abcde"}) || vm.ProviderID() != want {
			t.Errorf("%s: parsed as %+v, provider id %s", text, vm, vm.ProviderID())
		}
	}
	vm, err := naming.ParseProviderID(want)
	if err != nil || vm.ProviderID() != want || vm.Name != "aks-general-abcde" {
		t.Errorf("parsed as %+v, %v", vm, err)
	}
	if !naming.SameID(want, strings.ToUpper(want)) || naming.SameID(want, want+"x") {
		t.Error("ids are compared with regard to case, or not at all")
	}
	for _, text := range []string{
		"", "aks-general-abcde", id[1:], id + "/", id + "/extensions/x", strings.Replace(id, "/S/", "//", 1), strings.Replace(id, "MC_RG", "", 1),
		strings.Replace(id, "virtualMachines", "disks", 1), strings.Replace(id, "Microsoft.Compute", "Microsoft.Network", 1), strings.TrimSuffix(id, "aks-general-abcde"),
	} {
		if vm, err := naming.ParseVMID(text); err == nil {
			t.Errorf("%q: parsed as %+v", text, vm)
		}
	}
	for _, text := range []string{"", id, "aws:///us-west-2a/i-1", "kwok://x", "azure://", "azure:///"} {
		if vm, err := naming.ParseProviderID(text); err == nil {
			t.Errorf("%q: parsed as %+v", text, vm)
		}
	}
}
