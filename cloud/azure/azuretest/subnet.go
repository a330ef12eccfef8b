package azuretest

import (
	"net/http"
	"net/netip"
	"strings"
)

// reservedAddresses are those of each subnet that Azure keeps: the first four and the last.
const reservedAddresses = 5

// getSubnet serves GET of a subnet, with the configurations that have its addresses.
func getSubnet(a *Account, r *request) (*response, error) {
	found := a.get(r.http.URL.Path)
	if found == nil {
		return nil, notFound(r.http.URL.Path)
	}
	out := found.answer(http.StatusOK)
	shown, _ := copied(out.body).(map[string]any)
	if used := a.addressesIn(found.id, ""); len(used) > 0 {
		properties, _ := shown["properties"].(map[string]any)
		properties["ipConfigurations"] = used
	}
	out.body = shown
	return out, nil
}

// addressesIn are the configurations with addresses of a subnet, but for those of one resource.
func (a *Account) addressesIn(subnet, without string) []any {
	var out []any
	for id, r := range a.resources { // by their IDs in lowercase
		switch {
		case strings.EqualFold(r.id, without):
		case strings.Contains(id, "/microsoft.network/networkinterfaces/"):
			configurations, _ := at(r.body, "properties", "ipConfigurations").([]any)
			for _, configuration := range configurations {
				object, _ := configuration.(map[string]any)
				if strings.EqualFold(textAt(object, "properties", "subnet", "id"), subnet) {
					out = append(out, map[string]any{"id": r.id + "/ipConfigurations/" + textAt(object, "name")})
				}
			}
		case strings.HasPrefix(id, strings.ToLower(PoolID(""))) && strings.EqualFold(kindOf(r.id), kindMachine) && textAt(r.body, "properties", "provisioningState") == "Succeeded" && strings.EqualFold(subnetOfMachine(r.body), subnet):
			out = append(out, map[string]any{"id": textAt(r.body, "properties", "resourceId") + "/networkInterfaces/nic/ipConfigurations/ipconfig1"})
		}
	}
	return out
}

// subnetOfMachine is the ID of the subnet of an AKSMachine: in an overlay network, it takes one address there.
func subnetOfMachine(body map[string]any) string {
	if id := textAt(body, "properties", "network", "vnetSubnetID"); id != "" {
		return id
	}
	return SubnetID()
}

// lacks returns how many addresses a subnet lacks for some more, but for those that one resource has; 0 if they are free.
func (a *Account) lacks(subnet, without string, more int) int {
	found := a.get(subnet)
	if found == nil {
		return 0
	}
	prefix, err := netip.ParsePrefix(textAt(found.body, "properties", "addressPrefix"))
	if err != nil {
		return 0
	}
	free := 1<<(prefix.Addr().BitLen()-prefix.Bits()) - reservedAddresses - len(a.addressesIn(subnet, without))
	return max(more-free, 0)
}

// checkAddresses checks that subnets have addresses for the configurations of a network interface, by the ID of the subnet.
func (a *Account) checkAddresses(id string, wanted map[string]int) error {
	for subnet, more := range wanted {
		if a.lacks(subnet, id, more) > 0 {
			prefix := textAt(a.get(subnet).body, "properties", "addressPrefix")
			return refuse(http.StatusBadRequest, "SubnetIsFull", "Subnet %s with address prefix %s does not have enough capacity for %d IP addresses.", nameOf(subnet), prefix, more)
		}
	}
	return nil
}
