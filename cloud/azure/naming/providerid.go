package naming

import (
	"fmt"
	"strings"
)

// scheme begins the provider IDs of nodes on Azure.
const scheme = "azure://"

// VMID is the ARM id of a virtual machine, in parts.
type VMID struct {
	Subscription, ResourceGroup, Name string
}

// ParseVMID parses the ARM id of a virtual machine. Azure does not distinguish upper and lower case in its keywords.
func ParseVMID(id string) (VMID, error) {
	parts := strings.Split(id, "/")
	keywords := []string{"", "subscriptions", "", "resourceGroups", "", "providers", "Microsoft.Compute", "virtualMachines", ""}
	if len(parts) != len(keywords) {
		return VMID{}, fmt.Errorf("parsing the id %q of a virtual machine: want %d segments, have %d", id, len(keywords)-1, len(parts)-1)
	}
	for i, keyword := range keywords {
		isName := i == 2 || i == 4 || i == 8
		switch {
		case isName && parts[i] == "":
			return VMID{}, fmt.Errorf("parsing the id %q of a virtual machine: segment %d is empty", id, i)
		case !isName && !strings.EqualFold(parts[i], keyword):
			return VMID{}, fmt.Errorf("parsing the id %q of a virtual machine: segment %d is %q, want %q", id, i, parts[i], keyword)
		}
	}
	return VMID{Subscription: parts[2], ResourceGroup: parts[4], Name: parts[8]}, nil
}

// ParseProviderID parses the provider ID of a node.
func ParseProviderID(providerID string) (VMID, error) {
	id, ok := strings.CutPrefix(providerID, scheme)
	if !ok {
		return VMID{}, fmt.Errorf("parsing the provider id %q: want one that begins with %s", providerID, scheme)
	}
	return ParseVMID(id)
}

// ProviderID returns the provider ID of the node on a virtual machine. The name of the resource group is in lower case, because Azure
// reports it in different cases, and the cloud controller manager of Azure writes it like this.
func (v VMID) ProviderID() string {
	return scheme + "/subscriptions/" + v.Subscription + "/resourceGroups/" + strings.ToLower(v.ResourceGroup) + "/providers/Microsoft.Compute/virtualMachines/" + v.Name
}

// SameID reports whether two ARM ids or provider IDs name the same resource: Azure does not distinguish upper and lower case.
func SameID(a, b string) bool { return strings.EqualFold(a, b) }
