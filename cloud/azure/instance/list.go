package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Types of resources, as Azure Resource Graph writes them.
const (
	typeVM  = "microsoft.compute/virtualmachines"
	typeNIC = "microsoft.network/networkinterfaces"
)

// Graph runs queries of Azure Resource Graph. It may not know resources of the last minutes, and still know deleted ones.
type Graph interface {
	Resources(context.Context, armresourcegraph.QueryRequest, *armresourcegraph.ClientResourcesOptions) (armresourcegraph.ClientResourcesResponse, error)
}

// List returns the virtual machines of the nodes of the cluster, those of AKSMachines left out. complete is false if some could not be read:
// these are logged, and nothing follows from the absence of one.
func (c *Client) List(ctx context.Context) (found []*Instance, complete bool, err error) {
	complete = true
	err = c.query(ctx, typeVM, func(row json.RawMessage) error {
		vm := armcompute.VirtualMachine{}
		if err := json.Unmarshal(row, &vm); err != nil {
			return err
		}
		if !c.ours(vm.Tags) {
			return nil
		}
		i, err := c.instanceOf(&vm)
		if err != nil {
			return err
		}
		i.ID = c.canonical(i.ID)
		found = append(found, i)
		return nil
	}, &complete)
	return found, complete, err
}

// canonical writes the id of a virtual machine as requests do: Resource Graph may write the subscription in other letters than the settings, and
// the provider ID of a NodeClaim comes from these.
func (c *Client) canonical(id string) string {
	if vm, err := naming.ParseVMID(id); err == nil && strings.EqualFold(vm.Subscription, c.Subscription) {
		return c.vmID(vm.Name)
	}
	return id
}

// ListNICs returns the names of the network interfaces of the nodes of the cluster, as List does.
func (c *Client) ListNICs(ctx context.Context) (names []string, complete bool, err error) {
	complete = true
	err = c.query(ctx, typeNIC, func(row json.RawMessage) error {
		nic := resourceRow{}
		if err := json.Unmarshal(row, &nic); err != nil {
			return err
		}
		if c.ours(nic.Tags) {
			names = append(names, *nic.Name)
		}
		return nil
	}, &complete)
	return names, complete, err
}

// ours reports whether a resource belongs to a node of this cluster: several may share a resource group. One without the tag counts as ours.
func (c *Client) ours(tags map[string]*string) bool {
	cluster := value(tags[label.TagCluster])
	return cluster == "" || cluster == c.Cluster
}

// resourceRow is what each row must have.
type resourceRow struct {
	ID   *string            `json:"id"`
	Name *string            `json:"name"`
	Tags map[string]*string `json:"tags"`
}

// query passes each row of the answer to read. Rows that cannot be read are logged and make the answer incomplete.
func (c *Client) query(ctx context.Context, resourceType string, read func(json.RawMessage) error, complete *bool) error {
	request := armresourcegraph.QueryRequest{
		Query: to.Ptr(fmt.Sprintf("Resources | where type == '%s' | where resourceGroup == '%s' | where tags has_cs '%s' | where not(tags has_cs '%s')",
			resourceType, strings.ToLower(c.ResourceGroup), label.TagNodePool, label.TagAKSMachineNodeClaim)),
		Subscriptions: []*string{to.Ptr(c.Subscription)},
		Options:       &armresourcegraph.QueryRequestOptions{ResultFormat: to.Ptr(armresourcegraph.ResultFormatObjectArray)},
	}
	for {
		answer, err := c.Graph.Resources(ctx, request, nil)
		if err != nil {
			return fmt.Errorf("listing resources of type %s: %w", resourceType, err)
		}
		rows, ok := answer.Data.([]any)
		if !ok {
			return fmt.Errorf("listing resources of type %s: the answer is no list", resourceType)
		}
		for _, row := range rows {
			if err := readRow(row, read); err != nil {
				*complete = false
				observe.Log(ctx).ErrorContext(ctx, "a resource of Azure Resource Graph is ignored", logfield.Value(resourceType), logfield.Error(err))
			}
		}
		if value(answer.SkipToken) == "" {
			return nil
		}
		request.Options.SkipToken = answer.SkipToken
	}
}

// readRow reads a row that has what each must have. The name in its id is written in lower case, as provider IDs are.
func readRow(row any, read func(json.RawMessage) error) error {
	object, ok := row.(map[string]any)
	if !ok {
		return errors.New("the row is no object")
	}
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	have := resourceRow{}
	if err := json.Unmarshal(data, &have); err != nil {
		return err
	}
	if value(have.ID) == "" || value(have.Name) == "" || have.Tags == nil {
		return fmt.Errorf("resource %q lacks its id, name or tags", value(have.ID)+value(have.Name))
	}
	at := strings.LastIndexByte(*have.ID, '/') + 1
	object["id"] = (*have.ID)[:at] + strings.ToLower((*have.ID)[at:])
	if data, err = json.Marshal(object); err != nil {
		return err
	}
	return read(data)
}
