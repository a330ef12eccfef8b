package azuretest

import (
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// putExtension installs an extension on a virtual machine.
func putExtension(a *Account, r *request) (*response, error) {
	var extension armcompute.VirtualMachineExtension
	body, err := decode(r.body, &extension)
	if err != nil {
		return nil, err
	}
	if err := a.checkLocation(body); err != nil {
		return nil, err
	}
	id := r.http.URL.Path
	parent, _, _ := strings.Cut(id, "/extensions/")
	if vm := a.get(parent); vm == nil {
		return nil, refuse(http.StatusNotFound, "ParentResourceNotFound", "Failed to perform 'write' on resource '%s', because the parent resource '%s' could not be found.", nameOf(id), nameOf(parent))
	}
	status := http.StatusOK
	if a.get(id) == nil {
		status = http.StatusCreated
	}
	made := a.set(id, body)
	delete(made.properties(), "protectedSettings") // ARM never shows them
	made.properties()["provisioningState"] = "Creating"
	return a.begin(r, made.answer(status), func() error {
		made.properties()["provisioningState"] = "Succeeded"
		return nil
	}), nil
}

// patchExtension replaces the tags of an extension.
func patchExtension(a *Account, r *request) (*response, error) {
	var update armcompute.VirtualMachineExtensionUpdate
	body, err := decode(r.body, &update)
	if err != nil {
		return nil, err
	}
	found := a.get(r.http.URL.Path)
	if found == nil {
		return nil, notFound(r.http.URL.Path)
	}
	return a.change(r, found, body, "tags"), nil
}
