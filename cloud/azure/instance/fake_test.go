package instance_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	computefake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	networkfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6/fake"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
)

// failure is an answer of Azure: an HTTP status and an error code.
type failure struct {
	status int
	code   string
}

// azure answers the real clients of the SDK. It keeps what exists by name, and the calls that it got in order.
type azure struct {
	// mu guards vms while a launch waits in another goroutine.
	mu         sync.Mutex
	calls      []string
	vms        map[string]armcompute.VirtualMachine
	nics       map[string]armnetwork.Interface
	extensions map[string]armcompute.VirtualMachineExtension
	// nicFailures are the next answers to requests for network interfaces.
	nicFailures []failure
	// refused is the answer to requests for virtual machines, operation that of the operation, extension that for extensions.
	refused, operation, extension, nicDeletion *failure
	// forced says whether the last deletion was forced.
	forced bool
}

// simulate runs a test with a client of a simulated Azure, in simulated time.
func simulate(t *testing.T, test func(*testing.T, *azure, *instance.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &azure{
			vms: map[string]armcompute.VirtualMachine{}, nics: map[string]armnetwork.Interface{},
			extensions: map[string]armcompute.VirtualMachineExtension{},
		}
		test(t, a, a.client(t))
	})
}

func (a *azure) client(t *testing.T) *instance.Client {
	t.Helper()
	options := func(transport policy.Transporter) *arm.ClientOptions {
		return &arm.ClientOptions{ClientOptions: policy.ClientOptions{Transport: transport}, DisableRPRegistration: true}
	}
	compute, err := armcompute.NewClientFactory("sub", &azfake.TokenCredential{}, options(computefake.NewServerFactoryTransport(&computefake.ServerFactory{
		VirtualMachinesServer: computefake.VirtualMachinesServer{
			Get: a.getVM, BeginCreateOrUpdate: a.putVM, BeginDelete: a.deleteVM,
		},
		VirtualMachineExtensionsServer: computefake.VirtualMachineExtensionsServer{BeginCreateOrUpdate: a.putExtension},
	})))
	if err != nil {
		t.Fatal(err)
	}
	network, err := armnetwork.NewClientFactory("sub", &azfake.TokenCredential{}, options(networkfake.NewServerFactoryTransport(&networkfake.ServerFactory{
		InterfacesServer: networkfake.InterfacesServer{Get: a.getNIC, BeginCreateOrUpdate: a.putNIC, BeginDelete: a.deleteNIC},
	})))
	if err != nil {
		t.Fatal(err)
	}
	return instance.NewClient(instance.Options{
		VirtualMachines: compute.NewVirtualMachinesClient(), Extensions: compute.NewVirtualMachineExtensionsClient(),
		NetworkInterfaces: network.NewInterfacesClient(), Subscription: "sub", ResourceGroup: "MC_group", Clock: clock.RealClock{},
	})
}

func (a *azure) getVM(_ context.Context, _, name string, _ *armcompute.VirtualMachinesClientGetOptions) (
	resp azfake.Responder[armcompute.VirtualMachinesClientGetResponse], errResp azfake.ErrorResponder,
) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, "get vm")
	vm, ok := a.vms[name]
	if !ok {
		errResp.SetResponseError(http.StatusNotFound, "ResourceNotFound")
		return resp, errResp
	}
	resp.SetResponse(http.StatusOK, armcompute.VirtualMachinesClientGetResponse{VirtualMachine: vm}, nil)
	return resp, errResp
}

func (a *azure) putVM(_ context.Context, _, name string, body armcompute.VirtualMachine, _ *armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions) (
	resp azfake.PollerResponder[armcompute.VirtualMachinesClientCreateOrUpdateResponse], errResp azfake.ErrorResponder,
) {
	a.calls = append(a.calls, "put vm")
	if a.refused != nil {
		errResp.SetResponseError(a.refused.status, a.refused.code)
		return resp, errResp
	}
	a.vms[name] = body
	resp.AddNonTerminalResponse(http.StatusCreated, nil)
	if a.operation != nil {
		resp.SetTerminalError(a.operation.status, a.operation.code)
		return resp, errResp
	}
	resp.SetTerminalResponse(http.StatusOK, armcompute.VirtualMachinesClientCreateOrUpdateResponse{VirtualMachine: body}, nil)
	return resp, errResp
}

func (a *azure) deleteVM(_ context.Context, _, name string, options *armcompute.VirtualMachinesClientBeginDeleteOptions) (
	resp azfake.PollerResponder[armcompute.VirtualMachinesClientDeleteResponse], errResp azfake.ErrorResponder,
) {
	a.calls = append(a.calls, "delete vm")
	a.forced = options != nil && options.ForceDeletion != nil && *options.ForceDeletion
	delete(a.vms, name)
	resp.AddNonTerminalResponse(http.StatusAccepted, nil)
	resp.SetTerminalResponse(http.StatusOK, armcompute.VirtualMachinesClientDeleteResponse{}, nil)
	return resp, errResp
}

func (a *azure) putExtension(_ context.Context, _, _, name string, body armcompute.VirtualMachineExtension,
	_ *armcompute.VirtualMachineExtensionsClientBeginCreateOrUpdateOptions,
) (resp azfake.PollerResponder[armcompute.VirtualMachineExtensionsClientCreateOrUpdateResponse], errResp azfake.ErrorResponder) {
	a.calls = append(a.calls, "put extension "+name)
	if a.extension != nil {
		errResp.SetResponseError(a.extension.status, a.extension.code)
		return resp, errResp
	}
	a.extensions[name] = body
	resp.SetTerminalResponse(http.StatusOK, armcompute.VirtualMachineExtensionsClientCreateOrUpdateResponse{VirtualMachineExtension: body}, nil)
	return resp, errResp
}

func (a *azure) getNIC(_ context.Context, _, name string, _ *armnetwork.InterfacesClientGetOptions) (
	resp azfake.Responder[armnetwork.InterfacesClientGetResponse], errResp azfake.ErrorResponder,
) {
	a.calls = append(a.calls, "get nic")
	nic, ok := a.nics[name]
	if !ok {
		errResp.SetResponseError(http.StatusNotFound, "ResourceNotFound")
		return resp, errResp
	}
	resp.SetResponse(http.StatusOK, armnetwork.InterfacesClientGetResponse{Interface: nic}, nil)
	return resp, errResp
}

func (a *azure) putNIC(_ context.Context, _, name string, body armnetwork.Interface, _ *armnetwork.InterfacesClientBeginCreateOrUpdateOptions) (
	resp azfake.PollerResponder[armnetwork.InterfacesClientCreateOrUpdateResponse], errResp azfake.ErrorResponder,
) {
	a.calls = append(a.calls, "put nic")
	if len(a.nicFailures) > 0 {
		errResp.SetResponseError(a.nicFailures[0].status, a.nicFailures[0].code)
		a.nicFailures = a.nicFailures[1:]
		return resp, errResp
	}
	id := "/nic/" + name
	body.ID = &id
	a.nics[name] = body
	resp.AddNonTerminalResponse(http.StatusCreated, nil)
	resp.SetTerminalResponse(http.StatusOK, armnetwork.InterfacesClientCreateOrUpdateResponse{Interface: body}, nil)
	return resp, errResp
}

func (a *azure) deleteNIC(_ context.Context, _, name string, _ *armnetwork.InterfacesClientBeginDeleteOptions) (
	resp azfake.PollerResponder[armnetwork.InterfacesClientDeleteResponse], errResp azfake.ErrorResponder,
) {
	a.calls = append(a.calls, "delete nic")
	if a.nicDeletion != nil {
		errResp.SetResponseError(a.nicDeletion.status, a.nicDeletion.code)
		return resp, errResp
	}
	delete(a.nics, name)
	resp.SetTerminalResponse(http.StatusOK, armnetwork.InterfacesClientDeleteResponse{}, nil)
	return resp, errResp
}
