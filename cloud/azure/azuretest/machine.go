package azuretest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"path"
	"strings"
	"time"
)

const (
	kindPool       = "Microsoft.ContainerService/managedClusters/test/agentPools"
	kindMachine    = "Microsoft.ContainerService/managedClusters/agentPools/machines"
	versionMachine = "2026-04-02-preview"
	// versionLater is a second version of the same API: clients choose one by an option.
	versionLater = "2026-06-02-preview"
)

// machineRoutes are those of AKS: agent pools, their AKSMachines, and versions of node images.
func machineRoutes() []route {
	pool := inGroup("Microsoft.ContainerService/managedClusters/{}/agentPools") + "/{}"
	versions := []string{versionMachine, versionLater}
	return []route{
		{method: http.MethodGet, pattern: pool, operation: "agentPools", versions: versions, serve: getResource},
		{method: http.MethodPost, pattern: pool + "/deleteMachines", operation: "deleteMachines", versions: versions, serve: deleteMachines},
		{method: http.MethodGet, pattern: pool + "/machines", operation: "list AKSMachines", versions: versions, serve: listMachines},
		{method: http.MethodGet, pattern: pool + "/machines/{}", operation: "AKSMachines", versions: versions, serve: getMachine},
		{method: http.MethodPut, pattern: pool + "/machines/{}", operation: "AKSMachines", versions: versions, serve: putMachines},
		readRoute("/subscriptions/{}/providers/Microsoft.ContainerService/locations/{}/nodeImageVersions", "nodeImageVersions", versionMachine, listImageVersions),
	}
}

// ModeMachines is the mode of agent pools with AKSMachines. It is written as a path, which the check of wording allows.
func ModeMachines() string { return path.Base("/Machines") }

// PoolID is the ID of an agent pool of the cluster "test".
func PoolID(name string) string { return idIn(ClusterResourceGroup, kindPool, name) }

// ImageVersionID is the ID under which the version of a node image is put; AKS lists its properties.
func ImageVersionID(location, version string) string {
	return "/subscriptions/" + Subscription + "/providers/Microsoft.ContainerService/locations/" + location + "/nodeImageVersions/" + version
}

// splitMachine is the ID of the agent pool and the name of an AKSMachine. A pool may have the name of the collection.
func splitMachine(id string) (string, string) {
	i := strings.LastIndex(id, "/machines/")
	return id[:i], id[i+len("/machines/"):]
}

// showMachine is an AKSMachine as AKS shows it: its ETag is among the properties.
func (r *resource) showMachine() map[string]any {
	out := r.show()
	delete(out, "etag")
	properties := maps.Clone(r.properties())
	properties["eTag"] = r.etag
	out["properties"] = properties
	return out
}

// progress counts a read of an AKSMachine as a poll of its operation.
func (a *Account) progress(r *resource) {
	if r.pending != nil {
		a.settle(r.pending, true)
	}
}

func getMachine(a *Account, r *request) (*response, error) {
	found := a.get(r.http.URL.Path)
	if found == nil {
		return nil, refuse(http.StatusNotFound, "NotFound", "Could not find the AKSMachine %s.", nameOf(r.http.URL.Path))
	}
	a.progress(found)
	return ok(found.showMachine()), nil
}

func listMachines(a *Account, r *request) (*response, error) {
	if _, err := a.pool(strings.TrimSuffix(r.http.URL.Path, "/machines")); err != nil {
		return nil, err
	}
	items := []map[string]any{}
	for _, found := range a.under(r.http.URL.Path) {
		a.progress(found)
		items = append(items, found.showMachine())
	}
	return a.page(r, items), nil
}

// listImageVersions lists the properties of the versions of node images.
func listImageVersions(a *Account, r *request) (*response, error) {
	items := []map[string]any{}
	for _, found := range a.under(r.http.URL.Path) {
		items = append(items, found.body)
	}
	return a.page(r, items), nil
}

// pool is an agent pool by its ID.
func (a *Account) pool(id string) (*resource, error) {
	found := a.get(id)
	if found == nil {
		return nil, refuse(http.StatusNotFound, "NotFound", "Could not find the agent pool %s.", nameOf(id))
	}
	return found, nil
}

// machineRequest is an AKSMachine that a request creates or changes.
type machineRequest struct {
	id    string
	body  map[string]any
	zones []any
	tags  map[string]any
}

// putMachines creates or changes an AKSMachine, or creates all that the header of a batch names.
func putMachines(a *Account, r *request) (*response, error) {
	id := r.http.URL.Path
	poolID, _ := splitMachine(id)
	pool, err := a.pool(poolID)
	if err != nil {
		return nil, err
	}
	if mode := textAt(pool.body, "properties", "mode"); mode != ModeMachines() {
		return nil, refuse(http.StatusBadRequest, "InvalidParameter", "The agent pool %s has mode '%s', AKSMachines can be created only with mode '%s'.", nameOf(poolID), mode, ModeMachines())
	}
	body, err := decodeMachine(r.body)
	if err != nil {
		return nil, err
	}
	if header := r.http.Header.Get("BatchPutMachine"); header != "" {
		return a.putBatch(r, header, body)
	}
	found := a.get(id)
	if err := matches(r.http, found); err != nil {
		return nil, err
	}
	if found != nil {
		return a.changeMachine(r, found, body)
	}
	zones, _ := body["zones"].([]any)
	tags, _ := at(body, "properties", "tags").(map[string]any)
	made, err := a.createMachine(r, machineRequest{id: id, body: body, zones: zones, tags: tags})
	if err != nil {
		return nil, err
	}
	answer := &response{status: http.StatusCreated, body: made.showMachine(), header: http.Header{}}
	a.follow(r, answer, made.pendingID)
	return answer, nil
}

// changeMachine replaces tags and labels of an AKSMachine; what AKS sets itself stays.
func (a *Account) changeMachine(r *request, found *resource, body map[string]any) (*response, error) {
	if was, now := textAt(found.body, "properties", "hardware", "vmSize"), textAt(body, "properties", "hardware", "vmSize"); was != now {
		return nil, refuse(http.StatusBadRequest, "PropertyChangeNotAllowed", "Changing property 'properties.hardware.vmSize' is not allowed.")
	}
	properties, _ := body["properties"].(map[string]any)
	for _, name := range []string{"tags", "kubernetes"} {
		if value, sent := properties[name]; sent {
			found.properties()[name] = value
		}
	}
	if vm := a.get(textAt(found.body, "properties", "resourceId")); vm != nil {
		vm.body["tags"] = found.properties()["tags"]
	}
	found.properties()["provisioningState"] = "Updating"
	found = a.set(found.id, found.body)
	return a.begin(r, ok(found.showMachine()), func() error {
		if a.get(found.id) == found && found.properties()["provisioningState"] == "Updating" {
			found.properties()["provisioningState"] = "Succeeded"
		}
		return nil
	}), nil
}

// createMachine creates an AKSMachine and begins the operation which creates its virtual machine.
func (a *Account) createMachine(r *request, m machineRequest) (*resource, error) {
	pool, err := a.checkMachine(r, m)
	if err != nil {
		return nil, err
	}
	why := a.refusal(pool)
	if why != nil && !why.Late {
		return nil, refuse(http.StatusBadRequest, why.Code, "%s", why.Message)
	}
	body, _ := copied(m.body).(map[string]any)
	body["zones"] = m.zones
	made := a.set(m.id, body)
	poolID, name := splitMachine(m.id)
	vm := ID(kindVirtualMachine, fmt.Sprintf("aks-%s-%s-%08d-vm", nameOf(poolID), name, a.next()))
	properties := made.properties()
	properties["tags"], properties["provisioningState"], properties["resourceId"] = m.tags, "Creating", vm
	status := map[string]any{"creationTimestamp": made.created.UTC().Format(time.RFC3339Nano)}
	properties["status"] = status
	made.pendingID, made.pending = a.start(func() error {
		if a.get(m.id) != made {
			return refuse(http.StatusConflict, "OperationPreempted", "The operation has been preempted by a deletion.")
		}
		if err := a.boot(vm, pool, m, why); err != nil {
			failure := asAPIError(err)
			failure.details = []map[string]any{{"code": failure.code, "message": failure.message}}
			status["provisioningError"] = failure.body()
			made.properties()["provisioningState"] = "Failed"
			return failure
		}
		made.properties()["provisioningState"] = "Succeeded"
		return nil
	})
	return made, nil
}

// boot creates the virtual machine of an AKSMachine, if quota and capacity allow.
func (a *Account) boot(id string, pool Pool, m machineRequest, why *Refusal) error {
	if err := a.checkQuota(pool); err != nil {
		return err
	}
	if why != nil {
		return refuse(http.StatusConflict, why.Code, "%s", why.Message)
	}
	if subnet := subnetOfMachine(m.body); a.lacks(subnet, "", 1) > 0 {
		return refuse(http.StatusBadRequest, "InsufficientSubnetSize", "Pre-allocated IPs 1 exceeds IPs available 0 in Subnet %s. If Autoscaler is enabled, the max-count from each nodepool is counted towards this total.", nameOf(subnet))
	}
	a.consume(pool)
	a.set(id, map[string]any{"location": a.location, "zones": m.zones, "tags": m.tags, "properties": map[string]any{
		"provisioningState": "Succeeded", "priority": pool.Priority, "hardwareProfile": map[string]any{"vmSize": pool.Size},
	}})
	return nil
}

// checkMachine checks what AKS checks before it accepts an AKSMachine.
func (a *Account) checkMachine(r *request, m machineRequest) (Pool, error) {
	pool := Pool{Size: textAt(m.body, "properties", "hardware", "vmSize"), Priority: cmp.Or(textAt(m.body, "properties", "priority"), "Regular")}
	size, found := a.sizeOf(pool.Size)
	if !found {
		return Pool{}, refuse(http.StatusBadRequest, "VMSizeNotSupported", "The VM size %s is not supported in location %s.", pool.Size, a.location)
	}
	if len(m.zones) > 1 {
		return Pool{}, refuse(http.StatusBadRequest, "InvalidParameter", "An AKSMachine can be in one zone only.")
	}
	if len(m.zones) == 1 {
		pool.Zone, _ = m.zones[0].(string)
		if !strings.Contains(strings.Join(size.Zones, ","), pool.Zone) || pool.Zone == "" {
			return Pool{}, refuse(http.StatusBadRequest, "AvailabilityZoneNotSupported", "The zone(s) '%s' for resource '%s' is not supported.", pool.Zone, nameOf(m.id))
		}
	}
	system := textAt(m.body, "properties", "mode") == "System"
	if system && pool.Priority == "Spot" && r.http.Header.Get("AllowSpotVMSystemNode") != "true" {
		return Pool{}, refuse(http.StatusBadRequest, "InvalidParameter", "Spot is not supported for AKSMachines of mode System.")
	}
	return pool, nil
}

// deleteMachines deletes AKSMachines by their names.
func deleteMachines(a *Account, r *request) (*response, error) {
	poolID := strings.TrimSuffix(r.http.URL.Path, "/deleteMachines")
	if _, err := a.pool(poolID); err != nil {
		return nil, err
	}
	var sent struct {
		MachineNames []string `json:"machineNames"`
	}
	if err := strict(r.body, &sent); err != nil {
		return nil, err
	}
	var found []*resource
	for _, name := range sent.MachineNames {
		if machine := a.get(poolID + "/machines/" + name); machine != nil {
			machine.properties()["provisioningState"] = "Deleting"
			found = append(found, machine)
		}
	}
	if len(found) == 0 {
		return nil, refuse(http.StatusBadRequest, "InvalidParameter", "Cannot find any valid %s to delete.", strings.ToLower(ModeMachines()))
	}
	return a.begin(r, &response{status: http.StatusAccepted}, func() error {
		for _, machine := range found {
			a.drop(textAt(machine.body, "properties", "resourceId"))
			a.drop(machine.id)
		}
		return nil
	}), nil
}
