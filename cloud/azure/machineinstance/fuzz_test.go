package machineinstance_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineinstance"
)

// anyAnswer is an API with one AKSMachine, of any name, which refuses all writes.
type anyAnswer struct {
	machineapi.None
	found *machineapi.AKSMachine
}

// Get implements machineinstance.API.
func (a anyAnswer) Get(context.Context, string) (*machineapi.AKSMachine, error) { return a.found, nil }

// List implements machineinstance.API.
func (a anyAnswer) List(context.Context) ([]*machineapi.AKSMachine, error) {
	return []*machineapi.AKSMachine{a.found}, nil
}

// FuzzAnswers reads AKSMachines from any JSON. Nothing panics; what is returned has all that nodes need, and one that cannot be read never looks as if it
// did not exist, for which its NodeClaim would be deleted.
func FuzzAnswers(f *testing.F) {
	const rest = `"hardware":{"vmSize":"Standard_D4s_v3"},"nodeImageVersion":"AKSUbuntu-2404gen2containerd-202606.10.0","tags":{"karpenter.sh_nodepool":"general","karpenter.azure.com_aksmachine_nodeclaim":"general-a"}`
	const vm = `"resourceId":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/aks-nodes-general-a-12345678-vm"`
	for _, text := range []string{
		`{}`, `null`, `{"properties":null}`, `{"name":"general-a","id":"/id","zones":["1"],"properties":{` + rest + `,` + vm + `,"provisioningState":"Succeeded","status":{"creationTimestamp":"2026-05-01T11:00:00Z"}}}`,
		`{"id":"/id","zones":["1","2"],"properties":{` + rest + `,` + vm + `}}`, `{"id":"/id","zones":[""],"properties":{` + rest + `,"resourceId":"/"}}`,
		`{"id":"/id","properties":{` + rest + `,` + vm + `,"priority":"Spot","provisioningState":"Failed","status":{"creationTimestamp":"2026-05-01T11:00:00Z","provisioningError":{"code":"A","details":[{}]}}}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found := &machineapi.AKSMachine{}
		if json.Unmarshal([]byte(text), found) != nil {
			return
		}
		clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
		client := machineinstance.New(machineinstance.Options{API: anyAnswer{found: found}, Cluster: "test", Pool: pool, Location: "eastus", Clock: clock})
		i, err := client.Get(t.Context(), vmOf("general-a"))
		switch {
		case err == nil && (i.Name != vmOf("general-a") || i.ID == "" || i.Size == "" || i.Zone == "" || i.CapacityType == "" || i.ImageID == "" || i.AKSMachineID == ""):
			t.Errorf("read as %+v", i)
		case err != nil && cloud.IsNodeClaimNotFound(err) && (found.Properties == nil || found.Properties.ResourceID == ""):
			t.Errorf("does not exist: %v", err)
		}
		list, _, err := client.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range list {
			if i.ID == "" && i.Tags == nil {
				t.Errorf("listed as %+v", i)
			}
		}
		launch, err := client.Create(t.Context(), request("general-a"))
		if err == nil && (!launch.Existing || launch.Instance.Size == "") {
			t.Errorf("launched as %+v", launch)
		}
	})
}
