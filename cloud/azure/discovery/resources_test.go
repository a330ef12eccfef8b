package discovery_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	computefake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	networkfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6/fake"

	"github.com/karpenter-anew/karpenter/cloud/azure/discovery"
	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
)

// resources are those of one subnet and one disk encryption set; others are not there.
func resources(t *testing.T) *discovery.Resources {
	t.Helper()
	subnets := networkfake.SubnetsServer{Get: func(_ context.Context, group, vnet, name string, _ *armnetwork.SubnetsClientGetOptions) (out fake.Responder[armnetwork.SubnetsClientGetResponse], failed fake.ErrorResponder) {
		if group+"/"+vnet+"/"+name == "net/vnet/nodes" {
			out.SetResponse(http.StatusOK, armnetwork.SubnetsClientGetResponse{}, nil)
		} else {
			failed.SetResponseError(http.StatusNotFound, "NotFound")
		}
		return out, failed
	}}
	sets := computefake.DiskEncryptionSetsServer{Get: func(_ context.Context, group, name string, _ *armcompute.DiskEncryptionSetsClientGetOptions) (out fake.Responder[armcompute.DiskEncryptionSetsClientGetResponse], failed fake.ErrorResponder) {
		if group+"/"+name == "keys/mine" {
			out.SetResponse(http.StatusOK, armcompute.DiskEncryptionSetsClientGetResponse{}, nil)
		} else {
			failed.SetResponseError(http.StatusForbidden, "AuthorizationFailed")
		}
		return out, failed
	}}
	subnetsClient, err := armnetwork.NewSubnetsClient("sub", &fake.TokenCredential{}, &arm.ClientOptions{ClientOptions: policy.ClientOptions{Transport: networkfake.NewSubnetsServerTransport(&subnets)}})
	if err != nil {
		t.Fatal(err)
	}
	setsClient, err := armcompute.NewDiskEncryptionSetsClient("sub", &fake.TokenCredential{}, &arm.ClientOptions{ClientOptions: policy.ClientOptions{Transport: computefake.NewDiskEncryptionSetsServerTransport(&sets)}})
	if err != nil {
		t.Fatal(err)
	}
	return &discovery.Resources{Subnets: subnetsClient, DiskEncryptionSets: setsClient}
}

func TestResources(t *testing.T) {
	r := resources(t)
	here := subnet.ID{Subscription: "sub", ResourceGroup: "net", VirtualNetwork: "vnet", Name: "nodes"}
	if free, err := r.Subnet(t.Context(), here); err != nil || free != subnet.UnknownFree {
		t.Errorf("%d addresses are free, %v", free, err)
	}
	status := func(err error) int {
		var response *azcore.ResponseError
		if !errors.As(err, &response) {
			return 0
		}
		return response.StatusCode
	}
	here.Name = "others"
	if _, err := r.Subnet(t.Context(), here); status(err) != http.StatusNotFound {
		t.Errorf("the error is %v", err)
	}
	const set = "/subscriptions/sub/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/"
	if err := r.DiskEncryptionSet(t.Context(), set+"mine"); err != nil {
		t.Error(err)
	}
	if err := r.DiskEncryptionSet(t.Context(), set+"other"); status(err) != http.StatusForbidden {
		t.Errorf("the error is %v", err)
	}
	if err := r.DiskEncryptionSet(t.Context(), "mine"); err == nil {
		t.Error("no error")
	}
}
