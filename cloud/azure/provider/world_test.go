package provider_test

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/provider"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

const (
	location = "eastus"
	vms      = "Microsoft.Compute/virtualMachines"
	nics     = "Microsoft.Network/networkInterfaces"
)

// world is a provider in an account, in provision mode aksscriptless.
type world struct {
	t        *testing.T
	clock    *clocktesting.FakeClock
	account  *azuretest.Account
	client   client.WithWatch
	provider *provider.Provider
	metrics  *prometheus.Registry
	end      func() // ends the background of launches

	mu        sync.Mutex
	events    []observe.Event
	disrupted []string // pools and capacity types
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), metrics: prometheus.NewRegistry()}
	w.account = azuretest.New(azuretest.Options{Clock: w.clock})
	w.account.Put(azuretest.ID("Microsoft.Network/networkSecurityGroups", "aks-agentpool-12345678-nsg"), map[string]any{})
	w.client = apiserver.New().WithStatusSubresource(&v1.NodeClaim{}, &v1beta1.AKSNodeClass{}).Build()
	w.start()
	w.addClass()
	return w
}

// start starts the process: a provider that knows nothing yet.
func (w *world) start() {
	t := w.t
	t.Helper()
	connection := azuretest.Connect(t, w.account)
	at := environment.Environment{
		SubscriptionID: azuretest.Subscription, TenantID: azuretest.Tenant, Location: location, Cloud: environment.PublicCloud, Configuration: azuretest.Cloud(connection.URL),
	}
	set := &settings.Settings{
		KubeletBootstrapToken: "abcdef.0123456789abcdef", LinuxAdminUsername: "azureuser", SSHPublicKey: "ssh-rsa K", NetworkPlugin: "azure", NetworkPluginMode: "overlay",
		NetworkDataplane: "cilium", VNETGUID: "guid", VNETSubnetID: azuretest.SubnetID(), KubeletIdentityClientID: "identity",
		NodeResourceGroup: azuretest.NodeResourceGroup, ProvisionMode: settings.ModeScriptless,
	}
	azure, err := session.New(connection.Credential, session.Options{Environment: at, Settings: set, Transport: connection.HTTPClient, Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	built, err := provider.Assemble(t.Context(), provider.AssemblyOptions{
		Session: azure, Environment: at, Settings: set, ClusterName: "cluster", ClusterEndpoint: "https://cluster:443", VMMemoryOverheadPercent: 0.075,
		Client: w.client, Clock: w.clock, Metrics: telemetry.NewMetrics(w.metrics), Random: func(int) int { return 0 },
		Publish: func(events ...observe.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, events...)
		},
		Disrupted: func(claim *v1.NodeClaim) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.disrupted = append(w.disrupted, claim.Labels[v1.NodePoolLabelKey]+" "+claim.Labels[v1.CapacityTypeLabelKey])
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	built.Cluster.CABundle, built.Cluster.DNSServiceIP = "Y2E=", "10.0.0.10"
	w.provider = built.Provider
	if err := w.provider.Catalog.Inventory.RefreshSKUs(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.provider.Launcher.Background.Start(ctx) }()
	w.end = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(w.end)
}

// addClass adds a class that is ready, and a pool.
func (w *world) addClass() {
	w.t.Helper()
	class := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class", Generation: 1}}
	set := condition.For(class, w.clock.Now())
	for _, dependent := range class.ConditionTypes().Dependents {
		set.True(dependent)
	}
	class.Status.KubernetesVersion = "1.33.4"
	for definition, arch := range map[string]string{"2204gen2containerd": "amd64", "2204gen2arm64containerd": "arm64"} {
		class.Status.Images = append(class.Status.Images, v1beta1.NodeImage{
			ID:           "/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/" + definition + "/versions/202604.1.0",
			Requirements: []corev1.NodeSelectorRequirement{{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{arch}}},
		})
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general", UID: "pool"}}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
	for _, o := range []client.Object{class, pool} {
		if err := w.client.Create(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
}

// claim adds a NodeClaim for 1 CPU with some requirements.
func (w *world) claim(name string, requirements ...v1.NodeSelectorRequirementWithMinValues) *v1.NodeClaim {
	w.t.Helper()
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{v1.NodePoolLabelKey: "general"}}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
	claim.Spec.Requirements = requirements
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("3")}
	if err := w.client.Create(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
	return claim
}

func in(key string, values ...string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}
