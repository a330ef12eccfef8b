package discovery_test

import (
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/discovery"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
)

// TestVersionsOfSharedGalleries reads a list of more than one page.
func TestVersionsOfSharedGalleries(t *testing.T) {
	account := azuretest.New(azuretest.Options{})
	const count = 250
	want := map[image.SharedVersion]bool{}
	for i := range count {
		v := image.SharedVersion{OS: "AKSUbuntu", SKU: "2404gen2containerd", Version: fmt.Sprintf("202606.%d.0", i)}
		want[v] = true
		account.Put(azuretest.ImageVersionID("eastus", v.OS+"-"+v.SKU+"-"+v.Version), map[string]any{"os": v.OS, "sku": v.SKU, "version": v.Version, "fullName": "-"})
	}
	connection := azuretest.Connect(t, account)
	client, err := arm.NewClient("test", "v1.0.0", connection.Credential, connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	shared := discovery.Shared{Client: client, Subscription: azuretest.Subscription, Location: "eastus", APIVersion: "2026-04-02-preview"}
	got, err := shared.Versions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[image.SharedVersion]bool{}
	for _, v := range got {
		found[v] = true
	}
	if diff := cmp.Diff(want, found); diff != "" || len(got) != count {
		t.Errorf("%d versions (-want +got)\n%s", len(got), diff)
	}
	if calls := len(account.Calls("GET nodeImageVersions")); calls < 2 {
		t.Errorf("%d pages", calls)
	}
	shared.APIVersion = "2020-01-01"
	if got, err := shared.Versions(t.Context()); err == nil || got != nil {
		t.Errorf("with an unknown version of the API: %v, %v", got, err)
	}
}
