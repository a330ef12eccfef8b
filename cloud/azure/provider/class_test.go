package provider_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
)

// TestDriftNeedsAPoolAndAClass checks a node that has not drifted, then changes of what it is compared with.
func TestDriftNeedsAPoolAndAClass(t *testing.T) {
	t.Attr("covers", "Z132 Z175 Z189")
	for name, test := range map[string]struct {
		change func(*world, *v1.NodeClaim)
		want   cloud.DriftReason
	}{
		"nothing":    {func(*world, *v1.NodeClaim) {}, ""},
		"an upgrade": {upgrade(1), "K8sVersionDrift"},
		"an upgrade of which the class does not know": {upgrade(2), ""},
		"another image": {func(w *world, _ *v1.NodeClaim) {
			w.changeClass(func(c *v1beta1.AKSNodeClass) {
				c.Status.Images = c.Status.Images[:1]
				c.Status.Images[0].ID = other(c.Status.Images[0].ID)
			})
		}, "ImageDrift"},
		"another image of an earlier generation": {func(w *world, _ *v1.NodeClaim) {
			w.changeClass(func(c *v1beta1.AKSNodeClass) {
				c.Generation, c.Status.Images = 2, c.Status.Images[:1]
				c.Status.Images[0].ID = other(c.Status.Images[0].ID)
			})
		}, ""},
		"no pool": {func(w *world, claim *v1.NodeClaim) {
			upgrade(1)(w, claim)
			w.delete(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general"}})
		}, ""},
		"no label of a pool": {func(w *world, claim *v1.NodeClaim) { upgrade(1)(w, claim); delete(claim.Labels, v1.NodePoolLabelKey) }, ""},
		"no class": {func(w *world, claim *v1.NodeClaim) {
			upgrade(1)(w, claim)
			w.delete(&v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.changeClass(func(c *v1beta1.AKSNodeClass) {
				c.Annotations = map[string]string{"karpenter.azure.com/aksnodeclass-hash": c.Hash(), "karpenter.azure.com/aksnodeclass-hash-version": v1beta1.HashVersion}
			})
			claim := w.created(w.claim("general-a"))
			w.settled()
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "aks-general-a", Labels: map[string]string{"kubernetes.azure.com/kubelet-identity-client-id": "identity"}}}
			node.Status.NodeInfo.KubeletVersion = "v1.33.4"
			if err := w.client.Create(t.Context(), node); err != nil {
				t.Fatal(err)
			}
			claim.Status.NodeName = node.Name
			test.change(w, claim)
			if reason, err := w.provider.IsDrifted(t.Context(), claim); err != nil || reason != test.want {
				t.Errorf("drifted: %q, %v, want %q", reason, err, test.want)
			}
		})
	}
}

// upgrade gives the class another version of Kubernetes, as of a generation; its status is of generation 1.
func upgrade(generation int64) func(*world, *v1.NodeClaim) {
	return func(w *world, _ *v1.NodeClaim) {
		w.changeClass(func(c *v1beta1.AKSNodeClass) { c.Generation, c.Status.KubernetesVersion = generation, "1.34.0" })
	}
}

// other is another version of an image.
func other(id string) string { return strings.Replace(id, "202604.1.0", "202605.1.0", 1) }

func (w *world) delete(o client.Object) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// TestOverlaysCountAtTheLaunch checks that a correction of prices decides what is launched, but not for a NodeClaim without a pool.
func TestOverlaysCountAtTheLaunch(t *testing.T) {
	t.Attr("covers", "Z199")
	w := newWorld(t)
	w.provider.Launcher.UseCorrection(func(pool string, types []*cloud.InstanceType) ([]*cloud.InstanceType, error) {
		if pool != "general" {
			t.Errorf("corrected for pool %q", pool)
		}
		out := slices.Clone(types)
		for i, it := range out {
			if it.Name == "Standard_E4s_v5" {
				changed := *it
				changed.Offerings = slices.Clone(it.Offerings)
				for o := range changed.Offerings {
					changed.Offerings[o].Price = 0.001
				}
				out[i] = &changed
			}
		}
		return out, nil
	})
	if got := w.created(w.claim("pooled")).Labels[corev1.LabelInstanceTypeStable]; got != "Standard_E4s_v5" {
		t.Errorf("launched as %s in spite of the price", got)
	}
	alone := w.claim("alone")
	alone.Labels = nil
	if got := w.created(alone).Labels[corev1.LabelInstanceTypeStable]; got == "Standard_E4s_v5" {
		t.Errorf("without a pool, launched as %s", got)
	}
	w.settled()
}

// TestRunningNodesKeepTheirType lists nodes whose offerings have become unavailable.
func TestRunningNodesKeepTheirType(t *testing.T) {
	t.Attr("covers", "Z098")
	w := newWorld(t)
	w.created(w.claim("general-a", in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3")))
	w.settled()
	d, _ := w.provider.Catalog.SKU("Standard_D2s_v3")
	w.provider.Catalog.UnavailableOfferings.Mark(unavailableofferings.Mark{
		InstanceType: choice.Identity(&d), CapacityTypes: []string{"spot", "on-demand"}, Zones: []string{"0", "eastus-1", "eastus-2", "eastus-3"}, Duration: time.Hour,
	})
	list, err := w.provider.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Status.Capacity.Cpu().Value() != 2 || list[0].Labels[corev1.LabelArchStable] != "amd64" {
		t.Errorf("listed %+v, %v", list, err)
	}
}

// TestANetworkInterfaceDoesNotFailADeletion checks that Azure may keep a network interface for longer than its virtual machine.
func TestANetworkInterfaceDoesNotFailADeletion(t *testing.T) {
	t.Attr("covers", "Z113")
	w := newWorld(t)
	launched := w.created(w.claim("general-a"))
	w.settled()
	w.account.Fail("GET networkInterfaces", http.StatusConflict, "NicReservedForAnotherVm", "wait 180 seconds", -1)
	if err := w.provider.Delete(t.Context(), launched); err != nil {
		t.Fatal(err)
	}
	w.settled()
	if err := w.provider.Delete(t.Context(), launched); !cloud.IsNodeClaimNotFound(err) || w.account.Exists(azuretest.ID(vms, "aks-general-a")) {
		t.Errorf("deleted again: %v", err)
	}
}

// TestDisksAreEncryptedWithAKeyOfTheCustomer launches with a disk encryption set.
func TestDisksAreEncryptedWithAKeyOfTheCustomer(t *testing.T) {
	t.Attr("covers", "Z106 Z170")
	set := azuretest.ID("Microsoft.Compute/diskEncryptionSets", "keys")
	w := newWorldIn(t, settings.ModeScriptless, func(s *settings.Settings) { s.NodeOSDiskDiskEncryptionSetID = set })
	w.account.Put(set, map[string]any{"location": location})
	w.created(w.claim("general-a"))
	w.settled()
	profile, _ := w.account.Body(azuretest.ID(vms, "aks-general-a"))["properties"].(map[string]any)["storageProfile"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"diskEncryptionSet": map[string]any{"id": set}}, profile["osDisk"].(map[string]any)["managedDisk"]); diff != "" {
		t.Errorf("the disk (-want +got):\n%s", diff)
	}
}

// TestNodesInACustomSubnet launches into the subnet of a class, which has no security group of AKS.
func TestNodesInACustomSubnet(t *testing.T) {
	t.Attr("covers", "Z108 Z179")
	const mine = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/network/providers/Microsoft.Network/virtualNetworks/mine/subnets/nodes"
	w := newWorld(t)
	w.account.Put(mine, map[string]any{"properties": map[string]any{"addressPrefix": "10.0.0.0/16"}})
	w.changeClass(func(c *v1beta1.AKSNodeClass) { c.Spec.VNETSubnetID = new(mine) })
	w.created(w.claim("general-a"))
	w.settled()
	properties, _ := w.account.Body(azuretest.ID(nics, "aks-general-a"))["properties"].(map[string]any)
	first, _ := properties["ipConfigurations"].([]any)[0].(map[string]any)["properties"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"id": mine}, first["subnet"]); diff != "" {
		t.Errorf("the subnet (-want +got):\n%s", diff)
	}
	group := azuretest.ID("Microsoft.Network/networkSecurityGroups", "aks-agentpool-12345678-nsg")
	if diff := cmp.Diff(map[string]any{"id": group}, properties["networkSecurityGroup"]); diff != "" {
		t.Errorf("the security group (-want +got):\n%s", diff)
	}
}

// TestOnDemandFollowsSpot launches a NodeClaim that takes both capacity types while there is no quota for spot.
func TestOnDemandFollowsSpot(t *testing.T) {
	t.Attr("covers", "Z082 Z177")
	w := newWorld(t)
	w.account.Refuse(azuretest.Pool{Priority: "Spot"}, azuretest.Refusal{
		Code: "OperationNotAllowed", Message: "Operation could not be completed as it results in exceeding approved LowPriorityCores quota. Current Limit: 3",
	})
	claim := w.claim("general-a")
	if _, err := w.provider.Create(t.Context(), claim); err == nil || cloud.IsInsufficientCapacity(err) {
		t.Errorf("the error is %v", err)
	}
	if got := w.created(claim).Labels[v1.CapacityTypeLabelKey]; got != v1.CapacityTypeOnDemand || w.count("PUT virtualMachines") != 2 {
		t.Errorf("launched as %s after %d requests", got, w.count("PUT virtualMachines"))
	}
	w.settled()
}

// TestNothingIsLaunchedWithoutAnImage checks a class with FIPS, for which there are images for amd64 only: a NodeClaim for arm64 is no launch that
// fails repeatedly, and one for either architecture is launched on amd64.
func TestNothingIsLaunchedWithoutAnImage(t *testing.T) {
	for _, mode := range []settings.ProvisionMode{settings.ModeScriptless, settings.ModeAKSMachine} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorldIn(t, mode, unchanged)
			w.changeClass(func(c *v1beta1.AKSNodeClass) {
				c.Spec.FIPSMode = new(v1beta1.FIPSModeFIPS)
				c.Status.Images = slices.DeleteFunc(c.Status.Images, func(i v1beta1.NodeImage) bool { return i.Requirements[0].Values[0] != "amd64" })
			})
			w.account.Forget()
			_, err := w.provider.Create(t.Context(), w.claim("arm", in(corev1.LabelArchStable, "arm64")))
			if !cloud.IsInsufficientCapacity(err) || w.count("PUT networkInterfaces")+w.count("PUT virtualMachines")+w.count(putMachine) > 0 {
				t.Errorf("the launch for arm64: %v", err)
			}
			if launched := w.created(w.claim("any", in(corev1.LabelArchStable, "arm64", "amd64"))); launched.Labels[corev1.LabelArchStable] != "amd64" {
				t.Errorf("launched with labels %v", launched.Labels)
			}
			w.settled()
		})
	}
}
