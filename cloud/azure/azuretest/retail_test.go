package azuretest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/retail"
)

// TestPrices reads the price list with the client of the provider, page by page.
func TestPrices(t *testing.T) {
	c := connect(t, azuretest.Options{PageSize: 7})
	client := retail.New(c.connection.URL, "v1.0.0", &c.connection.Options.ClientOptions)
	items, err := client.Items(t.Context(), "eastus")
	must(t, err)
	prices := map[string]float64{}
	for _, item := range items {
		if !strings.Contains(item.ProductName, "Windows") {
			prices[item.ARMSKUName+"/"+item.MeterName] = item.RetailPrice
		}
	}
	if len(items) != 4*len(azuretest.Sizes()) || prices["Standard_D4s_v3/D4s v3"] != 0.192 || prices["Standard_D4s_v3/D4s v3 Spot"] >= 0.192 {
		t.Errorf("got %v", prices)
	}
	elsewhere, err := client.Items(t.Context(), "westus")
	must(t, err)
	if len(elsewhere) != 0 {
		t.Errorf("got prices of another location: %v", elsewhere)
	}
}

// fetch sends a request without TLS, and returns the status and the object of the answer; headers are names and values.
func fetch(t *testing.T, method, url, body string, headers ...string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	var out map[string]any
	if len(text) > 0 {
		must(t, json.Unmarshal(text, &out))
	}
	return answer.StatusCode, out
}

// TestEviction checks that a spot virtual machine is told 30 seconds before it is deleted, and earlier deleted if it agrees.
func TestEviction(t *testing.T) {
	c := connect(t, azuretest.Options{})
	for name, priority := range map[string]armcompute.VirtualMachinePriorityTypes{"aks-a": "Spot", "aks-b": "Spot", "aks-c": "Regular"} {
		_, err := c.launch(t, name, "Standard_D2s_v3", "1", priority)
		must(t, err)
		c.account.Evict(azuretest.ID("Microsoft.Compute/virtualMachines", name))
	}
	events := func(name string) []any {
		status, got := fetch(t, http.MethodGet, c.connection.MetadataURL(name)+"/scheduledevents?api-version=2020-07-01", "", "Metadata", "true")
		if status != http.StatusOK {
			return nil
		}
		list, _ := got["Events"].([]any)
		return list
	}
	first := events("aks-a")
	if len(first) != 1 || len(events("aks-c")) != 0 {
		t.Fatalf("got %v for spot and %v for regular", first, events("aks-c"))
	}
	event, _ := first[0].(map[string]any)
	if textIn(event, "EventType") != "Preempt" || textIn(event, "NotBefore") != "Thu, 01 Jan 2026 00:00:30 GMT" {
		t.Errorf("got %v", event)
	}
	status, _ := fetch(t, http.MethodPost, c.connection.MetadataURL("aks-a")+"/scheduledevents?api-version=2020-07-01",
		`{"StartRequests":[{"EventId":"`+textIn(event, "EventId")+`"}]}`, "Metadata", "true")
	if status != http.StatusOK || c.account.Exists(azuretest.ID("Microsoft.Compute/virtualMachines", "aks-a")) {
		t.Errorf("the virtual machine that agreed exists, status %d", status)
	}
	b := azuretest.ID("Microsoft.Compute/virtualMachines", "aks-b")
	if !c.account.Exists(b) {
		t.Error("the virtual machine is evicted too early")
	}
	c.clock.SetTime(c.clock.Now().Add(azuretest.EvictionNotice))
	if c.account.Exists(b) || c.account.Exists(azuretest.ID("Microsoft.Network/networkInterfaces", "aks-b")) {
		t.Error("the virtual machine is not evicted")
	}
	if status, _ := fetch(t, http.MethodGet, c.connection.MetadataURL("aks-c")+"/instance?api-version=2021-02-01", ""); status != http.StatusBadRequest {
		t.Errorf("without the header: status %d", status)
	}
	_, instance := fetch(t, http.MethodGet, c.connection.MetadataURL("aks-c")+"/instance?api-version=2021-02-01", "", "Metadata", "true")
	if textIn(instance, "compute", "vmSize") != "Standard_D2s_v3" || textIn(instance, "compute", "zone") != "1" {
		t.Errorf("got %v", instance)
	}
}

// TestManagedIdentity gets the token of a managed identity from the metadata service.
func TestManagedIdentity(t *testing.T) {
	c := connect(t, azuretest.Options{})
	identity, err := azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{ClientOptions: c.connection.Options.ClientOptions})
	must(t, err)
	_, err = identity.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{c.connection.URL + "/.default"}})
	must(t, err)
	client, err := armcompute.NewVirtualMachinesClient(azuretest.Subscription, identity, c.connection.Options)
	must(t, err)
	_, err = client.Get(t.Context(), group, "absent", nil)
	wantCode(t, err, "ResourceNotFound", http.StatusNotFound)
}

// TestBootstrap asks the bootstrapping service, and the server of tokens for galleries.
func TestBootstrap(t *testing.T) {
	c := connect(t, azuretest.Options{})
	url := "http://" + c.connection.BootstrapHost() + "/subscriptions/" + azuretest.Subscription + "/resourceGroups/" + azuretest.ClusterResourceGroup +
		"/providers/Microsoft.ContainerService/managedclusters/test/nodeBootstrapping"
	token, err := c.connection.Credential.GetToken(t.Context(), policy.TokenRequestOptions{})
	must(t, err)
	body := `{"provisionProfile":{"vmSize":"Standard_D2s_v3","orchestratorVersion":"1.34.1","distro":"aks-ubuntu-containerd-24.04-gen2"},"provisionHelperValues":{"skuCPU":2,"skuMemory":8}}`
	status, got := fetch(t, http.MethodGet, url, body, "Authorization", "Bearer "+token.Token)
	if status != http.StatusOK || textIn(got, "customData") == "" || !strings.Contains(textIn(got, "cse"), "{{.TokenID}}.{{.TokenSecret}}") {
		t.Errorf("got %d, %v", status, got)
	}
	if status, _ := fetch(t, http.MethodGet, url, body); status != http.StatusUnauthorized {
		t.Errorf("without a token: status %d", status)
	}
	if status, _ := fetch(t, http.MethodGet, url, `{}`, "Authorization", "Bearer "+token.Token); status != http.StatusBadRequest {
		t.Errorf("without fields: status %d", status)
	}
	status, got = fetch(t, http.MethodGet, c.connection.GalleryTokenURL()+"?scope=https://management.azure.com/.default", "")
	if expires, err := time.Parse(time.RFC3339, textIn(got, "ExpiresOn")); status != http.StatusOK || textIn(got, "Token") == "" || err != nil || expires.IsZero() {
		t.Errorf("got %d, %v", status, got)
	}
}
