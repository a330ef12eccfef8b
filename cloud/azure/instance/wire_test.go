package instance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	computefake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	networkfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6/fake"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
)

// wire is between the clients of the SDK and its servers for tests: it has what was sent, and what the servers read of it.
type wire struct {
	next policy.Transporter
	// sent and read are bodies by the last part of the path, such as aks-c; read is as the SDK writes it again.
	sent, read map[string]string
	// kind tells apart resources that have one name.
	kind string
}

// Do implements policy.Transporter.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Method == http.MethodPut {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		w.sent[w.kind+path.Base(r.URL.Path)] = string(text)
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	return w.next.Do(r)
}

// decoded records what a server has read.
func (w *wire) decoded(name string, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	w.read[w.kind+name] = string(text)
}

// wired returns a client whose requests reach servers that accept all of them, and what is sent.
func wired(t *testing.T) (*instance.Client, *wire) {
	t.Helper()
	vms := &wire{sent: map[string]string{}, read: map[string]string{}, kind: "compute/"}
	nics := &wire{sent: vms.sent, read: vms.read, kind: "network/"}
	vms.next = computefake.NewServerFactoryTransport(&computefake.ServerFactory{
		VirtualMachinesServer: computefake.VirtualMachinesServer{
			Get: func(context.Context, string, string, *armcompute.VirtualMachinesClientGetOptions) (resp azfake.Responder[armcompute.VirtualMachinesClientGetResponse], errResp azfake.ErrorResponder) {
				errResp.SetResponseError(http.StatusNotFound, "ResourceNotFound")
				return resp, errResp
			},
			BeginCreateOrUpdate: func(_ context.Context, _, name string, body armcompute.VirtualMachine, _ *armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions) (
				resp azfake.PollerResponder[armcompute.VirtualMachinesClientCreateOrUpdateResponse], errResp azfake.ErrorResponder,
			) {
				vms.decoded(name, body)
				resp.SetTerminalResponse(http.StatusOK, armcompute.VirtualMachinesClientCreateOrUpdateResponse{VirtualMachine: body}, nil)
				return resp, errResp
			},
		},
		VirtualMachineExtensionsServer: computefake.VirtualMachineExtensionsServer{
			BeginCreateOrUpdate: func(_ context.Context, _, _, name string, body armcompute.VirtualMachineExtension, _ *armcompute.VirtualMachineExtensionsClientBeginCreateOrUpdateOptions) (
				resp azfake.PollerResponder[armcompute.VirtualMachineExtensionsClientCreateOrUpdateResponse], errResp azfake.ErrorResponder,
			) {
				vms.decoded(name, body)
				resp.SetTerminalResponse(http.StatusOK, armcompute.VirtualMachineExtensionsClientCreateOrUpdateResponse{VirtualMachineExtension: body}, nil)
				return resp, errResp
			},
		},
	})
	nics.next = networkfake.NewServerFactoryTransport(&networkfake.ServerFactory{InterfacesServer: networkfake.InterfacesServer{
		BeginCreateOrUpdate: func(_ context.Context, _, name string, body armnetwork.Interface, _ *armnetwork.InterfacesClientBeginCreateOrUpdateOptions) (
			resp azfake.PollerResponder[armnetwork.InterfacesClientCreateOrUpdateResponse], errResp azfake.ErrorResponder,
		) {
			nics.decoded(name, body)
			id := "NIC"
			body.ID = &id
			resp.SetTerminalResponse(http.StatusOK, armnetwork.InterfacesClientCreateOrUpdateResponse{Interface: body}, nil)
			return resp, errResp
		},
	}})
	options := func(transport policy.Transporter) *arm.ClientOptions {
		return &arm.ClientOptions{ClientOptions: policy.ClientOptions{Transport: transport}, DisableRPRegistration: true}
	}
	compute, err := armcompute.NewClientFactory("sub", &azfake.TokenCredential{}, options(vms))
	if err != nil {
		t.Fatal(err)
	}
	interfaces, err := armnetwork.NewInterfacesClient("sub", &azfake.TokenCredential{}, options(nics))
	if err != nil {
		t.Fatal(err)
	}
	return instance.NewClient(instance.Options{
		VirtualMachines: compute.NewVirtualMachinesClient(), Extensions: compute.NewVirtualMachineExtensionsClient(), NetworkInterfaces: interfaces,
		Subscription: "sub", ResourceGroup: "MC_group", Clock: clock.RealClock{},
	}), vms
}

// Bodies of the conformance vectors, with T for the tags.
const (
	goldenNIC = `{"location":"L","tags":T,"properties":{"enableAcceleratedNetworking":true,"enableIPForwarding":false,"networkSecurityGroup":{"id":"N"},
"ipConfigurations":[{"name":"aks-c","properties":{"primary":true,"privateIPAllocationMethod":"Dynamic","subnet":{"id":"S"},"loadBalancerBackendAddressPools":[{"id":"P"}]}}MORE]}}`
	goldenSpot = `{"location":"L","zones":["2"],"tags":T,"identity":{"type":"UserAssigned","userAssignedIdentities":{"I":{}}},
"properties":{"hardwareProfile":{"vmSize":"Standard_D64s_v3"},"storageProfile":{"osDisk":{"name":"aks-c","diskSizeGB":128,"createOption":"FromImage","deleteOption":"Delete",
"caching":"ReadOnly","diffDiskSettings":{"option":"Local","placement":"CacheDisk"}},"imageReference":{"communityGalleryImageId":"G"}},
"networkProfile":{"networkInterfaces":[{"id":"NIC","properties":{"primary":true,"deleteOption":"Delete"}}]},
"osProfile":{"adminUsername":"azureuser","computerName":"aks-c","customData":"B64","linuxConfiguration":{"disablePasswordAuthentication":true,
"ssh":{"publicKeys":[{"keyData":"K","path":"/home/azureuser/.ssh/authorized_keys"}]}}},"priority":"Spot","evictionPolicy":"Delete","billingProfile":{"maxPrice":-1}}}`
	goldenOnDemand = `{"location":"L","zones":[],"tags":T,
"properties":{"hardwareProfile":{"vmSize":"Standard_D64s_v3"},"storageProfile":{"osDisk":{"name":"aks-c","diskSizeGB":1718,"createOption":"FromImage","deleteOption":"Delete",
"managedDisk":{"diskEncryptionSet":{"id":"DES"}}},"imageReference":{"id":"G"}},
"networkProfile":{"networkInterfaces":[{"id":"NIC","properties":{"primary":true,"deleteOption":"Delete"}}]},
"osProfile":{"adminUsername":"azureuser","computerName":"aks-c","customData":"B64","linuxConfiguration":{"disablePasswordAuthentication":true,
"ssh":{"publicKeys":[{"keyData":"K","path":"/home/azureuser/.ssh/authorized_keys"}]}}},"priority":"Regular",
"securityProfile":{"encryptionAtHost":false,"securityType":"TrustedLaunch","uefiSettings":{"secureBootEnabled":true,"vTpmEnabled":false}},
"additionalCapabilities":{"ultraSSDEnabled":true}}}`
	goldenBilling = `{"location":"L","tags":T,"properties":{"publisher":"Microsoft.AKS","type":"Compute.AKS.Linux.Billing","typeHandlerVersion":"1.0","autoUpgradeMinorVersion":true,"settings":{}}}`
	goldenScript  = `{"location":"L","tags":T,"properties":{"publisher":"Microsoft.Azure.Extensions","type":"CustomScript","typeHandlerVersion":"2.0","autoUpgradeMinorVersion":true,
"protectedSettings":{"commandToExecute":"run"}}}`
)

// TestBodiesOnTheWire sends whole launches with the clients of the SDK to its servers: what arrives is that of the vectors, and the servers read
// all of it. A field that the SDK does not know would be lost without an error.
//
// Source: Azure provider specification, conformance vectors, wire bodies.
func TestBodiesOnTheWire(t *testing.T) {
	t.Attr("covers", "Z102 Z103 Z104 Z105 Z106 Z107 Z110 Z213 Z214")
	var more strings.Builder
	for n := 1; n <= 29; n++ {
		fmt.Fprintf(&more, `,{"name":"ipconfig%d","properties":{"primary":false,"privateIPAllocationMethod":"Dynamic","subnet":{"id":"S"}}}`, n)
	}
	for name, test := range map[string]struct {
		change func(*instance.Request, *network.InterfaceSpec)
		want   map[string]string
	}{
		"spot, zonal, ephemeral, community image": {func(r *instance.Request, _ *network.InterfaceSpec) {
			r.VM.Zone, r.VM.Spot, r.VM.EphemeralPlacement, r.VM.Image.Community, r.VM.Identities = "eastus-2", true, "CacheDisk", true, []string{"I"}
		}, map[string]string{"network/aks-c": strings.ReplaceAll(goldenNIC, "MORE", ""), "compute/aks-c": goldenSpot, "compute/computeAksLinuxBilling": goldenBilling}},
		"on-demand, regional, managed disk, shared image": {func(r *instance.Request, n *network.InterfaceSpec) {
			r.VM.DiskEncryptionSet, r.VM.UltraSSD, r.Command, r.Cloud = "DES", true, "run", "AzureStackCloud"
			r.Class.Spec.OSDiskSizeGB = new(int32(1718))
			r.Class.Spec.Security = &v1beta1.Security{EncryptionAtHost: new(false), TrustedLaunch: &v1beta1.TrustedLaunch{SecureBoot: new(true)}}
			n.Plugin, n.MaxPods = instancetype.Network{Plugin: "azure"}, 30
		}, map[string]string{"network/aks-c": strings.ReplaceAll(goldenNIC, "MORE", more.String()), "compute/aks-c": goldenOnDemand, "compute/cse-agent-karpenter": goldenScript}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tags := map[string]string{"compute.aks.billing": "linux", "karpenter.azure.com_cluster": "test-cluster", "karpenter.sh_nodepool": "default"}
				r := instance.Request{Class: &v1beta1.AKSNodeClass{}, Cloud: "AzurePublicCloud", VM: virtualmachine.Spec{
					Name: "aks-c", Location: "L", Zone: "0", Size: "Standard_D64s_v3", Tags: tags, Image: virtualmachine.Image{ID: "G"},
					AdminUser: "azureuser", SSHKey: "K", CustomData: "B64",
				}}
				nic := &network.InterfaceSpec{
					Name: "aks-c", Location: "L", Tags: tags, Accelerated: true, Plugin: instancetype.Network{Plugin: "azure", Mode: "overlay"}, MaxPods: 250,
					Attachment: network.Attachment{SubnetID: "S", Pools: network.Pools{IDs: []string{"P"}}, SecurityGroupID: "N"},
				}
				test.change(&r, nic)
				r.NIC = network.InterfaceBody(nic)
				client, recorded := wired(t)
				launch, err := client.Create(t.Context(), r)
				if err == nil {
					err = launch.Wait(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]any{}
				for resource, golden := range test.want {
					golden = strings.Replace(golden, `"id":"NIC"`, `"id":"/subscriptions/sub/resourceGroups/MC_group/providers/Microsoft.Network/networkInterfaces/aks-c"`, 1)
					want[resource] = tree(t, strings.Replace(golden, "T,", `{"compute.aks.billing":"linux","karpenter.azure.com_cluster":"test-cluster","karpenter.sh_nodepool":"default"},`, 1))
				}
				if diff := cmp.Diff(want, trees(t, recorded.sent)); diff != "" {
					t.Errorf("sent (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(trees(t, recorded.sent), trees(t, recorded.read)); diff != "" {
					t.Errorf("what the SDK reads (-sent +read):\n%s", diff)
				}
			})
		})
	}
}

func tree(t *testing.T, text string) (out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func trees(t *testing.T, texts map[string]string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, text := range texts {
		out[name] = tree(t, text)
	}
	return out
}
