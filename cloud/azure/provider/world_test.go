package provider_test

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
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

// agentPool is that of AKSMachines.
const agentPool = "nodes"

// world is a provider in an account.
type world struct {
	t *testing.T
	// mode and change are the settings of processes that start.
	mode     settings.ProvisionMode
	change   func(*settings.Settings)
	clock    *azuretest.Clock
	account  *azuretest.Account
	client   client.WithWatch
	provider *provider.Provider
	assembly *provider.Assembly
	session  *session.Session
	// instances are what the provider calls Azure with.
	instances *instance.Client
	metrics   *prometheus.Registry
	process   *process
	// kill ends the process in the middle of what it does, end lets it end what it deletes.
	kill, end func()

	mu        sync.Mutex
	events    []observe.Event
	disrupted []string // pools and capacity types
}

// process is the network of a process, which ends with it: a process that is killed sends nothing any more.
type process struct {
	policy.Transporter
	killed atomic.Bool
}

// Do implements policy.Transporter.
func (p *process) Do(r *http.Request) (*http.Response, error) {
	if p.killed.Load() {
		// Clients do not repeat this one.
		return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	return p.Transporter.Do(r)
}

// newWorld returns a provider in provision mode aksscriptless.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldIn(t, settings.ModeScriptless, func(*settings.Settings) {})
}

// newWorldIn returns a provider in a provision mode, with changes of its settings.
func newWorldIn(t *testing.T, mode settings.ProvisionMode, change func(*settings.Settings)) *world {
	t.Helper()
	o := azuretest.Options{}
	if mode.CreatesAKSMachines() { // each read of an AKSMachine would bring it closer to its end
		o.Takes = 10 * time.Second
	}
	return newWorldOf(t, mode, change, o)
}

// newWorldOf returns a provider in an account with options; their clock is that of the world.
func newWorldOf(t *testing.T, mode settings.ProvisionMode, change func(*settings.Settings), o azuretest.Options) *world {
	t.Helper()
	w := &world{t: t, mode: mode, change: change, clock: azuretest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), metrics: prometheus.NewRegistry()}
	o.Clock = w.clock
	w.account = azuretest.New(o)
	w.account.Put(azuretest.ID("Microsoft.Network/networkSecurityGroups", "aks-agentpool-12345678-nsg"), map[string]any{})
	w.account.Put(azuretest.PoolID(agentPool), map[string]any{"properties": map[string]any{"mode": azuretest.ModeMachines()}})
	w.client = apiserver.New().WithStatusSubresource(&v1.NodeClaim{}, &v1beta1.AKSNodeClass{}).
		WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).Build()
	w.start()
	w.addClass()
	return w
}

// assemble makes a provider that knows nothing yet, with the managed cluster in a resource group.
func (w *world) assemble(group string) (*provider.Assembly, error) {
	t := w.t
	t.Helper()
	connection := azuretest.Connect(t, w.account)
	at := environment.Environment{
		SubscriptionID: azuretest.Subscription, TenantID: azuretest.Tenant, ResourceGroup: group, Location: location,
		Cloud: environment.PublicCloud, Configuration: azuretest.Cloud(connection.URL),
	}
	set := &settings.Settings{
		KubeletBootstrapToken: "abcdef.0123456789abcdef", LinuxAdminUsername: "azureuser", SSHPublicKey: "ssh-rsa K", NetworkPlugin: "azure", NetworkPluginMode: "overlay",
		NetworkDataplane: "cilium", VNETGUID: "guid", VNETSubnetID: azuretest.SubnetID(), KubeletIdentityClientID: "identity",
		NodeResourceGroup: azuretest.NodeResourceGroup, ProvisionMode: w.mode, NodeBootstrappingServerURL: connection.PlainURL,
		AKSMachinesPoolName: agentPool, AKSMachinesAPIVersion: "2026-04-02-preview", ProviderBatchMaxSize: 1,
		ProviderBatchIdleDuration: time.Second, ProviderBatchMaxDuration: 5 * time.Second,
	}
	w.change(set)
	w.process = &process{Transporter: connection.HTTPClient}
	azure, err := session.New(connection.Credential, session.Options{Environment: at, Settings: set, Transport: w.process, Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	w.session = azure
	return provider.Assemble(t.Context(), provider.AssemblyOptions{
		Session: azure, Environment: at, Settings: set, ClusterName: "test", ClusterEndpoint: "https://cluster:443", VMMemoryOverheadPercent: 0.075,
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
}

// start starts the process.
func (w *world) start() {
	t := w.t
	t.Helper()
	built, err := w.assemble(azuretest.ClusterResourceGroup)
	if err != nil {
		t.Fatal(err)
	}
	built.Cluster.CABundle, built.Cluster.DNSServiceIP = "Y2E=", "10.0.0.10"
	w.assembly, w.provider, w.instances = built, built.Provider, built.Instances
	if err := w.provider.Catalog.Inventory.RefreshSKUs(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = built.AKSMachines.Start(ctx) })
	running.Go(func() { _ = w.provider.Launcher.Background.Start(ctx) })
	process := w.process
	w.kill = func() {
		cancel()
		process.killed.Store(true)
	}
	w.end = sync.OnceFunc(func() { cancel(); running.Wait() })
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
		id := image.CommunityID(family.Ubuntu2204, definition, "202604.1.0")
		if w.mode.CreatesAKSMachines() {
			id = image.SharedID(family.Ubuntu2204, "aks", definition, "202604.1.0")
		}
		class.Status.Images = append(class.Status.Images, v1beta1.NodeImage{
			ID:           id.String(),
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
	return w.labelled(name, nil, requirements...)
}

// labelled adds a NodeClaim like claim, with more labels.
func (w *world) labelled(name string, labels map[string]string, requirements ...v1.NodeSelectorRequirementWithMinValues) *v1.NodeClaim {
	w.t.Helper()
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{v1.NodePoolLabelKey: "general"}}}
	maps.Copy(claim.Labels, labels)
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
