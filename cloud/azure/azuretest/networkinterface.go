package azuretest

import (
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
)

const kindInterface = "Microsoft.Network/networkInterfaces"

// networkRoutes are those of network interfaces and of what they refer to.
func networkRoutes() []route {
	one, versions := inGroup(kindInterface)+"/{}", []string{versionNetwork, versionSDK}
	network := inGroup("Microsoft.Network/virtualNetworks") + "/{}"
	return []route{
		{method: http.MethodGet, pattern: one, operation: "networkInterfaces", versions: versions, serve: getResource},
		{method: http.MethodPut, pattern: one, operation: "networkInterfaces", versions: versions, serve: putInterface},
		{method: http.MethodPatch, pattern: one, operation: "networkInterfaces", versions: versions, serve: patchInterface},
		{method: http.MethodDelete, pattern: one, operation: "networkInterfaces", versions: versions, serve: deleteInterface},
		{method: http.MethodGet, pattern: network, operation: "virtualNetworks", versions: versions, serve: getResource},
		{method: http.MethodGet, pattern: network + "/subnets/{}", operation: "subnets", versions: versions, serve: getSubnet},
		{method: http.MethodGet, pattern: inGroup("Microsoft.Network/loadBalancers"), operation: "loadBalancers", versions: versions, serve: listGroup},
		{method: http.MethodGet, pattern: inGroup("Microsoft.Network/networkSecurityGroups"), operation: "networkSecurityGroups", versions: versions, serve: listGroup},
	}
}

// putInterface creates or replaces a network interface. What it refers to must exist.
func putInterface(a *Account, r *request) (*response, error) {
	var nic armnetwork.Interface
	body, err := decode(r.body, &nic)
	if err != nil {
		return nil, err
	}
	if err := a.checkLocation(body); err != nil {
		return nil, err
	}
	id := r.http.URL.Path
	found := a.get(id)
	if err := matches(r.http, found); err != nil {
		return nil, err
	}
	if err := a.checkInterface(id, body); err != nil {
		return nil, err
	}
	status := http.StatusOK
	if found == nil {
		status = http.StatusCreated
	}
	made := a.set(id, body)
	made.properties()["provisioningState"] = "Updating"
	return a.begin(r, made.answer(status), func() error {
		made.properties()["provisioningState"] = "Succeeded"
		return nil
	}), nil
}

// checkInterface checks that subnets, pools and the security group exist, and that addresses are free.
func (a *Account) checkInterface(id string, body map[string]any) error {
	configurations, _ := at(body, "properties", "ipConfigurations").([]any)
	if len(configurations) == 0 {
		return refuse(http.StatusBadRequest, "NetworkInterfaceMustHaveAtLeastOneIpConfiguration", "Network interface %s must have at least one IP configuration.", id)
	}
	addresses := map[string]int{}
	wanted := []string{textAt(body, "properties", "networkSecurityGroup", "id")}
	for _, configuration := range configurations {
		object, _ := configuration.(map[string]any)
		subnet := textAt(object, "properties", "subnet", "id")
		if subnet == "" {
			return refuse(http.StatusBadRequest, "InvalidRequestFormat", "The subnet of an IP configuration of %s is missing.", id)
		}
		wanted = append(wanted, subnet)
		addresses[strings.ToLower(subnet)]++
		pools, _ := at(object, "properties", "loadBalancerBackendAddressPools").([]any)
		for _, pool := range pools {
			reference, _ := pool.(map[string]any)
			wanted = append(wanted, textAt(reference, "id"))
		}
	}
	for _, reference := range wanted {
		if reference != "" && !a.known(reference) {
			return refuse(http.StatusBadRequest, "InvalidResourceReference",
				"Resource %s referenced by resource %s was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", reference, id)
		}
	}
	return a.checkAddresses(id, addresses)
}

// known reports whether there is a resource, or a part of a load balancer.
func (a *Account) known(id string) bool {
	if a.get(id) != nil {
		return true
	}
	parent, _, isPool := strings.Cut(id, "/backendAddressPools/")
	balancer := a.get(parent)
	if !isPool || balancer == nil {
		return false
	}
	pools, _ := at(balancer.body, "properties", "backendAddressPools").([]any)
	for _, pool := range pools {
		if object, _ := pool.(map[string]any); strings.EqualFold(textAt(object, "id"), id) {
			return true
		}
	}
	return false
}

// patchInterface replaces the tags. Unlike the update of a virtual machine it has no operation.
func patchInterface(a *Account, r *request) (*response, error) {
	var update armnetwork.TagsObject
	body, err := decode(r.body, &update)
	if err != nil {
		return nil, err
	}
	found := a.get(r.http.URL.Path)
	if found == nil {
		return nil, notFound(r.http.URL.Path)
	}
	found.body["tags"] = body["tags"]
	return a.set(found.id, found.body).answer(http.StatusOK), nil
}

// deleteInterface deletes a network interface that no virtual machine uses.
func deleteInterface(a *Account, r *request) (*response, error) {
	found := a.get(r.http.URL.Path)
	switch {
	case found == nil:
		return &response{status: http.StatusNoContent}, nil
	case found.owner != "":
		return nil, refuse(http.StatusBadRequest, "NicInUse",
			"Network Interface %s is used by existing resource %s. In order to delete the network interface, it must be dissociated from the resource.", found.id, found.owner)
	case a.clock.Now().Before(found.reservedUntil):
		return nil, reserved(found)
	}
	return a.begin(r, &response{status: http.StatusAccepted}, func() error {
		a.drop(found.id)
		return nil
	}), nil
}

// reserved is the error for a network interface that is kept for a virtual machine.
func reserved(nic *resource) error {
	return refuse(http.StatusBadRequest, "NicReservedForAnotherVm",
		"Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please provide another nic(s) or retry after 180 seconds. Reserved VM: %s", nic.reservedFor)
}

// references are the network interfaces of the body of a virtual machine.
func references(body map[string]any) []map[string]any {
	list, _ := at(body, "properties", "networkProfile", "networkInterfaces").([]any)
	var out []map[string]any
	for _, entry := range list {
		if object, isObject := entry.(map[string]any); isObject {
			out = append(out, object)
		}
	}
	return out
}

// claimable are the network interfaces of a new virtual machine; each must exist and be free.
func (a *Account) claimable(vm string, body map[string]any) ([]*resource, error) {
	var out []*resource
	for _, reference := range references(body) {
		id := textAt(reference, "id")
		nic := a.get(id)
		switch {
		case nic == nil:
			return nil, refuse(http.StatusBadRequest, "InvalidResourceReference", "Resource %s referenced by resource %s was not found.", id, vm)
		case nic.owner != "" && !strings.EqualFold(nic.owner, vm):
			return nil, refuse(http.StatusBadRequest, "NicInUse", "Network Interface %s is used by existing resource %s.", id, nic.owner)
		case a.clock.Now().Before(nic.reservedUntil) && !strings.EqualFold(nic.reservedFor, vm):
			return nil, reserved(nic)
		}
		out = append(out, nic)
	}
	if len(out) == 0 {
		return nil, refuse(http.StatusBadRequest, "InvalidParameter", "Virtual Machine must have at least one network interface.")
	}
	return out, nil
}

// reserve keeps network interfaces for a virtual machine that failed. The account is locked.
func (a *Account) reserve(vm string, interfaces []*resource) {
	if a.trouble.reservation == 0 {
		return
	}
	for _, nic := range interfaces {
		nic.reservedFor, nic.reservedUntil = vm, a.clock.Now().Add(a.trouble.reservation)
	}
}
