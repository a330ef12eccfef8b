package chart

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
)

// subscription starts an Azure test server. It returns the server, and the values of a release that uses it: the settings of the provider are
// variables, as in the values that deploy/azure/values.sh prints.
func (w *installed) subscription() (*azuretest.Account, []string) {
	w.t.Helper()
	account := azuretest.New(azuretest.Options{})
	account.Put(azuretest.ID("Microsoft.Network/networkSecurityGroups", "aks-agentpool-12345678-nsg"), map[string]any{})
	image := azuretest.GalleryID("eastus", "AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2", "2404gen2containerd")
	account.Put(image, map[string]any{})
	account.Put(image+"/versions/202604.1.0", map[string]any{"properties": map[string]any{"publishedDate": "2026-04-01T00:00:00Z"}})
	server := httptest.NewTLSServer(account)
	w.t.Cleanup(server.Close)
	folder := w.t.TempDir()
	description, err := json.Marshal(map[string]string{
		"name": "Local", "resourceManagerEndpoint": server.URL, "activeDirectoryEndpoint": server.URL + "/", "tokenAudience": server.URL,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, data := range map[string][]byte{"cloud.json": description, "ca.pem": certificate} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	var out []string
	for i, v := range [][2]string{
		{"AZURE_ENVIRONMENT_FILEPATH", filepath.Join(folder, "cloud.json")},
		{"SSL_CERT_FILE", filepath.Join(folder, "ca.pem")},
		{"AZURE_TENANT_ID", azuretest.Tenant},
		{"AZURE_CLIENT_ID", "id"},
		{"AZURE_CLIENT_SECRET", "secret"},
		{"ARM_SUBSCRIPTION_ID", azuretest.Subscription},
		{"LOCATION", "eastus"},
		{"AZURE_NODE_RESOURCE_GROUP", azuretest.NodeResourceGroup},
		{"VNET_SUBNET_ID", azuretest.SubnetID()},
		{"KUBELET_BOOTSTRAP_TOKEN", "abcdef.0123456789abcdef"},
		{"SSH_PUBLIC_KEY", "ssh-rsa K"},
		{"NETWORK_POLICY", "cilium"},
	} {
		out = append(out, fmt.Sprintf("controller.env[%d].name=%s", i, v[0]), fmt.Sprintf("controller.env[%d].value=%s", i, v[1]))
	}
	return account, out
}

// objectsOnAKS are what the controller is busy with while its permissions are watched. One class prefers a DNS proxy, for which the
// controller looks for network policies, also of Cilium.
const objectsOnAKS = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ciliumnetworkpolicies.cilium.io}
spec:
  group: cilium.io
  names: {kind: CiliumNetworkPolicy, plural: ciliumnetworkpolicies}
  scope: Namespaced
  versions: [{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ciliumclusterwidenetworkpolicies.cilium.io}
spec:
  group: cilium.io
  names: {kind: CiliumClusterwideNetworkPolicy, plural: ciliumclusterwidenetworkpolicies}
  scope: Cluster
  versions: [{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
{apiVersion: v1, kind: Service, metadata: {name: kube-dns, namespace: kube-system}, spec: {ports: [{port: 53, protocol: UDP}]}}
---
apiVersion: karpenter.azure.com/v1beta1
kind: AKSNodeClass
metadata: {name: dns}
spec:
  localDNS:
    mode: Preferred
    vnetDNSOverrides: &zones
      - {zone: ".", queryLogging: Error, protocol: PreferUDP, forwardDestination: VnetDNS, forwardPolicy: Random, maxConcurrent: 100, cacheDuration: 1h, serveStaleDuration: 1h, serveStale: Verify}
      - {zone: cluster.local, queryLogging: Error, protocol: PreferUDP, forwardDestination: ClusterCoreDNS, forwardPolicy: Random, maxConcurrent: 100, cacheDuration: 1h, serveStaleDuration: 1h, serveStale: Verify}
    kubeDNSOverrides: *zones
---
{apiVersion: karpenter.azure.com/v1beta1, kind: AKSNodeClass, metadata: {name: default}, spec: {}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: app, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "1"}}}]
`

// TestInstalledControllerWorksOnAzure runs the binary with what a release for Azure gives its container: it launches a virtual machine for a
// pod and deletes it with its class, no call is refused, and every permission that only Azure needs is used or explained.
func TestInstalledControllerWorksOnAzure(t *testing.T) {
	t.Parallel()
	w := begin(t)
	account, set := w.subscription()
	ports := freePorts(t, 2)
	r := onAKS(append(set, fmt.Sprintf("controller.metrics.port=%d", ports[0]), fmt.Sprintf("controller.healthProbe.port=%d", ports[1]),
		"networkPolicy.enabled=false", "settings.featureGates.legacyProvisioner=false", "settings.tags.team=infra")...)
	r.files = []string{"testdata/every-feature.yaml"}
	w.release = r
	w.apply((release{chart: crdChart, name: "karpenter-crd", namespace: "kube-system", set: []string{"cloudProvider=azure"}}).manifest(t))
	w.apply(r.manifest(t))
	w.apply(objectsOnAKS)
	w.start()
	w.await("the controller is ready", func() string { return w.answer(ports[1], "/readyz") })
	w.wantSecuredMetrics(ports[0])
	w.await("a virtual machine is launched", func() string {
		for _, c := range account.Calls("PUT virtualMachines") {
			if strings.Contains(c.Body, `"team":"infra"`) {
				return ""
			}
		}
		return fmt.Sprintf("%d requests", len(account.Calls("PUT virtualMachines")))
	})
	w.await("the NodeClaim has its virtual machine", func() string {
		launched := func(o unstructured.Unstructured) bool {
			id, _, _ := unstructured.NestedString(o.Object, "status", "providerID")
			return strings.HasPrefix(id, "azure://")
		}
		if n := w.list(t.Context(), "karpenter.sh/v1", "NodeClaim", launched); n != 1 {
			return fmt.Sprintf("%d are launched", n)
		}
		return ""
	})
	w.await("the class that prefers a DNS proxy has one", func() string {
		class := object("karpenter.azure.com/v1beta1", "AKSNodeClass", "dns")
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
			return err.Error()
		}
		if state, _, _ := unstructured.NestedString(class.Object, "status", "localDNSState"); state != "Enabled" {
			return "its state is " + state
		}
		return ""
	})
	w.undeploy("web")
	for _, o := range []*unstructured.Unstructured{object("karpenter.sh/v1", "NodePool", "default"), object("karpenter.azure.com/v1beta1", "AKSNodeClass", "default")} {
		if err := w.client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		w.await(o.GetName()+" is deleted", func() string {
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil || err == nil {
				return fmt.Sprint("it is there: ", err)
			}
			return ""
		})
	}
	if n := len(account.Calls("DELETE virtualMachines")); n == 0 {
		t.Error("no virtual machine is deleted")
	}
	if err := w.controller.Terminate(patience); err != nil {
		t.Fatal(err)
	}
	for _, refused := range w.recorder.refused() {
		t.Errorf("refused: %s", refused)
	}
	others := grants(named("settings.cloudProvider=kwok").objects(t))
	checkUse(t, slices.DeleteFunc(grants(onAKS().objects(t)), func(g grant) bool {
		return slices.ContainsFunc(others, func(o grant) bool { return o.call == g.call && slices.Equal(o.names, g.names) })
	}), w.recorder)
}
