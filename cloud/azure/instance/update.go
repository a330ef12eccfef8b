package instance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/operation"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
)

// Update gives a virtual machine the wanted tags, with its network interface and its extensions, and adds the wanted identities that it lacks.
// Other tags are removed: those that the node class had before cannot be told from others. Identities are never removed. Nothing is
// sent if nothing differs. The error is cloud.NodeClaimNotFoundError if the virtual machine does not exist or is being deleted.
//
// The virtual machine is updated last, in one request: until then it differs, and the next Update repeats what failed.
//
// Source: Azure provider specification, in-place update.
func (c *Client) Update(ctx context.Context, name string, want resourcetags.InPlace) error {
	response, err := c.VirtualMachines.Get(ctx, c.ResourceGroup, name, nil)
	if notFound(err) {
		return cloud.NewNodeClaimNotFoundError(fmt.Errorf("getting virtual machine %q: %w", name, err))
	}
	if err != nil {
		return fmt.Errorf("getting virtual machine %q: %w", name, err)
	}
	vm := &response.VirtualMachine
	if vm.Properties != nil && value(vm.Properties.ProvisioningState) == stateDeleting {
		return cloud.NewNodeClaimNotFoundError(fmt.Errorf("updating virtual machine %q: Azure is deleting it", name))
	}
	if owner, found := vm.Tags[label.TagAKSMachineNodeClaim]; found {
		return fmt.Errorf("updating virtual machine %q: it belongs to an AKSMachine, of nodeclaim %q: restore the annotation %s of the nodeclaim",
			name, value(owner), label.AnnotationAKSMachineResourceID)
	}
	have := make(map[string]string, len(vm.Tags))
	for key, tag := range vm.Tags {
		have[key] = value(tag)
	}
	if !resourcetags.KeepsOwner(have, want.Tags) {
		return fmt.Errorf("updating virtual machine %q, whose tag %s is %q: it is not one of cluster %q", name, label.TagCluster, have[label.TagCluster], want.Tags[label.TagCluster])
	}
	update, identity := armcompute.VirtualMachineUpdate{}, missingIdentities(vm.Identity, want.Identities)
	update.Identity = identity
	if !sameTags(vm.Tags, want.Tags) {
		update.Tags = tagPointers(want.Tags)
		if err := c.tagParts(ctx, vm, name, update.Tags); err != nil {
			return err
		}
	}
	if update.Tags == nil && update.Identity == nil {
		return nil
	}
	err = operation.Run(ctx, c.Clock, func(ctx context.Context) (*runtime.Poller[armcompute.VirtualMachinesClientUpdateResponse], error) {
		return c.VirtualMachines.BeginUpdate(ctx, c.ResourceGroup, name, update, nil)
	})
	if err != nil {
		return fmt.Errorf("updating virtual machine %q: %w", name, err)
	}
	return nil
}

// tagParts replaces the tags of the network interface and of the extensions of a virtual machine.
func (c *Client) tagParts(ctx context.Context, vm *armcompute.VirtualMachine, name string, tags map[string]*string) error {
	// The network interface has the name of its virtual machine.
	if _, err := c.NetworkInterfaces.UpdateTags(ctx, c.ResourceGroup, name, armnetwork.TagsObject{Tags: tags}, nil); err != nil {
		return fmt.Errorf("tagging network interface %q: %w", name, err)
	}
	for _, extension := range []string{virtualmachine.BootstrapExtension, virtualmachine.BillingExtension} {
		if !slices.ContainsFunc(vm.Resources, func(e *armcompute.VirtualMachineExtension) bool { return strings.EqualFold(value(e.Name), extension) }) {
			continue // virtual machines have those of the mode and the environment that they were launched in
		}
		err := operation.Run(ctx, c.Clock, func(ctx context.Context) (*runtime.Poller[armcompute.VirtualMachineExtensionsClientUpdateResponse], error) {
			return c.Extensions.BeginUpdate(ctx, c.ResourceGroup, name, extension, armcompute.VirtualMachineExtensionUpdate{Tags: tags}, nil)
		})
		if notFound(err) && extension == virtualmachine.BillingExtension {
			continue // AKS may remove it
		}
		if err != nil {
			return fmt.Errorf("tagging extension %q of virtual machine %q: %w", extension, name, err)
		}
	}
	return nil
}

// sameTags reports whether a resource has the wanted tags, and no others.
func sameTags(have map[string]*string, want map[string]string) bool {
	return maps.EqualFunc(have, want, func(a *string, b string) bool { return value(a) == b })
}

// tagPointers returns tags as the SDK takes them; never nil, because the SDK does not send nil.
func tagPointers(tags map[string]string) map[string]*string {
	out := make(map[string]*string, len(tags))
	for key, tag := range tags {
		out[key] = to.Ptr(tag)
	}
	return out
}

// missingIdentities is the identity with those wanted ones that a virtual machine lacks; nil if it has all. Azure adds them to the present ones.
// It does not distinguish upper and lower case in ids.
func missingIdentities(have *armcompute.VirtualMachineIdentity, want []string) *armcompute.VirtualMachineIdentity {
	known := map[string]bool{}
	if have != nil {
		for id := range have.UserAssignedIdentities {
			known[strings.ToLower(id)] = true
		}
	}
	missing := map[string]*armcompute.UserAssignedIdentitiesValue{}
	for _, id := range want {
		if !known[strings.ToLower(id)] {
			known[strings.ToLower(id)], missing[id] = true, &armcompute.UserAssignedIdentitiesValue{}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	kind := armcompute.ResourceIdentityTypeUserAssigned
	if have != nil {
		switch value(have.Type) {
		case armcompute.ResourceIdentityTypeSystemAssigned, armcompute.ResourceIdentityTypeSystemAssignedUserAssigned:
			// Agents that a policy installs use it: the other type would remove it.
			kind = armcompute.ResourceIdentityTypeSystemAssignedUserAssigned
		}
	}
	return &armcompute.VirtualMachineIdentity{Type: &kind, UserAssignedIdentities: missing}
}
