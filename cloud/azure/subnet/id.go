// Package subnet reads the ids of subnets, says which are in the virtual network that AKS manages, and counts free addresses.
//
// Source: Azure provider specification, subnet; subnet validation.
package subnet

import (
	"fmt"
	"regexp"
	"strings"
)

// ID is the ARM id of a subnet, in parts. Azure does not distinguish upper and lower case in them.
type ID struct {
	Subscription, ResourceGroup, VirtualNetwork, Name string
}

// Parse parses the ARM id of a subnet.
func Parse(text string) (ID, error) {
	parts := strings.Split(text, "/")
	words := []string{"", "subscriptions", "*", "resourceGroups", "*", "providers", "Microsoft.Network", "virtualNetworks", "*", "subnets", "*"}
	if len(parts) != len(words) {
		return ID{}, invalid(text)
	}
	for i, word := range words {
		if word == "*" && strings.TrimSpace(parts[i]) == "" || word != "*" && !strings.EqualFold(parts[i], word) {
			return ID{}, invalid(text)
		}
	}
	return ID{Subscription: parts[2], ResourceGroup: parts[4], VirtualNetwork: parts[8], Name: parts[10]}, nil
}

func invalid(text string) error {
	return fmt.Errorf("%q is not the id of a subnet, /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/virtualNetworks/NAME/subnets/NAME", text)
}

// VirtualNetworkID is the ARM id of the virtual network.
func (id ID) VirtualNetworkID() string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/virtualNetworks/%s", id.Subscription, id.ResourceGroup, id.VirtualNetwork)
}

// String is the ARM id.
func (id ID) String() string { return id.VirtualNetworkID() + "/subnets/" + id.Name }

// Equal reports whether two ids are those of one subnet.
func (id ID) Equal(other ID) bool { return strings.EqualFold(id.String(), other.String()) }

// SameNetwork reports whether two subnets are in one virtual network.
func (id ID) SameNetwork(other ID) bool {
	return strings.EqualFold(id.VirtualNetworkID(), other.VirtualNetworkID())
}

// InManagedNetwork reports whether the virtual network is one that AKS has created in the resource group of nodes.
func (id ID) InManagedNetwork(nodeResourceGroup string) bool {
	return regexp.MustCompile(`^(?i)aks-vnet-\d{8}$`).MatchString(id.VirtualNetwork) && strings.EqualFold(id.ResourceGroup, nodeResourceGroup)
}

// Managed reports whether AKS has created the subnet, with a network security group.
func (id ID) Managed(nodeResourceGroup string) bool {
	return id.InManagedNetwork(nodeResourceGroup) && strings.EqualFold(id.Name, "aks-subnet")
}
