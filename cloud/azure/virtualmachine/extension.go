package virtualmachine

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

const (
	// BillingExtension is the name of the extension by which Azure bills a virtual machine as a node of AKS.
	BillingExtension = "computeAksLinuxBilling"
	// BootstrapExtension is the name of the extension that runs the command of the node-bootstrapping service.
	BootstrapExtension = "cse-agent-karpenter"
)

// Extension is an extension of a virtual machine: its name, and the body of the request that creates it.
type Extension struct {
	Name string
	Body armcompute.VirtualMachineExtension
}

// Extensions returns the extensions of a virtual machine in the order in which they are created, each after the one
// before it is done. They have the location and the tags of the virtual machine. A command is what the
// node-bootstrapping service answers, and empty in other modes. Cloud is the name of the Azure environment, as in
// AzurePublicCloud; AKS bills in three of them.
func Extensions(vm *Spec, cloud, command string) []Extension {
	var extensions []Extension
	if command != "" {
		body := extension(vm, "Microsoft.Azure.Extensions", "CustomScript", "2.0")
		// The command holds credentials of the node; Azure shows the settings that are not protected to readers.
		body.Properties.ProtectedSettings = map[string]string{"commandToExecute": command}
		extensions = append(extensions, Extension{BootstrapExtension, body})
	}
	if billed(cloud) {
		body := extension(vm, "Microsoft.AKS", "Compute.AKS.Linux.Billing", "1.0")
		body.Properties.Settings = map[string]string{}
		extensions = append(extensions, Extension{BillingExtension, body})
	}
	return extensions
}

// billed reports whether AKS bills nodes by an extension in an environment.
func billed(cloud string) bool {
	switch cloud {
	case "AzurePublicCloud", "AzureChinaCloud", "AzureUSGovernmentCloud":
		return true
	}
	return false
}

func extension(vm *Spec, publisher, kind, version string) armcompute.VirtualMachineExtension {
	return armcompute.VirtualMachineExtension{
		Location: &vm.Location,
		Tags:     pointers(vm.Tags),
		Properties: &armcompute.VirtualMachineExtensionProperties{
			Publisher: &publisher, Type: &kind, TypeHandlerVersion: &version, AutoUpgradeMinorVersion: to.Ptr(true),
		},
	}
}
