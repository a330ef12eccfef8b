package azuretest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

const (
	kindVirtualMachine = "Microsoft.Compute/virtualMachines"
	kindDisk           = "Microsoft.Compute/disks"
)

// virtualMachineRoutes are those of virtual machines and their extensions.
func virtualMachineRoutes() []route {
	one := inGroup(kindVirtualMachine) + "/{}"
	versions := []string{versionCompute}
	return []route{
		{method: http.MethodGet, pattern: one, operation: "virtualMachines", versions: versions, serve: getVirtualMachine},
		{method: http.MethodPut, pattern: one, operation: "virtualMachines", versions: versions, serve: putVirtualMachine},
		{method: http.MethodPatch, pattern: one, operation: "virtualMachines", versions: versions, serve: patchVirtualMachine},
		{method: http.MethodDelete, pattern: one, operation: "virtualMachines", versions: versions, serve: deleteVirtualMachine},
		{method: http.MethodPut, pattern: one + "/extensions/{}", operation: "extensions", versions: versions, serve: putExtension},
		{method: http.MethodPatch, pattern: one + "/extensions/{}", operation: "extensions", versions: versions, serve: patchExtension},
		{method: http.MethodGet, pattern: one + "/extensions/{}", operation: "extensions", versions: versions, serve: getResource},
	}
}

// getVirtualMachine serves GET of a virtual machine, which shows its extensions; its state in detail is shown if the request asks for it.
func getVirtualMachine(a *Account, r *request) (*response, error) {
	found := a.get(r.http.URL.Path)
	if found == nil {
		return nil, notFound(r.http.URL.Path)
	}
	answer := found.show()
	var extensions []any
	for _, e := range a.under(found.id + "/extensions") {
		extensions = append(extensions, e.show())
	}
	if extensions != nil {
		answer["resources"] = extensions
	}
	if r.http.URL.Query().Get("$expand") == "instanceView" {
		properties := maps.Clone(found.properties())
		properties["instanceView"] = map[string]any{"statuses": found.statuses()}
		answer["properties"] = properties
	}
	return &response{status: http.StatusOK, body: answer, header: http.Header{"Etag": {found.etag}}}, nil
}

// statuses are the details of the state of a virtual machine.
func (r *resource) statuses() []any {
	state := textAt(r.body, "properties", "provisioningState")
	status := map[string]any{"code": "ProvisioningState/" + strings.ToLower(state), "level": "Info", "displayStatus": "Provisioning " + strings.ToLower(state)}
	if r.failure != nil {
		status["code"], status["level"], status["message"] = "ProvisioningState/failed/"+r.failure.Code, "Error", r.failure.Message
	}
	return []any{status}
}

// putVirtualMachine creates a virtual machine, or replaces its tags and identity.
func putVirtualMachine(a *Account, r *request) (*response, error) {
	var vm armcompute.VirtualMachine
	body, err := decode(r.body, &vm)
	if err != nil {
		return nil, err
	}
	id := r.http.URL.Path
	found := a.get(id)
	if err := matches(r.http, found); err != nil {
		return nil, err
	}
	if found != nil {
		return a.replaceVirtualMachine(r, found, body)
	}
	pool, err := a.checkVirtualMachine(body)
	if err != nil {
		return nil, err
	}
	interfaces, err := a.claimable(id, body)
	if err != nil {
		return nil, err
	}
	why, err := a.allocate(pool)
	if err != nil || why != nil && !why.Late {
		a.reserve(id, interfaces)
		if err == nil {
			err = refuse(http.StatusConflict, why.Code, "%s", why.Message)
		}
		return nil, err
	}
	return a.create(r, body, interfaces, why), nil
}

// create stores a virtual machine, with a late failure if why is not nil.
func (a *Account) create(r *request, body map[string]any, interfaces []*resource, why *Refusal) *response {
	id := r.http.URL.Path
	made := a.set(id, body)
	properties := made.properties()
	properties["provisioningState"], properties["timeCreated"] = "Creating", made.created.UTC().Format(time.RFC3339Nano)
	properties["vmId"] = fmt.Sprintf("00000000-0000-0000-0000-%012x", a.next())
	a.keepHidden(made)
	for _, nic := range interfaces {
		nic.owner = id
	}
	a.attachDisk(id, body)
	return a.begin(r, made.answer(http.StatusCreated), func() error {
		if a.get(id) != made {
			return refuse(http.StatusConflict, "OperationPreempted", "The operation has been preempted by a deletion.")
		}
		if why != nil {
			made.failed, made.failure = true, why
			made.properties()["provisioningState"] = "Failed"
			a.reserve(id, interfaces)
			return refuse(http.StatusConflict, why.Code, "%s", why.Message)
		}
		made.properties()["provisioningState"] = "Succeeded"
		return nil
	})
}

// attachDisk creates the disk of the operating system, unless it is on the host.
func (a *Account) attachDisk(id string, body map[string]any) {
	name := textAt(body, "properties", "storageProfile", "osDisk", "name")
	if name != "" && at(body, "properties", "storageProfile", "osDisk", "diffDiskSettings") == nil {
		disk := a.set(idIn(groupOf(id), kindDisk, name), map[string]any{"location": a.location, "managedBy": id})
		disk.owner = id
	}
}

// replaceVirtualMachine serves PUT of a virtual machine that exists: size, zones and priority cannot change.
func (a *Account) replaceVirtualMachine(r *request, found *resource, body map[string]any) (*response, error) {
	for _, path := range [][]string{{"properties", "hardwareProfile", "vmSize"}, {"properties", "priority"}} {
		if was, now := textAt(found.body, path...), textAt(body, path...); now != "" && was != now {
			return nil, refuse(http.StatusConflict, "PropertyChangeNotAllowed", "Changing property '%s' is not allowed.", strings.Join(path[1:], "."))
		}
	}
	return a.change(r, found, body, "tags", "identity"), nil
}

// change replaces some fields as a long-running operation.
func (a *Account) change(r *request, found *resource, body map[string]any, fields ...string) *response {
	for _, field := range fields {
		if value, sent := body[field]; sent {
			found.body[field] = value
		}
	}
	found = a.set(found.id, found.body)
	return a.begin(r, found.answer(http.StatusOK), nil)
}

// patchVirtualMachine replaces the tags, and adds identities.
func patchVirtualMachine(a *Account, r *request) (*response, error) {
	var update armcompute.VirtualMachineUpdate
	body, err := decode(r.body, &update)
	if err != nil {
		return nil, err
	}
	found := a.get(r.http.URL.Path)
	if found == nil {
		return nil, notFound(r.http.URL.Path)
	}
	if err := matches(r.http, found); err != nil {
		return nil, err
	}
	if identity, sent := body["identity"].(map[string]any); sent {
		body["identity"] = merged(found.body["identity"], identity)
	}
	return a.change(r, found, body, "tags", "identity"), nil
}

// merged is an identity with more user-assigned identities; null removes one.
func merged(had any, added map[string]any) map[string]any {
	out := map[string]any{"type": added["type"]}
	all := map[string]any{}
	old, _ := had.(map[string]any)
	for _, from := range []map[string]any{old, added} {
		ids, _ := from["userAssignedIdentities"].(map[string]any)
		for id, value := range ids {
			if all[id] = value; value == nil {
				delete(all, id)
			}
		}
	}
	out["userAssignedIdentities"] = all
	return out
}

// deleteVirtualMachine deletes a virtual machine, and what is deleted with it.
func deleteVirtualMachine(a *Account, r *request) (*response, error) {
	found := a.get(r.http.URL.Path)
	if found == nil {
		return &response{status: http.StatusNoContent}, nil
	}
	if err := matches(r.http, found); err != nil {
		return nil, err
	}
	found.properties()["provisioningState"] = "Deleting"
	return a.begin(r, &response{status: http.StatusAccepted}, func() error {
		if a.get(found.id) == found {
			a.drop(found.id)
		}
		return nil
	}), nil
}

// checkVirtualMachine checks what ARM checks of a new virtual machine before it looks for capacity.
func (a *Account) checkVirtualMachine(body map[string]any) (Pool, error) {
	if err := a.checkLocation(body); err != nil {
		return Pool{}, err
	}
	pool := Pool{Size: textAt(body, "properties", "hardwareProfile", "vmSize"), Priority: textAt(body, "properties", "priority")}
	if pool.Priority == "" {
		pool.Priority = "Regular"
	}
	size, found := a.sizeOf(pool.Size)
	if !found {
		return Pool{}, refuse(http.StatusBadRequest, "InvalidParameter", "The value %s provided for the VM size is not valid.", pool.Size)
	}
	zones, _ := body["zones"].([]any)
	if len(zones) > 1 {
		return Pool{}, refuse(http.StatusBadRequest, "InvalidParameter", "A virtual machine can be in one zone only.")
	}
	if len(zones) == 1 {
		pool.Zone, _ = zones[0].(string)
		if !slices.Contains([]string{"1", "2", "3"}, pool.Zone) {
			return Pool{}, refuse(http.StatusBadRequest, "InvalidAvailabilityZone",
				"The zone(s) '%s' for resource '%s' is not supported. The supported zones for location '%s' are '1,2,3'", pool.Zone, kindVirtualMachine, a.location)
		}
		if !slices.Contains(size.Zones, pool.Zone) {
			return Pool{}, refuse(http.StatusConflict, "SkuNotAvailable",
				"The requested size for resource is currently not available in location '%s' zones '%s' for subscription '%s'.", a.location, pool.Zone, Subscription)
		}
	}
	return pool, a.checkProperties(body, pool)
}

// checkProperties checks the properties of a new virtual machine.
func (a *Account) checkProperties(body map[string]any, pool Pool) error {
	properties, _ := body["properties"].(map[string]any)
	if pool.Priority != "Spot" && (properties["evictionPolicy"] != nil || properties["billingProfile"] != nil) {
		return refuse(http.StatusBadRequest, "InvalidParameter", "Eviction policy and billing profile can be set only on Azure Spot Virtual Machines.")
	}
	if _, err := base64.StdEncoding.DecodeString(textAt(properties, "osProfile", "customData")); err != nil {
		return refuse(http.StatusBadRequest, "InvalidParameter", "Custom data in OSProfile must be in Base64 encoding.")
	}
	if set := textAt(properties, "storageProfile", "osDisk", "managedDisk", "diskEncryptionSet", "id"); set != "" && a.get(set) == nil {
		return refuse(http.StatusNotFound, "ResourceNotFound", "The disk encryption set %s was not found.", set)
	}
	return nil
}

// checkLocation checks the location of a new resource.
func (a *Account) checkLocation(body map[string]any) error {
	location, _ := body["location"].(string)
	if location == "" {
		return refuse(http.StatusBadRequest, "LocationRequired", "The location property is required for this definition.")
	}
	if !strings.EqualFold(location, a.location) {
		return refuse(http.StatusBadRequest, "LocationNotAvailableForResourceType", "The provided location '%s' is not available. List of available regions is '%s'.", location, a.location)
	}
	return nil
}

// allocate charges a virtual machine to quota and capacity. The refusal is that of the pool, the error that of the quota.
func (a *Account) allocate(pool Pool) (*Refusal, error) {
	why := a.refusal(pool)
	if why != nil && !why.Late {
		return why, nil
	}
	if err := a.checkQuota(pool); err != nil {
		return nil, err
	}
	if why == nil {
		a.consume(pool)
	}
	return why, nil
}

// drop deletes a resource, what is below it, and what it owns. The account is locked.
func (a *Account) drop(id string) {
	found := a.get(id)
	if found == nil {
		return
	}
	below := strings.ToLower(found.id) + "/"
	for key, other := range a.resources {
		switch {
		case strings.HasPrefix(key, below):
			a.forgetResource(other)
		case other.owner != "" && strings.EqualFold(other.owner, found.id):
			a.release(found, other)
		}
	}
	a.forgetResource(found)
}

// release detaches what a deleted virtual machine used, and deletes it if the virtual machine says so.
func (a *Account) release(vm, used *resource) {
	used.owner = ""
	if a.clock.Now().Before(used.reservedUntil) {
		return
	}
	option := textAt(vm.body, "properties", "storageProfile", "osDisk", "deleteOption")
	if strings.EqualFold(kindOf(used.id), kindInterface) {
		option = ""
		for _, reference := range references(vm.body) {
			if strings.EqualFold(textAt(reference, "id"), used.id) {
				option = textAt(reference, "properties", "deleteOption")
			}
		}
	}
	if option == "Delete" {
		a.forgetResource(used)
	}
}

// forgetResource deletes a resource; Resource Graph still knows it for a while.
func (a *Account) forgetResource(r *resource) {
	delete(a.resources, strings.ToLower(r.id))
	if a.trouble.graphLag > 0 {
		r.visible = a.clock.Now().Add(a.trouble.graphLag)
		a.trouble.ghosts = append(a.trouble.ghosts, r)
	}
}
