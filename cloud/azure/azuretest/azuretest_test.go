package azuretest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
)

const group = azuretest.NodeResourceGroup

// clients are those of the SDK.
type clients struct {
	account    *azuretest.Account
	connection *azuretest.Connection
	clock      *clocktesting.FakePassiveClock
	machines   *armcompute.VirtualMachinesClient
	extensions *armcompute.VirtualMachineExtensionsClient
	interfaces *armnetwork.InterfacesClient
}

func connect(t *testing.T, options azuretest.Options) *clients {
	t.Helper()
	c := &clients{clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	options.Clock = c.clock
	c.account = azuretest.New(options)
	c.connection = azuretest.Connect(t, c.account)
	compute, err := armcompute.NewClientFactory(azuretest.Subscription, c.connection.Credential, c.connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	network, err := armnetwork.NewClientFactory(azuretest.Subscription, c.connection.Credential, c.connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	c.machines, c.extensions, c.interfaces = compute.NewVirtualMachinesClient(), compute.NewVirtualMachineExtensionsClient(), network.NewInterfacesClient()
	return c
}

// done waits for an operation that was begun.
func done[T any](t *testing.T, poller *runtime.Poller[T], err error) (T, error) {
	t.Helper()
	if err != nil {
		var none T
		return none, err
	}
	return poller.PollUntilDone(t.Context(), &runtime.PollUntilDoneOptions{Frequency: time.Minute})
}

// codeOf is the code and the status of an error of ARM.
func codeOf(t *testing.T, err error) (string, int) {
	t.Helper()
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) {
		t.Fatalf("got error %v, want one of ARM", err)
	}
	return refused.ErrorCode, refused.StatusCode
}

func wantCode(t *testing.T, err error, code string, status int) {
	t.Helper()
	if got, gotStatus := codeOf(t, err); got != code || gotStatus != status {
		t.Errorf("got %s with status %d, want %s with %d: %v", got, gotStatus, code, status, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (c *clients) createInterface(t *testing.T, name string) error {
	t.Helper()
	poller, err := c.interfaces.BeginCreateOrUpdate(t.Context(), group, name, armnetwork.Interface{
		Location: to.Ptr("eastus"), Tags: map[string]*string{"karpenter.sh_nodepool": to.Ptr("default")},
		Properties: &armnetwork.InterfacePropertiesFormat{IPConfigurations: []*armnetwork.InterfaceIPConfiguration{{
			Name: to.Ptr(name), Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{
				Primary: to.Ptr(true), Subnet: &armnetwork.Subnet{ID: to.Ptr(azuretest.SubnetID())},
			},
		}}},
	}, nil)
	_, err = done(t, poller, err)
	return err
}

// virtualMachine is the body of a virtual machine in a zone; regional without one.
func virtualMachine(name, size, zone string, priority armcompute.VirtualMachinePriorityTypes) armcompute.VirtualMachine {
	out := armcompute.VirtualMachine{
		Location: to.Ptr("eastus"), Zones: []*string{}, Tags: map[string]*string{"karpenter.sh_nodepool": to.Ptr("default")},
		Properties: &armcompute.VirtualMachineProperties{
			HardwareProfile: &armcompute.HardwareProfile{VMSize: to.Ptr(armcompute.VirtualMachineSizeTypes(size))},
			Priority:        &priority,
			StorageProfile: &armcompute.StorageProfile{OSDisk: &armcompute.OSDisk{
				Name: to.Ptr(name), CreateOption: to.Ptr(armcompute.DiskCreateOptionTypesFromImage), DeleteOption: to.Ptr(armcompute.DiskDeleteOptionTypesDelete),
			}},
			OSProfile: &armcompute.OSProfile{ComputerName: to.Ptr(name), CustomData: to.Ptr("IyE=")},
			NetworkProfile: &armcompute.NetworkProfile{NetworkInterfaces: []*armcompute.NetworkInterfaceReference{{
				ID:         to.Ptr(azuretest.ID("Microsoft.Network/networkInterfaces", name)),
				Properties: &armcompute.NetworkInterfaceReferenceProperties{Primary: to.Ptr(true), DeleteOption: to.Ptr(armcompute.DeleteOptionsDelete)},
			}}},
		},
	}
	if zone != "" {
		out.Zones = []*string{to.Ptr(zone)}
	}
	return out
}

func (c *clients) launch(t *testing.T, name, size, zone string, priority armcompute.VirtualMachinePriorityTypes) (armcompute.VirtualMachinesClientCreateOrUpdateResponse, error) {
	t.Helper()
	must(t, c.createInterface(t, name))
	poller, err := c.machines.BeginCreateOrUpdate(t.Context(), group, name, virtualMachine(name, size, zone, priority), nil)
	return done(t, poller, err)
}

func (c *clients) remove(t *testing.T, name string) {
	t.Helper()
	poller, err := c.machines.BeginDelete(t.Context(), group, name, &armcompute.VirtualMachinesClientBeginDeleteOptions{ForceDeletion: to.Ptr(true)})
	_, err = done(t, poller, err)
	must(t, err)
}

// TestCredential gets a token of Entra with a secret, and calls ARM with it.
func TestCredential(t *testing.T) {
	c := connect(t, azuretest.Options{})
	options := c.connection.Options.ClientOptions
	secret, err := azidentity.NewClientSecretCredential(azuretest.Tenant, "client", "secret", &azidentity.ClientSecretCredentialOptions{
		ClientOptions: options, DisableInstanceDiscovery: true,
	})
	must(t, err)
	token, err := secret.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{c.connection.URL + "/.default"}})
	must(t, err)
	if token.Token == "" || len(c.account.Calls("POST token")) != 1 {
		t.Errorf("got token %q and calls %v", token.Token, c.account.Calls(""))
	}
	client, err := armcompute.NewVirtualMachinesClient(azuretest.Subscription, secret, c.connection.Options)
	must(t, err)
	_, err = client.Get(t.Context(), group, "absent", nil)
	wantCode(t, err, "ResourceNotFound", http.StatusNotFound)
}

// TestRefusals checks what ARM refuses before it looks at the resource.
func TestRefusals(t *testing.T) {
	c := connect(t, azuretest.Options{})
	for name, test := range map[string]struct {
		path, token, code string
		status            int
	}{
		"no token":         {path: azuretest.ID("Microsoft.Compute/virtualMachines", "a") + "?api-version=2025-04-01", token: "x", code: "InvalidAuthenticationToken", status: 401},
		"no version":       {path: azuretest.ID("Microsoft.Compute/virtualMachines", "a"), code: "MissingApiVersionParameter", status: 400},
		"unknown version":  {path: azuretest.ID("Microsoft.Compute/virtualMachines", "a") + "?api-version=2001-01-01", code: "NoRegisteredProviderFound", status: 400},
		"unknown group":    {path: "/subscriptions/" + azuretest.Subscription + "/resourceGroups/x/providers/Microsoft.Compute/virtualMachines/a?api-version=2025-04-01", code: "ResourceGroupNotFound", status: 404},
		"unknown account":  {path: "/subscriptions/x/providers/Microsoft.Compute/skus?api-version=2021-07-01", code: "SubscriptionNotFound", status: 404},
		"unknown type":     {path: "/subscriptions/" + azuretest.Subscription + "/providers/Microsoft.Else/things", code: "InvalidResourceType", status: 404},
		"unknown resource": {path: azuretest.ID("Microsoft.Compute/virtualMachines", "a") + "?api-version=2025-04-01", code: "ResourceNotFound", status: 404},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.connection.URL+test.path, nil)
			must(t, err)
			token, err := c.connection.Credential.GetToken(t.Context(), policy.TokenRequestOptions{})
			must(t, err)
			request.Header.Set("Authorization", "Bearer "+test.token+token.Token)
			answer, err := c.connection.HTTPClient.Do(request)
			must(t, err)
			defer func() { _ = answer.Body.Close() }()
			wantCode(t, runtime.NewResponseError(answer), test.code, test.status)
		})
	}
}

// withBody replaces the body of requests.
type withBody string

// Do sends the request.
func (w withBody) Do(r *policy.Request) (*http.Response, error) {
	if err := runtime.MarshalAsJSON(r, json.RawMessage(w)); err != nil {
		return nil, err
	}
	return r.Next()
}

// TestBodiesAreCopies checks that what a test changes in a body does not change the resource.
func TestBodiesAreCopies(t *testing.T) {
	c, id := connect(t, azuretest.Options{}), azuretest.ID("Microsoft.Compute/virtualMachines", "copied")
	put := func() map[string]any {
		return map[string]any{"zones": []any{"1"}, "properties": map[string]any{
			"list": []any{map[string]any{"name": "a"}}, "objects": []map[string]any{{"name": "b"}}, "count": 1, "none": nil,
		}}
	}
	c.account.Put(id, put())
	properties := func() map[string]any { return c.account.Body(id)["properties"].(map[string]any) }
	changed := properties()
	changed["list"].([]any)[0].(map[string]any)["name"] = "changed"
	changed["objects"].([]any)[0].(map[string]any)["name"] = "changed"
	changed["count"] = 2
	c.account.Body(id)["zones"].([]any)[0] = "2"
	want := map[string]any{"list": []any{map[string]any{"name": "a"}}, "objects": []any{map[string]any{"name": "b"}}, "count": 1, "none": nil}
	if diff := cmp.Diff(want, properties()); diff != "" {
		t.Errorf("the resource has changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"1"}, c.account.Body(id)["zones"]); diff != "" {
		t.Errorf("the resource has changed (-want +got):\n%s", diff)
	}
	if c.account.Body(id+"x") != nil {
		t.Error("a resource that does not exist has a body")
	}
}
