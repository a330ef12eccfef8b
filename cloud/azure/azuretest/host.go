package azuretest

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Host is a virtual machine as its operating system sees it, and as the cluster's cloud controller does.
type Host struct {
	// ID is the ARM ID, VMID the GUID that no other virtual machine ever has.
	ID, VMID string
	// Computer is the name of the computer.
	Computer string
	// State is the provisioning state: Creating, Succeeded, Updating, Failed or Deleting.
	State string
	// Created is when the request was accepted.
	Created time.Time
	Size    Size
	// Location is that of the account. Zone is the number of a zone; empty for regional placement.
	Location, Zone string
	// Spot says that it may be evicted. NotBefore is when it is evicted; zero if that is not planned.
	Spot      bool
	NotBefore time.Time
	// Image is the ID of the version of the image.
	Image string
	// Address is its address in the subnet of nodes.
	Address string
	// DiskGB is the size of the disk of the operating system.
	DiskGB int64
	// CustomData is not in base64.
	CustomData string
}

// Hosts are the virtual machines that there are, in the order of their IDs. Operations that are due have ended.
func (a *Account) Hosts() []Host {
	a.Settle()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evict()
	var out []Host
	for _, r := range a.sorted(kindVirtualMachine) {
		out = append(out, a.host(r))
	}
	return out
}

// host is a virtual machine. The account is locked.
func (a *Account) host(r *resource) Host {
	size, _ := a.sizeOf(textAt(r.body, "properties", "hardwareProfile", "vmSize"))
	out := Host{
		ID: r.id, VMID: textAt(r.body, "properties", "vmId"), Computer: textAt(r.body, "properties", "osProfile", "computerName"),
		State: textAt(r.body, "properties", "provisioningState"), Created: r.created, Size: size, Location: a.location,
		Spot: textAt(r.body, "properties", "priority") == "Spot", Image: textAt(r.body, "properties", "storageProfile", "imageReference", "communityGalleryImageId"),
		Address: r.address, CustomData: r.customData,
	}
	if out.Image == "" {
		out.Image = textAt(r.body, "properties", "storageProfile", "imageReference", "id")
	}
	if zones, _ := r.body["zones"].([]any); len(zones) == 1 {
		out.Zone, _ = zones[0].(string)
	}
	if disk, isNumber := at(r.body, "properties", "storageProfile", "osDisk", "diskSizeGB").(float64); isNumber {
		out.DiskGB = int64(disk)
	}
	for _, e := range a.events {
		if strings.EqualFold(e.vm, r.id) {
			out.NotBefore = e.notBefore
		}
	}
	return out
}

// keepHidden keeps what a new virtual machine has and ARM never shows: its custom data, and here its address. Custom data that
// cannot be decoded is none. The account is locked.
func (a *Account) keepHidden(made *resource) {
	a.addresses++
	made.address = fmt.Sprintf("10.224.%d.%d", a.addresses/250, 4+a.addresses%250)
	profile, _ := made.properties()["osProfile"].(map[string]any)
	text, _ := base64.StdEncoding.DecodeString(textAt(profile, "customData"))
	delete(profile, "customData")
	made.customData = string(text)
}

// HourlyPrice is the price of a virtual machine in US dollars.
func (h *Host) HourlyPrice() float64 {
	if h.Spot {
		return h.Size.Price / 5
	}
	return h.Size.Price
}

// IDs are the IDs of the resources of a type in the resource group for nodes, such as Microsoft.Compute/disks, in their order.
func (a *Account) IDs(kind string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evict()
	var out []string
	for _, r := range a.sorted(kind) {
		if strings.EqualFold(groupOf(r.id), NodeResourceGroup) {
			out = append(out, r.id)
		}
	}
	slices.Sort(out)
	return out
}
