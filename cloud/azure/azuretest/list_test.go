package azuretest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
)

// TestSKUs lists the SKUs of a location, page by page.
func TestSKUs(t *testing.T) {
	c := connect(t, azuretest.Options{PageSize: 3})
	client, err := armcompute.NewResourceSKUsClient(azuretest.Subscription, c.connection.Credential, c.connection.Options)
	must(t, err)
	found := map[string]*armcompute.ResourceSKU{}
	for pager := client.NewListPager(&armcompute.ResourceSKUsClientListOptions{Filter: to.Ptr("location eq 'eastus'")}); pager.More(); {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		for _, sku := range page.Value {
			found[*sku.Name] = sku
		}
	}
	if len(found) != len(azuretest.Sizes())+1 {
		t.Errorf("got %d SKUs", len(found))
	}
	if sku := found["Standard_E4s_v5"]; sku == nil || *sku.Family != "standardESv5Family" || len(sku.LocationInfo[0].Zones) != 2 {
		t.Errorf("got %+v", sku)
	}
}

// TestUsages counts the vCPUs of virtual machines.
func TestUsages(t *testing.T) {
	c := connect(t, azuretest.Options{})
	c.account.Limit("standardDSv3Family", 24)
	_, err := c.launch(t, "aks-a", "Standard_D4s_v3", "1", "Regular")
	must(t, err)
	client, err := armcompute.NewUsageClient(azuretest.Subscription, c.connection.Credential, c.connection.Options)
	must(t, err)
	got := map[string]string{}
	for pager := client.NewListPager("eastus", nil); pager.More(); {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		for _, usage := range page.Value {
			got[*usage.Name.Value] = fmt.Sprintf("%d of %d", *usage.CurrentValue, *usage.Limit)
		}
	}
	if got["standardDSv3Family"] != "4 of 24" || got["cores"] != "4 of 1000" || got["lowPriorityCores"] != "0 of 1000" {
		t.Errorf("got %v", got)
	}
}

// TestNetwork reads what a cluster brings: its network, load balancers with their pools, and security groups.
func TestNetwork(t *testing.T) {
	c := connect(t, azuretest.Options{PageSize: 1})
	balancer := azuretest.ID("Microsoft.Network/loadBalancers", "kubernetes")
	pool := balancer + "/backendAddressPools/aksOutboundBackendPool"
	c.account.Put(balancer, map[string]any{"properties": map[string]any{"backendAddressPools": []any{map[string]any{"id": pool, "name": "aksOutboundBackendPool"}}}})
	c.account.Put(azuretest.ID("Microsoft.Network/loadBalancers", "other"), map[string]any{})
	c.account.Put(azuretest.ID("Microsoft.Network/networkSecurityGroups", "aks-agentpool-12345678-nsg"), map[string]any{})
	factory, err := armnetwork.NewClientFactory(azuretest.Subscription, c.connection.Credential, c.connection.Options)
	must(t, err)
	balancers, groups := 0, 0
	for pager := factory.NewLoadBalancersClient().NewListPager(group, nil); pager.More(); {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		balancers += len(page.Value)
	}
	for pager := factory.NewSecurityGroupsClient().NewListPager(group, nil); pager.More(); {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		groups += len(page.Value)
	}
	network, err := factory.NewVirtualNetworksClient().Get(t.Context(), group, "aks-vnet-12345678", nil)
	must(t, err)
	subnet, err := factory.NewSubnetsClient().Get(t.Context(), group, "aks-vnet-12345678", "aks-subnet", nil)
	must(t, err)
	if balancers != 2 || groups != 1 || *network.Properties.ResourceGUID == "" || *subnet.ID != azuretest.SubnetID() {
		t.Errorf("got %d load balancers, %d security groups, network %v, subnet %v", balancers, groups, network, subnet)
	}
	poller, err := c.interfaces.BeginCreateOrUpdate(t.Context(), group, "aks-a", withPool(pool), nil)
	_, err = done(t, poller, err)
	must(t, err)
	_, err = c.interfaces.BeginCreateOrUpdate(t.Context(), group, "aks-a", withPool(balancer+"/backendAddressPools/absent"), nil)
	wantCode(t, err, "InvalidResourceReference", http.StatusBadRequest)
}

// withPool is a network interface in a pool of a load balancer.
func withPool(id string) armnetwork.Interface {
	return armnetwork.Interface{Location: to.Ptr("eastus"), Properties: &armnetwork.InterfacePropertiesFormat{IPConfigurations: []*armnetwork.InterfaceIPConfiguration{{
		Name: to.Ptr("a"), Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{
			Subnet: &armnetwork.Subnet{ID: to.Ptr(azuretest.SubnetID())}, LoadBalancerBackendAddressPools: []*armnetwork.BackendAddressPool{{ID: &id}},
		},
	}}}}
}

// TestGallery lists the versions of an image, and reads a disk encryption set.
func TestGallery(t *testing.T) {
	c := connect(t, azuretest.Options{PageSize: 1})
	image := azuretest.GalleryID("eastus", "AKSUbuntu-1", "2404gen2containerd")
	c.account.Put(image, map[string]any{})
	for _, version := range []string{"202605.1.0", "202606.10.0"} {
		c.account.Put(image+"/versions/"+version, map[string]any{"properties": map[string]any{"publishedDate": "2026-06-01T00:00:00Z"}})
	}
	client, err := armcompute.NewCommunityGalleryImageVersionsClient(azuretest.Subscription, c.connection.Credential, c.connection.Options)
	must(t, err)
	var names []string
	for pager := client.NewListPager("eastus", "AKSUbuntu-1", "2404gen2containerd", nil); pager.More(); {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		for _, version := range page.Value {
			names = append(names, *version.Name)
		}
	}
	if len(names) != 2 || names[1] != "202606.10.0" {
		t.Errorf("got %v", names)
	}
	_, err = client.NewListPager("eastus", "AKSUbuntu-1", "absent", nil).NextPage(t.Context())
	wantCode(t, err, "ResourceNotFound", http.StatusNotFound)
	sets, err := armcompute.NewDiskEncryptionSetsClient(azuretest.Subscription, c.connection.Credential, c.connection.Options)
	must(t, err)
	_, err = sets.Get(t.Context(), group, "keys", nil)
	wantCode(t, err, "ResourceNotFound", http.StatusNotFound)
	c.account.Put(azuretest.ID("Microsoft.Compute/diskEncryptionSets", "keys"), map[string]any{"location": "eastus"})
	_, err = sets.Get(t.Context(), group, "keys", nil)
	must(t, err)
}
