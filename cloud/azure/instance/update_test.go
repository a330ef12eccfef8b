package instance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
)

const (
	typeVM  = "Microsoft.Compute/virtualMachines"
	typeNIC = "Microsoft.Network/networkInterfaces"
	updated = "aks-general-abcde"
	// identities of nodes; Azure shows the second one in another case.
	kubeletID = "/subscriptions/1/resourceGroups/mc/providers/Microsoft.ManagedIdentity/userAssignedIdentities/kubelet"
	agentID   = "/subscriptions/1/resourceGroups/mc/providers/Microsoft.ManagedIdentity/userAssignedIdentities/agent"
)

// updateWorld is an account with a virtual machine, its network interface and extensions, all with the tags.
type updateWorld struct {
	*instance.Client
	t       *testing.T
	account *azuretest.Account
}

func newUpdateWorld(t *testing.T, vm map[string]any, extensions ...string) *updateWorld {
	t.Helper()
	w := &updateWorld{t: t, account: azuretest.New(azuretest.Options{})}
	connection := azuretest.Connect(t, w.account)
	compute, err := armcompute.NewClientFactory(azuretest.Subscription, connection.Credential, connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	interfaces, err := armnetwork.NewInterfacesClient(azuretest.Subscription, connection.Credential, connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	w.Client = instance.NewClient(instance.Options{
		VirtualMachines: compute.NewVirtualMachinesClient(), Extensions: compute.NewVirtualMachineExtensionsClient(), NetworkInterfaces: interfaces,
		Subscription: azuretest.Subscription, ResourceGroup: azuretest.NodeResourceGroup, Clock: clock.RealClock{},
	})
	body := map[string]any{"location": "eastus", "tags": map[string]any{"a": "1", "b": "2"}, "properties": map[string]any{"provisioningState": "Succeeded"}}
	maps.Copy(body, vm)
	w.account.Put(azuretest.ID(typeVM, updated), body)
	w.account.Put(azuretest.ID(typeNIC, updated), map[string]any{"location": "eastus", "tags": map[string]any{"a": "1", "b": "2"}})
	for _, name := range extensions {
		w.account.Put(w.extension(name), map[string]any{"location": "eastus", "tags": map[string]any{"a": "1", "b": "2"}})
	}
	return w
}

func (w *updateWorld) extension(name string) string {
	return azuretest.ID(typeVM, updated) + "/extensions/" + name
}

func (w *updateWorld) update(tags map[string]string, identities ...string) error {
	return w.Update(w.t.Context(), updated, resourcetags.InPlace{Tags: tags, Identities: identities})
}

// patches are the PATCH calls in their order.
func (w *updateWorld) patches() []azuretest.Call {
	return slices.DeleteFunc(w.account.Calls(""), func(c azuretest.Call) bool { return !strings.HasPrefix(c.Operation, "PATCH") })
}

// patched are what the PATCH calls were about, with the name of extensions.
func (w *updateWorld) patched() []string {
	var out []string
	for _, call := range w.patches() {
		out = append(out, strings.TrimPrefix(call.Operation, "PATCH ")+" "+call.Path[strings.LastIndex(call.Path, "/")+1:])
	}
	return out
}

// tags are those of a resource.
func (w *updateWorld) tags(id string) map[string]string {
	w.t.Helper()
	text, err := json.Marshal(w.account.Body(id)["tags"])
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]string{}
	if err := json.Unmarshal(text, &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestUpdateReplacesTagsEverywhere(t *testing.T) {
	t.Attr("covers", "Z141 Z217")
	w := newUpdateWorld(t, nil, "computeAksLinuxBilling", "cse-agent-karpenter", "someoneElses")
	want := map[string]string{"a": "1", "b": "changed", "compute.aks.billing": "linux"}
	if err := w.update(want, kubeletID); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{azuretest.ID(typeVM, updated), azuretest.ID(typeNIC, updated), w.extension("computeAksLinuxBilling"), w.extension("cse-agent-karpenter")} {
		same(t, "tags of "+id, want, w.tags(id))
	}
	same(t, "tags of another extension", map[string]string{"a": "1", "b": "2"}, w.tags(w.extension("someoneElses")))
	same(t, "calls", []string{
		"networkInterfaces " + updated, "extensions cse-agent-karpenter", "extensions computeAksLinuxBilling", "virtualMachines " + updated,
	}, w.patched())
	w.account.Forget()
	if err := w.update(map[string]string{"a": "1"}, kubeletID); err != nil {
		t.Fatal(err)
	}
	same(t, "tags after a removal", map[string]string{"a": "1"}, w.tags(azuretest.ID(typeVM, updated)))
	if err := w.update(nil, kubeletID); err != nil {
		t.Fatal(err)
	}
	same(t, "tags after the removal of all", map[string]string{}, w.tags(azuretest.ID(typeVM, updated)))
}

func TestUpdateSendsNothingIfNothingDiffers(t *testing.T) {
	t.Attr("covers", "Z142")
	w := newUpdateWorld(t, map[string]any{"identity": userAssigned("UserAssigned", strings.ToUpper(kubeletID), agentID)}, "computeAksLinuxBilling")
	if err := w.update(map[string]string{"b": "2", "a": "1"}, kubeletID); err != nil {
		t.Fatal(err)
	}
	same(t, "calls", []string(nil), w.patched())
}

func userAssigned(kind string, ids ...string) map[string]any {
	all := map[string]any{}
	for _, id := range ids {
		all[id] = map[string]any{}
	}
	return map[string]any{"type": kind, "userAssignedIdentities": all}
}

func TestUpdateAddsMissingIdentities(t *testing.T) {
	t.Attr("covers", "Z140 Z216")
	const third = "/subscriptions/1/resourceGroups/mc/providers/Microsoft.ManagedIdentity/userAssignedIdentities/third"
	for name, test := range map[string]struct {
		identity  map[string]any
		sent, all []string
		kind      string
	}{
		"none":            {nil, []string{agentID, kubeletID}, []string{agentID, kubeletID}, "UserAssigned"},
		"one":             {userAssigned("UserAssigned", kubeletID), []string{agentID}, []string{agentID, kubeletID}, "UserAssigned"},
		"another":         {userAssigned("UserAssigned", third, strings.ToUpper(agentID)), []string{kubeletID}, []string{strings.ToUpper(agentID), kubeletID, third}, "UserAssigned"},
		"of a policy":     {map[string]any{"type": "SystemAssigned"}, []string{agentID, kubeletID}, []string{agentID, kubeletID}, "SystemAssigned, UserAssigned"},
		"of a policy too": {userAssigned("SystemAssigned, UserAssigned", kubeletID), []string{agentID}, []string{agentID, kubeletID}, "SystemAssigned, UserAssigned"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newUpdateWorld(t, map[string]any{"identity": test.identity}, "computeAksLinuxBilling")
			if err := w.update(map[string]string{"a": "1", "b": "2"}, kubeletID, agentID, strings.ToUpper(kubeletID)); err != nil {
				t.Fatal(err)
			}
			same(t, "calls", []string{"virtualMachines " + updated}, w.patched())
			var sent map[string]any
			if err := json.Unmarshal([]byte(w.patches()[0].Body), &sent); err != nil {
				t.Fatal(err)
			}
			same(t, "sent", map[string]any{"identity": userAssigned(test.kind, test.sent...)}, sent)
			identity, _ := w.account.Body(azuretest.ID(typeVM, updated))["identity"].(map[string]any)
			all, _ := identity["userAssignedIdentities"].(map[string]any)
			slices.Sort(test.all)
			same(t, "identities", test.all, slices.Sorted(maps.Keys(all)))
		})
	}
}

func TestUpdateOfTagsAndIdentitiesIsOneRequest(t *testing.T) {
	t.Attr("covers", "Z217")
	w := newUpdateWorld(t, nil)
	if err := w.update(map[string]string{"a": "3"}, kubeletID); err != nil {
		t.Fatal(err)
	}
	same(t, "calls", []string{"networkInterfaces " + updated, "virtualMachines " + updated}, w.patched())
	for _, part := range []string{`"tags":{"a":"3"}`, `"userAssignedIdentities"`} {
		if body := w.patches()[1].Body; !strings.Contains(body, part) {
			t.Errorf("%s lacks %s", body, part)
		}
	}
}

// TestUpdateIsRepeatedAfterAFailure checks that whatever fails is done by the next update.
func TestUpdateIsRepeatedAfterAFailure(t *testing.T) {
	for _, operation := range []string{"GET virtualMachines", "PATCH networkInterfaces", "PATCH extensions", "PATCH virtualMachines"} {
		t.Run(operation, func(t *testing.T) {
			w := newUpdateWorld(t, nil, "computeAksLinuxBilling", "cse-agent-karpenter")
			w.account.Fail(operation, http.StatusConflict, "Conflict", "another operation is in progress", 1)
			want := map[string]string{"a": "1", "new": "tag"}
			if err := w.update(want, kubeletID); err == nil || !strings.Contains(err.Error(), updated) {
				t.Fatalf("Update() = %v", err)
			}
			if err := w.update(want, kubeletID); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{azuretest.ID(typeVM, updated), azuretest.ID(typeNIC, updated), w.extension("computeAksLinuxBilling"), w.extension("cse-agent-karpenter")} {
				same(t, "tags of "+id, want, w.tags(id))
			}
		})
	}
}

// TestUpdateToleratesThatTheBillingExtensionIsGone checks this, and that a lost bootstrap extension is an error.
func TestUpdateToleratesThatTheBillingExtensionIsGone(t *testing.T) {
	for name, tolerated := range map[string]bool{"computeAksLinuxBilling": true, "cse-agent-karpenter": false} {
		w := newUpdateWorld(t, nil, name)
		w.account.Fail("PATCH extensions", http.StatusNotFound, "ResourceNotFound", "gone", 1)
		if err := w.update(map[string]string{"a": "1"}); (err == nil) != tolerated {
			t.Errorf("%s: Update() = %v", name, err)
		}
	}
}

func TestUpdateOfWhatMayNotBeUpdated(t *testing.T) {
	for name, test := range map[string]struct {
		vm       map[string]any
		gone     bool
		notFound bool
		want     string
	}{
		"gone":          {gone: true, notFound: true, want: updated},
		"being deleted": {vm: map[string]any{"properties": map[string]any{"provisioningState": "Deleting"}}, notFound: true, want: "deleting"},
		"of an AKSMachine": {
			vm:   map[string]any{"tags": map[string]any{"karpenter.azure.com_aksmachine_nodeclaim": "general-abcde"}},
			want: fmt.Sprintf("%q", "general-abcde") + ": restore the annotation karpenter.azure.com/aks-machine-resource-id",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newUpdateWorld(t, test.vm)
			if test.gone {
				w.account.Remove(azuretest.ID(typeVM, updated))
			}
			err := w.update(map[string]string{"a": "9"})
			if err == nil || !strings.Contains(err.Error(), test.want) || cloud.IsNodeClaimNotFound(err) != test.notFound {
				t.Errorf("Update() = %v", err)
			}
			same(t, "calls", []string(nil), w.patched())
		})
	}
}

// TestUpdateOfAVirtualMachineOfOthers: with the tags of the cluster, it would be deleted as one of the cluster.
func TestUpdateOfAVirtualMachineOfOthers(t *testing.T) {
	want := map[string]string{"karpenter.azure.com_cluster": "test", "karpenter.sh_nodepool": "general"}
	for name, tags := range map[string]map[string]any{"none": {}, "another": {"karpenter.azure.com_cluster": "other", "karpenter.sh_nodepool": "general"}} {
		w := newUpdateWorld(t, map[string]any{"tags": tags})
		if err := w.update(want, kubeletID); err == nil || !strings.Contains(err.Error(), "karpenter.azure.com_cluster") || cloud.IsNodeClaimNotFound(err) {
			t.Errorf("%s: Update() = %v", name, err)
		}
		same(t, name, []string(nil), w.patched())
	}
	w := newUpdateWorld(t, map[string]any{"tags": map[string]any{"karpenter.sh_nodepool": "general"}})
	if err := w.update(want); err != nil {
		t.Errorf("a virtual machine of an early release: %v", err)
	}
}
