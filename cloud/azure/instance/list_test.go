package instance_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/test/logcapture"
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
	t.Attr("covers", "Z220")
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	account, client := graphWorld(t, clock, 2)
	const vms = "Microsoft.Compute/virtualMachines"
	spot := map[string]any{"hardwareProfile": map[string]any{"vmSize": "Standard_D4s_v3"}, "priority": "Spot", "timeCreated": "2026-05-01T10:00:00Z"}
	account.Put(azuretest.ID(vms, "aks-Spot"), row(map[string]any{"karpenter.azure.com_cluster": "mine"}, spot))
	account.Put(azuretest.ID(vms, "aks-untagged"), row(map[string]any{}, map[string]any{"provisioningState": "Deleting"}))
	account.Put(azuretest.ID(vms, "aks-without-tags"), map[string]any{"location": "westus2"})
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
	logs := &logcapture.Buffer{}
	ctx := logr.NewContextWithSlogLogger(t.Context(), slog.New(slog.NewTextHandler(logs, nil)))
	if found, complete, err = client.List(ctx); err != nil || complete || len(found) != 2 || strings.Count(logs.String(), "aks-broken") != 1 {
		t.Errorf("%d instances, complete %v, %v, logged %s", len(found), complete, err, logs)
	}
}

// rows answers every query of Resource Graph.
type rows []any

// Resources implements instance.Graph.
func (r rows) Resources(context.Context, armresourcegraph.QueryRequest, *armresourcegraph.ClientResourcesOptions) (armresourcegraph.ClientResourcesResponse, error) {
	return armresourcegraph.ClientResourcesResponse{QueryResponse: armresourcegraph.QueryResponse{Data: []any(r)}}, nil
}

// TestListedProviderIDsAreThoseOfRequests has a subscription and a group that the settings write in other letters than Resource Graph: the
// provider ID of an instance is the one that its NodeClaim got from the request.
func TestListedProviderIDsAreThoseOfRequests(t *testing.T) {
	t.Attr("covers", "Z246")
	const id = "/subscriptions/abc-def/resourceGroups/mc_group/providers/Microsoft.Compute/virtualMachines/AKS-a"
	tags := map[string]any{"karpenter.sh_nodepool": "general"}
	client := instance.NewClient(instance.Options{
		Graph:        rows{map[string]any{"id": id, "name": "AKS-a", "tags": tags}, map[string]any{"id": "/elsewhere", "name": "b", "tags": tags}},
		Subscription: "ABC-DEF", ResourceGroup: "MC_group", Clock: clock.RealClock{},
	})
	found, _, err := client.List(t.Context())
	if err != nil || len(found) != 2 {
		t.Fatalf("listed %v, %v", found, err)
	}
	if got, err := found[0].ProviderID(); err != nil || got != "azure:///subscriptions/ABC-DEF/resourceGroups/mc_group/providers/Microsoft.Compute/virtualMachines/aks-a" {
		t.Errorf("the provider ID is %s, %v", got, err)
	}
	if found[1].ID != "/elsewhere" {
		t.Errorf("an id that is not that of a virtual machine is %s", found[1].ID)
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
