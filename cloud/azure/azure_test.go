package azure

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// noToken is a credential without tokens.
type noToken struct{}

func (noToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, errors.New("no identity is assigned")
}

// installation is how the provider is set up in an account.
func installation(account *azuretest.Connection, clock *azuretest.Clock) Settings {
	return Settings{
		ClusterName: "test", ClusterEndpoint: "https://test:443", VMMemoryOverheadPercent: 0.075, Clock: clock,
		Session: session.Options{
			Transport: account.HTTPClient,
			Environment: environment.Environment{
				SubscriptionID: azuretest.Subscription, Location: "eastus", Cloud: environment.PublicCloud, Configuration: azuretest.Cloud(account.URL),
			},
			Settings: &settings.Settings{
				NodeResourceGroup: azuretest.NodeResourceGroup, VNETSubnetID: azuretest.SubnetID(), NetworkPlugin: "azure", NetworkPluginMode: "overlay",
				ProvisionMode: settings.ModeScriptless,
			},
		},
	}
}

// TestOpen opens the provider, which reads the virtual network and the SKUs, and says what is missing.
func TestOpen(t *testing.T) {
	clock := azuretest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	for name, test := range map[string]struct {
		fault      func(*azuretest.Account, *Settings)
		credential azcore.TokenCredential
		want       string
	}{
		"opened":   {},
		"no token": {credential: noToken{}, want: "no identity is assigned"},
		"no network": {fault: func(a *azuretest.Account, _ *Settings) {
			a.Fail("GET virtualNetworks", 403, "AuthorizationFailed", "The client has no authorization.", -1)
		}, want: "AuthorizationFailed"},
		"no SKUs": {fault: func(a *azuretest.Account, _ *Settings) {
			a.Fail("GET skus", 403, "AuthorizationFailed", "The client has no authorization.", -1)
		}, want: `listing the SKUs of location "eastus"`},
		"no bootstrapper": {fault: func(_ *azuretest.Account, s *Settings) {
			s.Session.Settings.ProvisionMode = settings.ModeBootstrappingClient
		}, want: "provision mode bootstrappingclient"},
	} {
		t.Run(name, func(t *testing.T) {
			account := azuretest.New(azuretest.Options{Clock: clock})
			connection := azuretest.Connect(t, account)
			s := installation(connection, clock)
			if test.fault != nil {
				test.fault(account, &s)
			}
			if test.credential == nil {
				test.credential = connection.Credential
			}
			opened, err := open(t.Context(), nil, s, test.credential)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v, want %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if opened.Name != "azure" || opened.ClusterName != "test" || opened.Register == nil || len(opened.RepairPolicies) == 0 {
				t.Errorf("opened %+v", opened)
			}
		})
	}
}

// TestNew opens the provider with the credential that the environment describes, as the controller does.
func TestNew(t *testing.T) {
	for name, value := range map[string]string{
		"AZURE_TENANT_ID": azuretest.Tenant, "AZURE_CLIENT_ID": "client", "AZURE_CLIENT_SECRET": "secret", "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
	} {
		t.Setenv(name, value)
	}
	clock := azuretest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	account := azuretest.New(azuretest.Options{Clock: clock})
	opened, err := New(nil, installation(azuretest.Connect(t, account), clock))
	if err != nil || opened.Name != "azure" {
		t.Fatalf("opened %q, %v", opened.Name, err)
	}
	if n := len(account.Calls("POST token")); n == 0 {
		t.Error("Entra was not asked for a token")
	}
}

// TestPeriodsOfTasks lists the periodic tasks and how long after a success each runs again.
func TestPeriodsOfTasks(t *testing.T) {
	e, _ := opened(t)
	got := map[string]time.Duration{}
	for _, task := range e.tasks() {
		got[task.Name] = task.Every(1)
	}
	want := map[string]time.Duration{
		"instancetype": 12 * time.Hour, "pricing": 12 * time.Hour, "quota": 10 * time.Minute, "networkinterface.garbagecollection": 5 * time.Minute, "launch.resumption": -1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestSettingsOfNodeClasses checks that the controllers of node classes get the settings that only they use.
func TestSettingsOfNodeClasses(t *testing.T) {
	e, _ := opened(t)
	s := e.settings.Session.Settings
	s.LocalDNSMinKubernetesVersion, s.NetworkPolicy = "1.40", "cilium"
	o := e.nodeClassOptions(e.client, nil)
	if o.LocalDNSVersion != "1.40" || o.NetworkPolicy != "cilium" || o.NetworkPlugin != "azure" || o.Subnet != azuretest.SubnetID() {
		t.Errorf("got %+v", o)
	}
}

// TestQuotasAreRead runs the task that reads the quota of a family.
func TestQuotasAreRead(t *testing.T) {
	e, account := opened(t)
	account.Limit("standardDSv3Family", 1)
	for _, task := range e.tasks() {
		if task.Name != "quota" {
			continue
		}
		if err := task.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !e.assembly.Provider.Catalog.Quota.Exceeded("standardDSv3Family", 2) {
		t.Error("the quota is not exceeded")
	}
}

// TestLaunchesThatAreResumed chooses among NodeClaims those whose launch has to be followed.
func TestLaunchesThatAreResumed(t *testing.T) {
	e, account := opened(t)
	ref := &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
	add := func(name string, change func(*v1.NodeClaim)) {
		claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeClaimSpec{NodeClassRef: ref}}
		claim.Status.ProviderID = "azure://" + azuretest.ID("Microsoft.Compute/virtualMachines", "aks-"+name)
		change(claim)
		if err := e.client.Create(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		if claim.DeletionTimestamp = nil; name == "deleted" {
			if err := e.client.Delete(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
		}
	}
	add("launched", func(*v1.NodeClaim) {})
	add("pending", func(c *v1.NodeClaim) { c.Status.ProviderID = "" })
	add("registered", func(c *v1.NodeClaim) { condition.For(c, e.settings.Clock.Now()).True(v1.ConditionTypeRegistered) })
	add("deleted", func(c *v1.NodeClaim) { c.Finalizers = []string{"karpenter.sh/termination"} })
	add("foreign", func(c *v1.NodeClaim) {
		c.Spec.NodeClassRef = &v1.NodeClassReference{Group: "other", Kind: "Other", Name: "default"}
	})
	if err := e.resumeLaunches(t.Context()); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, call := range account.Calls("GET virtualMachines") {
		asked = append(asked, call.Path[strings.LastIndex(call.Path, "/")+1:])
	}
	if diff := cmp.Diff([]string{"aks-launched"}, asked); diff != "" {
		t.Errorf("instances that were read (-want +got)\n%s", diff)
	}
	add("strange", func(c *v1.NodeClaim) { c.Status.ProviderID = "kwok://x" })
	if err := e.resumeLaunches(t.Context()); err == nil || !strings.Contains(err.Error(), `nodeclaim "strange"`) {
		t.Errorf("the error is %v", err)
	}
}

// opened is what registers the controllers of a provider in an account.
func opened(t *testing.T) (*controllerSet, *azuretest.Account) {
	t.Helper()
	clock := azuretest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	account := azuretest.New(azuretest.Options{Clock: clock})
	connection := azuretest.Connect(t, account)
	s := installation(connection, clock)
	registry := prometheus.NewRegistry()
	s.Telemetry = &observe.Telemetry{Registry: registry, Metrics: observe.NewMetrics(registry, nil)}
	var c client.Client = apiserver.New().Build()
	e, _, err := assemble(t.Context(), c, s, connection.Credential)
	if err != nil {
		t.Fatal(err)
	}
	return e, account
}

// TestUnopened calls a provider without a subscription.
func TestUnopened(t *testing.T) {
	c := Unopened()
	if _, err := c.Provider.InstanceTypes(t.Context(), &v1.NodePool{}); !errors.Is(err, errNoCluster) {
		t.Errorf("the error is %v", err)
	}
	if len(c.NodeClasses) != 1 || !c.Labels.WellKnown[corev1.LabelTopologyZone] {
		t.Errorf("described as %+v", c)
	}
}
