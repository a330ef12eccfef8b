package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/internal/command"
)

// serveAzure serves an account over TLS, and returns what a process has to find in its environment to use it: a description of the cloud,
// credentials, and the certificate.
func serveAzure(t *testing.T, account *azuretest.Account) []string {
	t.Helper()
	server := httptest.NewTLSServer(account)
	t.Cleanup(server.Close)
	folder := t.TempDir()
	description, err := json.Marshal(map[string]string{
		"name": "Local", "resourceManagerEndpoint": server.URL, "activeDirectoryEndpoint": server.URL + "/", "tokenAudience": server.URL,
	})
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, data := range map[string][]byte{"cloud.json": description, "ca.pem": certificate} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{
		"AZURE_ENVIRONMENT_FILEPATH=" + filepath.Join(folder, "cloud.json"), "SSL_CERT_FILE=" + filepath.Join(folder, "ca.pem"),
		"AZURE_TENANT_ID=" + azuretest.Tenant, "AZURE_CLIENT_ID=id", "AZURE_CLIENT_SECRET=secret",
		"AZURE_SUBSCRIPTION_ID=" + azuretest.Subscription, "LOCATION=eastus",
	}
}

// TestAzure follows a claim from a node class to a virtual machine: the built program, a real API server, and the real SDK
// against the local Azure.
func TestAzure(t *testing.T) {
	_, environment, kubeconfig := startServer(t)
	definitions, err := azurecrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(environment.Config, envtest.CRDInstallOptions{CRDs: definitions}); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.NewWithWatch(environment.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	account := azuretest.New(azuretest.Options{})
	account.Put(azuretest.ID("Microsoft.Network/networkSecurityGroups", "aks-agentpool-12345678-nsg"), map[string]any{})
	image := azuretest.GalleryID("eastus", "AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2", "2404gen2containerd")
	account.Put(image, map[string]any{})
	account.Put(image+"/versions/202604.1.0", map[string]any{"properties": map[string]any{"publishedDate": "2026-04-01T00:00:00Z"}})
	p := launchIn(t, serveAzure(t, account), "karpenter", "controller", "--kubeconfig="+kubeconfig, "--metrics-port=0", "--health-probe-port=0",
		"--disable-leader-election", "--cloud-provider=azure", "--cluster-name=test", "--cluster-endpoint="+environment.Config.Host,
		"--kubelet-bootstrap-token=abcdef.0123456789abcdef", "--ssh-public-key=ssh-rsa K", "--vnet-subnet-id="+azuretest.SubnetID(),
		"--node-resource-group="+azuretest.NodeResourceGroup)
	p.becomesReady(30 * time.Second)

	class := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
	claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: "karpenter.sh/capacity-type", Operator: "In", Values: []string{"spot"}}}
	if err := c.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	classes, err := c.Watch(ctx, &v1beta1.AKSNodeClassList{})
	if err != nil {
		t.Fatal(err)
	}
	defer classes.Stop()
	for event := range classes.ResultChan() {
		if seen, ok := event.Object.(*v1beta1.AKSNodeClass); ok && condition.Status(seen, v1beta1.ConditionTypeReady) == metav1.ConditionTrue {
			break
		}
	}
	if err := c.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	p.says(`launched nodeclaim.*by-hand`, 60*time.Second)
	claims, err := c.Watch(ctx, &v1.NodeClaimList{})
	if err != nil {
		t.Fatal(err)
	}
	defer claims.Stop()
	for event := range claims.ResultChan() {
		// The log may be ahead of the API objects.
		if seen, ok := event.Object.(*v1.NodeClaim); ok && seen.Status.ProviderID != "" {
			claim = seen
			break
		}
	}
	vm := azuretest.ID("Microsoft.Compute/virtualMachines", "aks-by-hand")
	if !account.Exists(vm) || !strings.HasSuffix(claim.Status.ProviderID, "/virtualMachines/aks-by-hand") || claim.Labels["kubernetes.azure.com/scalesetpriority"] != "spot" {
		t.Errorf("claim %q with labels %v, virtual machine exists: %t", claim.Status.ProviderID, claim.Labels, account.Exists(vm))
	}
	p.signal(syscall.SIGTERM)
	p.ends(0, 20*time.Second)
	if strings.Contains(p.output(), "panic") {
		t.Error("something panicked")
	}
}

// TestSettingsThatAzureMisses names all of them at once.
func TestSettingsThatAzureMisses(t *testing.T) {
	p := launch(t, "karpenter", "controller", "--cloud-provider=azure")
	p.ends(command.ExitUsage, 20*time.Second)
	for _, want := range []string{
		"CLUSTER_NAME", "CLUSTER_ENDPOINT", "KUBELET_BOOTSTRAP_TOKEN", "SSH_PUBLIC_KEY", "VNET_SUBNET_ID", "AZURE_NODE_RESOURCE_GROUP", "AZURE_SUBSCRIPTION_ID", "LOCATION",
	} {
		if !strings.Contains(p.output(), want) {
			t.Errorf("the output does not name %s", want)
		}
	}
}
