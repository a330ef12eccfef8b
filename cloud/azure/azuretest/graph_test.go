package azuretest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
)

// query selects resources of a type that the provider created.
func query(kind string) string {
	return "Resources | where type == '" + kind + "' | where resourceGroup == '" + strings.ToLower(group) +
		"' | where tags has_cs 'karpenter.sh_nodepool' | where not(tags has_cs 'karpenter.azure.com_aksmachine_nodeclaim')"
}

// names are the names of the rows of all pages, and the number of pages.
func (c *clients) names(t *testing.T, text string) ([]string, int, error) {
	t.Helper()
	client, err := armresourcegraph.NewClient(c.connection.Credential, c.connection.Options)
	must(t, err)
	request := armresourcegraph.QueryRequest{
		Query: &text, Subscriptions: []*string{to.Ptr(azuretest.Subscription)},
		Options: &armresourcegraph.QueryRequestOptions{ResultFormat: to.Ptr(armresourcegraph.ResultFormatObjectArray)},
	}
	var out []string
	for pages := 1; ; pages++ {
		answer, err := client.Resources(t.Context(), request, nil)
		if err != nil {
			return nil, 0, err
		}
		rows, _ := answer.Data.([]any)
		for _, row := range rows {
			object, _ := row.(map[string]any)
			name, _ := object["name"].(string)
			out = append(out, name)
		}
		if answer.SkipToken == nil {
			return out, pages, nil
		}
		request.Options.SkipToken = answer.SkipToken
	}
}

// TestGraph lists what the provider created, and nothing else, page by page.
func TestGraph(t *testing.T) {
	c := connect(t, azuretest.Options{PageSize: 2})
	for i := range 3 {
		_, err := c.launch(t, fmt.Sprintf("aks-%d", i), "Standard_D2s_v3", "1", "Regular")
		must(t, err)
	}
	tagged := func(tags map[string]any) map[string]any { return map[string]any{"tags": tags} }
	c.account.Put(azuretest.ID("Microsoft.Compute/virtualMachines", "untagged"), tagged(map[string]any{}))
	c.account.Put(azuretest.ID("Microsoft.Compute/virtualMachines", "longer"), tagged(map[string]any{"karpenter.sh_nodepools": "x"}))
	c.account.Put(azuretest.ID("Microsoft.Compute/virtualMachines", "case"), tagged(map[string]any{"karpenter.sh_NodePool": "x"}))
	c.account.Put(azuretest.ID("Microsoft.Compute/virtualMachines", "aksmachine"), tagged(map[string]any{
		"karpenter.sh_nodepool": "x", "karpenter.azure.com_aksmachine_nodeclaim": "x",
	}))
	for _, kind := range []string{"microsoft.compute/virtualmachines", "microsoft.network/networkinterfaces"} {
		got, pages, err := c.names(t, query(kind))
		must(t, err)
		if !slices.Equal(got, []string{"aks-0", "aks-1", "aks-2"}) || pages != 2 {
			t.Errorf("%s: got %v on %d pages", kind, got, pages)
		}
	}
	_, _, err := c.names(t, query("microsoft.compute/virtualmachines")+" | order by name")
	wantCode(t, err, "BadRequest", http.StatusBadRequest)
}

// TestGraphLags checks that Resource Graph knows neither new nor deleted virtual machines at once.
func TestGraphLags(t *testing.T) {
	c := connect(t, azuretest.Options{})
	c.account.LagGraph(time.Minute)
	want := func(names ...string) {
		t.Helper()
		got, _, err := c.names(t, query("microsoft.compute/virtualmachines"))
		must(t, err)
		if !slices.Equal(got, names) {
			t.Errorf("got %v, want %v", got, names)
		}
	}
	_, err := c.launch(t, "aks-a", "Standard_D2s_v3", "1", "Regular")
	must(t, err)
	want()
	c.clock.SetTime(c.clock.Now().Add(time.Minute))
	want("aks-a")
	c.remove(t, "aks-a")
	want("aks-a")
	c.clock.SetTime(c.clock.Now().Add(time.Minute))
	want()
}
