package join

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest/firstboot"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// Every sleep here is in a bubble of testing/synctest, where it takes no time and lets virtual machines continue.

// good is custom data with which a virtual machine joins.
const good = `#!/bin/bash
set -o allexport
TENANT_ID=tenant
SUBSCRIPTION_ID=` + azuretest.Subscription + `
RESOURCE_GROUP=` + azuretest.NodeResourceGroup + `
LOCATION=eastus
KUBERNETES_VERSION=1.37.1
VM_TYPE=standard
SUBNET=aks-subnet
VIRTUAL_NETWORK=vnet
VIRTUAL_NETWORK_RESOURCE_GROUP=rg
NETWORK_SECURITY_GROUP=nsg
NETWORK_PLUGIN=none
CONTAINER_RUNTIME=containerd
CONTAINERD_CONFIG_CONTENT="eA=="
SYSCTL_CONTENT="eA=="
CSE_HELPERS_FILEPATH=/a
CSE_INSTALL_FILEPATH=/b
CSE_CONFIG_FILEPATH=/c
ENABLE_TLS_BOOTSTRAPPING="true"
API_SERVER_NAME=cluster
KUBE_CA_CRT=Q0E=
TLS_BOOTSTRAP_TOKEN="abcdef.0123456789abcdef"
KUBELET_FLAGS="--max-pods=30 --kube-reserved=cpu=100m,memory=1Gi --system-reserved=cpu=0,memory=0 --eviction-hard=memory.available<750Mi --register-with-taints=karpenter.sh/unregistered:NoExecute,node.cilium.io/agent-not-ready=true:NoExecute"
KUBELET_NODE_LABELS="team=a,kubernetes.azure.com/ebpf-dataplane=cilium"
nohup /bin/bash /opt/azure/containers/provision_start.sh
`

// bed is an account with a virtual machine, and a cluster for it.
type bed struct {
	t       *testing.T
	account *azuretest.Account
	client  client.Client
	joiner  *Joiner
	reaches int
}

const vmID = "0000-vm"

// setUp creates a virtual machine that attempts to join. The bootstrap token has a secret.
func setUp(t *testing.T, customData, secret string, edit func(properties map[string]any)) *bed {
	t.Helper()
	b := &bed{t: t, account: azuretest.New(azuretest.Options{}), client: apiserver.New().WithStatusSubresource(&corev1.Node{}).Build()}
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abcdef"}, Data: map[string][]byte{
		"token-secret": []byte(secret), "usage-bootstrap-authentication": []byte("true"), "expiration": []byte(time.Now().Add(time.Hour).Format(time.RFC3339)),
	}}
	if err := b.client.Create(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	properties := map[string]any{
		"provisioningState": "Succeeded", "vmId": vmID, "hardwareProfile": map[string]any{"vmSize": "Standard_D2s_v3"}, "priority": "Spot",
		"osProfile":      map[string]any{"computerName": "AKS-default-a", "customData": base64.StdEncoding.EncodeToString([]byte(customData))},
		"storageProfile": map[string]any{"osDisk": map[string]any{"diskSizeGB": 128.0}},
	}
	if edit != nil {
		edit(properties)
	}
	b.account.Put(id(), map[string]any{"location": "eastus", "zones": []any{"2"}, "properties": properties})
	b.joiner = New(Options{Account: b.account, Client: b.client, Port: "6443", Boot: 2 * time.Second, Reach: func(_ context.Context, at string, ca []byte) error {
		b.reaches++
		if at != "https://cluster:6443" || string(ca) != "CA" {
			return errors.New("no server answers")
		}
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.joiner.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return b
}

func id() string { return azuretest.ID("Microsoft.Compute/virtualMachines", "aks-default-a") }

const secret = "0123456789abcdef"

// node is the Node of the virtual machine; nil if there is none.
func (b *bed) node() *corev1.Node {
	b.t.Helper()
	var list corev1.NodeList
	if err := b.client.List(b.t.Context(), &list); err != nil {
		b.t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// TestNode checks the Node that a virtual machine registers.
func TestNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, good, secret, nil)
		time.Sleep(time.Second)
		if b.node() != nil {
			t.Fatal("there is a node before the virtual machine has booted")
		}
		time.Sleep(2 * time.Second)
		n := b.node()
		if n == nil {
			t.Fatalf("there is no node: %v", b.joiner.Refusal(vmID))
		}
		const providerID = "azure:///subscriptions/" + azuretest.Subscription + "/resourceGroups/mc_test_test_eastus/providers/Microsoft.Compute/virtualMachines/aks-default-a"
		if n.Name != "aks-default-a" || n.Spec.ProviderID != providerID || len(n.Spec.Taints) != 2 || n.Status.NodeInfo.KubeletVersion != "v1.37.1" || n.Status.Addresses[0].Address == "" {
			t.Errorf("node %s is %+v, %+v", n.Name, n.Spec, n.Status)
		}
		want := map[string]string{
			"team": "a", corev1.LabelHostname: "aks-default-a", corev1.LabelInstanceTypeStable: "Standard_D2s_v3", corev1.LabelTopologyZone: "eastus-2",
			corev1.LabelTopologyRegion: "eastus", corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		}
		maps.DeleteFunc(want, func(key, value string) bool { return n.Labels[key] == value })
		if len(want) > 0 {
			t.Errorf("labels %v, missing %v", n.Labels, want)
		}
		// 8 GiB less firmware, and less 1 GiB and 750 MiB.
		for name, amounts := range map[corev1.ResourceName][2]string{
			corev1.ResourcePods: {"30", "30"}, corev1.ResourceCPU: {"2", "1900m"}, corev1.ResourceMemory: {"7823Mi", "6049Mi"}, corev1.ResourceEphemeralStorage: {"128G", "128G"},
		} {
			capacity, allocatable := n.Status.Capacity[name], n.Status.Allocatable[name]
			if capacity.String() != amounts[0] || allocatable.String() != amounts[1] {
				t.Errorf("%s: %s, for pods %s, want %v", name, capacity.String(), allocatable.String(), amounts)
			}
		}
		if s, ok := b.joiner.Settings(vmID); !ok || s.MaxPods != 30 || b.reaches != 1 {
			t.Errorf("settings %+v, %t, and %d tries to reach the API server", s, ok, b.reaches)
		}
	})
}

// TestRegionalNode: a node in no zone has the zone 0, as AKS labels it.
func TestRegionalNode(t *testing.T) {
	h := azuretest.Host{ID: id(), Computer: "a", Location: "eastus", Size: azuretest.Size{Name: "Standard_D4ps_v5", Architecture: "Arm64"}}
	n := nodeOf(&h, &firstboot.Settings{Labels: map[string]string{}})
	if n.Labels[corev1.LabelTopologyZone] != "0" || n.Labels[corev1.LabelArchStable] != "arm64" || n.Status.NodeInfo.Architecture != "arm64" {
		t.Errorf("labels %v", n.Labels)
	}
}

// TestVirtualMachineStaysOutside with the reason.
func TestVirtualMachineStaysOutside(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, secret, because string
		edit                      func(map[string]any)
	}{
		"without custom data":    {from: good, because: "there is none"},
		"another API server":     {from: "=cluster\n", to: "=elsewhere\n", because: "no server answers"},
		"another authority":      {from: "Q0E=", to: "T0U=", because: "no server answers"},
		"no token":               {from: "abcdef.0123456789abcdef", to: "token", because: "unauthorized"},
		"an unknown token":       {from: "abcdef.", to: "fedcba.", because: `finding bootstrap token "fedcba"`},
		"a token of others":      {secret: "another-secret00", because: "is not valid"},
		"another subscription":   {from: azuretest.Subscription, to: "00000000-0000-0000-0000-000000000002", because: "does not find the virtual machine"},
		"another resource group": {from: azuretest.NodeResourceGroup, to: "MC_other", because: "does not find the virtual machine"},
		"another location":       {from: "LOCATION=eastus", to: "LOCATION=westus", because: `in location "westus"`},
		"a failed one":           {edit: func(p map[string]any) { p["provisioningState"] = "Failed" }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text, stored := good, secret
				if c.from != "" {
					text = strings.Replace(good, c.from, c.to, 1)
				}
				if c.secret != "" {
					stored = c.secret
				}
				b := setUp(t, text, stored, c.edit)
				time.Sleep(time.Minute)
				if n := b.node(); n != nil {
					t.Errorf("node %s is there", n.Name)
				}
				err := b.joiner.Refusal(vmID)
				if c.because == "" && err != nil || c.because != "" && (err == nil || !strings.Contains(err.Error(), c.because)) {
					t.Errorf("the reason is %v, want one about %q", err, c.because)
				}
			})
		})
	}
}

// TestTokenEnds: a bootstrap token that has expired is not one any more.
func TestTokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, good, secret, func(p map[string]any) { p["provisioningState"] = "Creating" })
		time.Sleep(2 * time.Hour)
		b.account.Remove(id())
		properties := map[string]any{
			"provisioningState": "Succeeded", "vmId": "later", "hardwareProfile": map[string]any{"vmSize": "Standard_D2s_v3"},
			"osProfile": map[string]any{"computerName": "later", "customData": base64.StdEncoding.EncodeToString([]byte(good))},
		}
		b.account.Put(id(), map[string]any{"location": "eastus", "properties": properties})
		time.Sleep(10 * time.Second)
		if err := b.joiner.Refusal("later"); err == nil || !strings.Contains(err.Error(), "ended at") {
			t.Errorf("the reason is %v", err)
		}
	})
}

// TestEviction: the agent reports the notice, and the node goes with its virtual machine.
func TestEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, good, secret, nil)
		time.Sleep(4 * time.Second)
		b.account.Evict(id())
		time.Sleep(time.Second)
		n := b.node()
		if n == nil || len(n.Status.Conditions) != 1 || n.Status.Conditions[0].Type != ConditionPreemptionScheduled || n.Status.Conditions[0].Status != corev1.ConditionTrue {
			t.Fatalf("the node is %+v", n)
		}
		time.Sleep(azuretest.EvictionNotice)
		if b.node() != nil {
			t.Error("the node is left")
		}
	})
}

// TestCilium: its startup taint is removed when the node is ready, and no other.
func TestCilium(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, good, secret, nil)
		time.Sleep(4 * time.Second)
		n := b.node()
		if len(n.Spec.Taints) != 2 {
			t.Fatalf("the taints are %v, and the node is not ready", n.Spec.Taints)
		}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if err := b.client.Status().Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if n = b.node(); len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != "karpenter.sh/unregistered" {
			t.Errorf("the taints are %v", n.Spec.Taints)
		}
	})
}
