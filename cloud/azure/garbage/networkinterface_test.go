package garbage_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/garbage"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

const (
	vms  = "Microsoft.Compute/virtualMachines"
	nics = "Microsoft.Network/networkInterfaces"
)

// world is an account with network interfaces, and a cluster.
func world(t *testing.T) (*azuretest.Account, client.Client, *garbage.NetworkInterfaces) {
	t.Helper()
	clock := azuretest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	account := azuretest.New(azuretest.Options{Clock: clock})
	connection := azuretest.Connect(t, account)
	graph, err := armresourcegraph.NewClient(connection.Credential, connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	interfaces, err := armnetwork.NewInterfacesClient(azuretest.Subscription, connection.Credential, connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	cluster := apiserver.New().Build()
	return account, cluster, &garbage.NetworkInterfaces{Client: cluster, Instances: instance.NewClient(instance.Options{
		Graph: graph, NetworkInterfaces: interfaces, Cluster: "mine", Subscription: azuretest.Subscription,
		ResourceGroup: azuretest.NodeResourceGroup, Clock: clock,
	})}
}

func tagged(tags map[string]any) map[string]any {
	return map[string]any{"location": "eastus", "tags": tags, "properties": map[string]any{}}
}

func pool() map[string]any { return map[string]any{"karpenter.sh_nodepool": "general"} }

func TestNetworkInterfacesWithoutAnInstanceAreDeleted(t *testing.T) {
	t.Attr("covers", "Z149")
	account, cluster, n := world(t)
	account.Put(azuretest.ID(nics, "aks-orphan"), tagged(pool()))
	account.Put(azuretest.ID(nics, "aks-running"), tagged(pool()))
	account.Put(azuretest.ID(vms, "aks-Running"), tagged(pool()))
	account.Put(azuretest.ID(nics, "aks-launching"), tagged(pool()))
	account.Put(azuretest.ID(nics, "other"), tagged(map[string]any{}))
	account.Put(azuretest.ID(nics, "aksmachine"), tagged(map[string]any{"karpenter.sh_nodepool": "general", "karpenter.azure.com_aksmachine_nodeclaim": "x"}))
	account.Put(azuretest.ID(nics, "elsewhere"), tagged(map[string]any{"karpenter.sh_nodepool": "general", "karpenter.azure.com_cluster": "other"}))
	if err := cluster.Create(t.Context(), &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "launching"}}); err != nil {
		t.Fatal(err)
	}
	if err := n.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"aks-orphan": false, "aks-running": true, "aks-launching": true, "other": true, "aksmachine": true, "elsewhere": true} {
		if account.Exists(azuretest.ID(nics, name)) != want {
			t.Errorf("network interface %s: exists %v, want %v", name, !want, want)
		}
	}
}

func TestNothingIsDeletedUnlessAllIsKnown(t *testing.T) {
	account, _, n := world(t)
	account.Put(azuretest.ID(nics, "aks-orphan"), tagged(pool()))
	broken := tagged(pool())
	broken["zones"] = []any{"1", "2"}
	account.Put(azuretest.ID(vms, "aks-broken"), broken)
	if err := n.Collect(t.Context()); err == nil || !account.Exists(azuretest.ID(nics, "aks-orphan")) {
		t.Errorf("deleted, or no error: %v", err)
	}
	account.Remove(azuretest.ID(vms, "aks-broken"))
	n.Client = refusing{n.Client}
	if err := n.Collect(t.Context()); !errors.Is(err, errRefused) || !account.Exists(azuretest.ID(nics, "aks-orphan")) {
		t.Errorf("deleted, or no error: %v", err)
	}
}

func TestNetworkInterfacesThatAzureKeepsAreTriedAgain(t *testing.T) {
	account, _, n := world(t)
	account.Put(azuretest.ID(nics, "aks-a"), tagged(pool()))
	account.Put(azuretest.ID(nics, "aks-b"), tagged(pool()))
	account.Fail("DELETE networkInterfaces", 400, "NicReservedForAnotherVm", "wait 180 seconds", 1)
	for range 2 {
		if err := n.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if account.Exists(azuretest.ID(nics, "aks-a")) || account.Exists(azuretest.ID(nics, "aks-b")) {
		t.Error("a network interface is left over")
	}
}

var errRefused = errors.New("refused")

// refusing is a client whose lists fail.
type refusing struct{ client.Reader }

// List implements client.Reader.
func (refusing) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errRefused
}
