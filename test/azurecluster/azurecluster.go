// Package azurecluster adds an Azure test server to a running control plane, so that the built controller can run as on AKS: the account
// contains what AKS makes for a cluster, community galleries contain its node images, and virtual machines join the cluster. Nothing outside
// of the host is called.
package azurecluster

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest/join"
)

// Names of the cluster.
const (
	// Cluster is the name of the cluster.
	Cluster = azuretest.ClusterResourceGroup
	// Location is where everything is.
	Location = "eastus"
	// securityGroup, loadBalancer and backendPool are named as AKS does.
	securityGroup, loadBalancer, backendPool = "aks-agentpool-12345678-nsg", "kubernetes", "kubernetes"
	// tokenID and tokenSecret are the bootstrap token of nodes.
	tokenID, tokenSecret = "demo01", "0123456789abcdef"
	// FirstImages is the version of all node images at the start.
	FirstImages = "202604.01.0"
)

// Options configure the cluster. The zero value is valid.
type Options struct {
	// Takes is how long operations of Azure take, RetryAfter how long clients wait before they ask for one again, in whole seconds; 0 for no
	// time.
	Takes, RetryAfter time.Duration
	// Boot is how long a virtual machine takes from its creation until it joins.
	Boot time.Duration
}

// Azure is an account beside a cluster, until Stop.
type Azure struct {
	Account *azuretest.Account
	Joiner  *join.Joiner
	// URL is where the account is served.
	URL string

	endpoint string // of the API server
	server   *httptest.Server
	folder   string // has the files that the environment names
	cancel   context.CancelFunc
	all      sync.WaitGroup
}

// Start puts an account beside the cluster of a kubeconfig. The client is its administrator's.
func Start(ctx context.Context, kubeconfig string, c client.Client, o Options) (*Azure, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	port, err := portOf(config)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, c); err != nil {
		return nil, err
	}
	a := &Azure{endpoint: config.Host, Account: azuretest.New(azuretest.Options{
		Location: Location, Takes: o.Takes, RetryAfter: o.RetryAfter, Sizes: azuretest.ManySizes(),
	})}
	populate(a.Account)
	a.Publish(FirstImages, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC))
	a.Joiner = join.New(join.Options{Account: a.Account, Client: c, Port: port, Boot: o.Boot})
	// With TLS: credentials of Azure refuse an authority without.
	a.server = httptest.NewTLSServer(a.Account)
	a.URL = a.server.URL
	if err := a.describe(); err != nil {
		a.server.Close()
		return nil, err
	}
	ctx, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	a.all.Go(func() { a.Joiner.Run(ctx) })
	return a, nil
}

// Stop ends the account, and with it what its virtual machines do.
func (a *Azure) Stop() error {
	a.cancel()
	a.server.Close()
	a.all.Wait()
	return os.RemoveAll(a.folder)
}

// Publish publishes a version of all node images in the community galleries. The version that was published last is the newest.
func (a *Azure) Publish(version string, at time.Time) {
	for gallery, definitions := range galleries() {
		for _, definition := range definitions {
			image := azuretest.GalleryID(Location, gallery, definition)
			a.Account.Put(image, map[string]any{})
			a.Account.Put(image+"/versions/"+version, map[string]any{"location": Location, "properties": map[string]any{"publishedDate": at.UTC().Format(time.RFC3339)}})
		}
	}
}

// galleries are the community galleries of AKS with the definitions of images in them.
func galleries() map[string][]string {
	return map[string][]string{
		"AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2": {
			"2204gen2containerd", "2204containerd", "2204gen2arm64containerd", "2204gen2TLcontainerd",
			"2404gen2containerd", "2404containerd", "2404gen2arm64containerd", "2404gen2TLcontainerd",
		},
		"AKSAzureLinux-f7c7cda5-1c9a-4bdc-a222-9614c968580b": {"V2gen2", "V2", "V2gen2arm64", "V2gen2TL", "V3gen2", "V3", "V3gen2arm64", "V3gen2TL"},
	}
}

// populate creates what AKS makes for a cluster beside its virtual network.
func populate(account *azuretest.Account) {
	account.Put(azuretest.ID("Microsoft.Network/networkSecurityGroups", securityGroup), map[string]any{"location": Location})
	balancer := azuretest.ID("Microsoft.Network/loadBalancers", loadBalancer)
	account.Put(balancer, map[string]any{"location": Location, "properties": map[string]any{"backendAddressPools": []any{
		map[string]any{"id": balancer + "/backendAddressPools/" + backendPool, "name": backendPool, "properties": map[string]any{}},
	}}})
}

// prepare puts into the cluster what nodes and the controller need: an address for names, as every cluster of AKS has one, where no server
// answers; and the bootstrap token.
func prepare(ctx context.Context, c client.Client) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-dns"}}
	service.Spec.Ports = []corev1.ServicePort{{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53}}
	token := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + tokenID}, Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": tokenID, "token-secret": tokenSecret, "usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "false"},
	}
	for _, object := range []client.Object{service, token} {
		if err := c.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// portOf is the port of the API server.
func portOf(config *rest.Config) (string, error) {
	endpoint, err := url.Parse(config.Host)
	if err != nil || endpoint.Port() == "" {
		return "", fmt.Errorf("the address of the API server, %q, is no URL with a port: %w", config.Host, err)
	}
	return endpoint.Port(), nil
}

// describe writes the files that the environment names.
func (a *Azure) describe() error {
	var err error
	if a.folder, err = os.MkdirTemp("", "azure-*"); err != nil {
		return fmt.Errorf("making a folder for the description of the cloud: %w", err)
	}
	text, err := json.Marshal(map[string]string{
		// The name is that of the public cloud, so that nodes get the extension by which AKS bills them.
		"name": "AzurePublicCloud", "resourceManagerEndpoint": a.URL, "activeDirectoryEndpoint": a.URL + "/", "tokenAudience": a.URL,
	})
	if err != nil {
		return fmt.Errorf("describing the cloud: %w", err)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
	return errors.Join(os.WriteFile(a.description(), text, 0o600), os.WriteFile(a.authority(), authority, 0o600))
}

func (a *Azure) description() string { return filepath.Join(a.folder, "cloud.json") }
func (a *Azure) authority() string   { return filepath.Join(a.folder, "ca.crt") }

// Environment is what a controller has to find in its environment to use the account.
func (a *Azure) Environment() []string {
	return []string{
		"AZURE_SUBSCRIPTION_ID=" + azuretest.Subscription, "AZURE_TENANT_ID=" + azuretest.Tenant, "AZURE_CLIENT_ID=client", "AZURE_CLIENT_SECRET=secret",
		"AZURE_TOKEN_CREDENTIALS=EnvironmentCredential", "LOCATION=" + Location, "ARM_RESOURCE_GROUP=" + azuretest.ClusterResourceGroup, "ARM_CLOUD=",
		"AZURE_ENVIRONMENT_FILEPATH=" + a.description(), "SSL_CERT_FILE=" + a.authority(),
	}
}

// Flags are what a controller has to be started with.
func (a *Azure) Flags() []string {
	return []string{
		"--cloud-provider=azure", "--cluster-name=" + Cluster, "--cluster-endpoint=" + a.endpoint, "--kubelet-bootstrap-token=" + tokenID + "." + tokenSecret,
		"--ssh-public-key=ssh-rsa AAAAB3NzaC1yc2E= azureuser", "--vnet-subnet-id=" + azuretest.SubnetID(), "--node-resource-group=" + azuretest.NodeResourceGroup,
		"--kubelet-identity-client-id=00000000-0000-0000-0000-0000000000c1",
	}
}
