package azuretest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Versions of the metadata service.
const (
	versionMetadata = "2021-02-01"
	versionEvents   = "2020-07-01"
)

// EvictionNotice is how long before its eviction a spot virtual machine is told.
const EvictionNotice = 30 * time.Second

// event is the scheduled eviction of a virtual machine.
type event struct {
	id string
	// vm is the ID of the virtual machine.
	vm        string
	notBefore time.Time
}

// Evict evicts a spot virtual machine by its ID, after EvictionNotice on the clock or when the virtual machine agrees; until then its
// metadata shows the event. It does nothing if the virtual machine is not a spot one.
func (a *Account) Evict(vm string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.get(vm)
	if found == nil || textAt(found.body, "properties", "priority") != "Spot" {
		return
	}
	a.events = append(a.events, event{id: "event-" + strconv.Itoa(a.next()), vm: found.id, notBefore: a.clock.Now().Add(EvictionNotice)})
	a.revision++
}

// evict deletes the virtual machines whose time has come. The account is locked.
func (a *Account) evict() {
	now := a.clock.Now()
	a.endEvents(func(e event) bool { return !now.Before(e.notBefore) })
}

// endEvents carries out some events.
func (a *Account) endEvents(which func(event) bool) {
	a.events = slices.DeleteFunc(a.events, func(e event) bool {
		if !which(e) {
			return false
		}
		a.drop(e.vm)
		a.revision++
		return true
	})
}

// asked checks the header without which the metadata service refuses, as it cannot be sent through a proxy.
func asked(r *request) error {
	if r.http.Header.Get("Metadata") != "true" {
		return refuse(http.StatusBadRequest, "BadRequest", "Required metadata header not specified")
	}
	return nil
}

// machineOf is the virtual machine whose metadata is read.
func (a *Account) machineOf(r *request) (*resource, error) {
	if err := asked(r); err != nil {
		return nil, err
	}
	id := ID(kindVirtualMachine, r.names[0])
	found := a.get(id)
	if found == nil {
		return nil, notFound(id)
	}
	return found, nil
}

func getInstance(a *Account, r *request) (*response, error) {
	vm, err := a.machineOf(r)
	if err != nil {
		return nil, err
	}
	zone := ""
	if zones, _ := vm.body["zones"].([]any); len(zones) == 1 {
		zone, _ = zones[0].(string)
	}
	return ok(map[string]any{"compute": map[string]any{
		"name": nameOf(vm.id), "location": a.location, "zone": zone, "resourceId": vm.id, "resourceGroupName": groupOf(vm.id), "subscriptionId": Subscription,
		"vmSize": textAt(vm.body, "properties", "hardwareProfile", "vmSize"), "priority": textAt(vm.body, "properties", "priority"),
		"vmId": textAt(vm.body, "properties", "vmId"), "azEnvironment": "AzurePublicCloud",
	}}), nil
}

// listEvents shows the scheduled events of a virtual machine.
func listEvents(a *Account, r *request) (*response, error) {
	vm, err := a.machineOf(r)
	if err != nil {
		return nil, err
	}
	events := []map[string]any{}
	for _, e := range a.events {
		if strings.EqualFold(e.vm, vm.id) {
			events = append(events, map[string]any{
				"EventId": e.id, "EventType": "Preempt", "ResourceType": "VirtualMachine", "Resources": []string{nameOf(vm.id)}, "EventStatus": "Scheduled",
				"NotBefore": e.notBefore.UTC().Format(http.TimeFormat), "Description": "", "EventSource": "Platform", "DurationInSeconds": -1,
			})
		}
	}
	return ok(map[string]any{"DocumentIncarnation": a.revision, "Events": events}), nil
}

// startEvents carries out the events that a virtual machine agrees to.
func startEvents(a *Account, r *request) (*response, error) {
	vm, err := a.machineOf(r)
	if err != nil {
		return nil, err
	}
	var sent struct {
		StartRequests []struct{ EventID string }
	}
	if err := strict(r.body, &sent); err != nil {
		return nil, err
	}
	for _, start := range sent.StartRequests {
		a.endEvents(func(e event) bool { return e.id == start.EventID && e.vm == vm.id })
	}
	return &response{status: http.StatusOK}, nil
}

// identityToken issues the token of a managed identity.
func identityToken(a *Account, r *request) (*response, error) {
	if err := asked(r); err != nil {
		return nil, err
	}
	resource := r.http.URL.Query().Get("resource")
	if resource == "" {
		return nil, refuse(http.StatusBadRequest, "invalid_request", "The parameter resource is missing.")
	}
	out := a.issue()
	out["resource"], out["expires_in"] = resource, strconv.Itoa(tokenLifetime)
	out["expires_on"] = strconv.FormatInt(time.Now().Unix()+tokenLifetime, 10)
	return ok(out), nil
}

// galleryToken issues a token for galleries of another tenant.
//
// Source: Azure provider specification, SIG auxiliary token.
func galleryToken(a *Account, r *request) (*response, error) {
	if !strings.HasSuffix(r.http.URL.Query().Get("scope"), "/.default") {
		return nil, refuse(http.StatusBadRequest, "invalid_scope", "The parameter scope is missing.")
	}
	return ok(map[string]any{"Token": a.issue()["access_token"], "ExpiresOn": time.Now().Add(tokenLifetime * time.Second).UTC()}), nil
}
