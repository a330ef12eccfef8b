package instance_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
)

// graphWorld is an account with a client that lists it.
func graphWorld(t *testing.T, now clock.Clock, pageSize int) (*azuretest.Account, *instance.Client) {
	t.Helper()
	account := azuretest.New(azuretest.Options{Clock: now, PageSize: pageSize})
	connection := azuretest.Connect(t, account)
	graph, err := armresourcegraph.NewClient(connection.Credential, connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	return account, instance.NewClient(instance.Options{
		Graph: graph, Cluster: "mine", Subscription: azuretest.Subscription, ResourceGroup: azuretest.NodeResourceGroup, Clock: now,
	})
}

// row is a virtual machine in Resource Graph.
func row(tags map[string]any, properties map[string]any) map[string]any {
	tags["karpenter.sh_nodepool"] = "general"
	return map[string]any{"location": "westus2", "zones": []any{"2"}, "tags": tags, "properties": properties}
}

func TestListOfVirtualMachines(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	account, client := graphWorld(t, clock, 2)
	const vms = "Microsoft.Compute/virtualMachines"
	spot := map[string]any{"hardwareProfile": map[string]any{"vmSize": "Standard_D4s_v3"}, "priority": "Spot", "timeCreated": "2026-05-01T10:00:00Z"}
	account.Put(azuretest.ID(vms, "aks-Spot"), row(map[string]any{"karpenter.azure.com_cluster": "mine"}, spot))
	account.Put(azuretest.ID(vms, "aks-untagged"), row(map[string]any{}, map[string]any{"provisioningState": "Deleting"}))
	account.Put(azuretest.ID(vms, "aks-other"), row(map[string]any{"karpenter.azure.com_cluster": "other"}, nil))
	account.Put(azuretest.ID(vms, "aks-machine"), row(map[string]any{"karpenter.azure.com_aksmachine_nodeclaim": "x"}, nil))

	found, complete, err := client.List(t.Context())
	if err != nil || !complete || len(found) != 2 {
		t.Fatalf("%d instances, complete %v, %v", len(found), complete, err)
	}
	slices.SortFunc(found, func(a, b *instance.Instance) int { return strings.Compare(a.ID, b.ID) })
	i := found[0]
	if !strings.HasSuffix(i.ID, "/aks-spot") || i.Size != "Standard_D4s_v3" || i.Zone != "westus2-2" || i.CapacityType != v1.CapacityTypeSpot ||
		!i.Created.Equal(clock.Now().Add(-2*time.Hour)) || i.Deleting {
		t.Errorf("the instance is %+v", i)
	}
	if !found[1].Deleting || !found[1].Created.Equal(clock.Now()) {
		t.Errorf("the instance is %+v", found[1])
	}

	broken := row(map[string]any{}, nil)
	broken["zones"] = []any{"1", "2"}
	account.Put(azuretest.ID(vms, "aks-broken"), broken)
	if found, complete, err = client.List(t.Context()); err != nil || complete || len(found) != 2 {
		t.Errorf("%d instances, complete %v, %v", len(found), complete, err)
	}
}

func TestListOfNetworkInterfaces(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	account, client := graphWorld(t, clock, 1)
	const nics = "Microsoft.Network/networkInterfaces"
	account.Put(azuretest.ID(nics, "aks-a"), row(map[string]any{"karpenter.azure.com_cluster": "mine"}, nil))
	account.Put(azuretest.ID(nics, "aks-b"), row(map[string]any{}, nil))
	account.Put(azuretest.ID(nics, "aks-c"), row(map[string]any{"karpenter.azure.com_cluster": "other"}, nil))
	names, complete, err := client.ListNICs(t.Context())
	slices.Sort(names)
	if err != nil || !complete || !slices.Equal(names, []string{"aks-a", "aks-b"}) {
		t.Errorf("%v, complete %v, %v", names, complete, err)
	}
	account.Fail("POST resources", 429, "TooManyRequests", "later", 1)
	if _, _, err := client.ListNICs(t.Context()); err == nil {
		t.Error("no error")
	}
}
