package network_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6/fake"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
)

const (
	group   = "MC_rg_c_eastus"
	prefix  = "/subscriptions/sub/resourceGroups/" + group + "/providers/Microsoft.Network/"
	managed = prefix + "virtualNetworks/aks-vnet-12345678/subnets/aks-subnet"
	custom  = "/subscriptions/sub/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/corp/subnets/nodes"
)

// azure is the part of Azure with networks. Its clients are those of the SDK, its server is that which Microsoft generates for tests.
type azure struct {
	mu        sync.Mutex
	balancers [][]*armnetwork.LoadBalancer // by page
	groups    [][]*armnetwork.SecurityGroup
	network   *armnetwork.VirtualNetwork
	failure   string // the code of an error, set by fail
	delay     time.Duration
	lists     int // how often load balancers or groups were listed
	server    *fake.ServerFactory
	transport policy.Transporter
}

// fail makes the last page of each list fail with a code; it succeeds if that is empty. The server of the SDK would stay on a page that failed.
func (a *azure) fail(code string) {
	a.failure, a.transport = code, fake.NewServerFactoryTransport(a.server)
}

// Do implements policy.Transporter.
func (a *azure) Do(r *http.Request) (*http.Response, error) { return a.transport.Do(r) }

func (a *azure) open(t *testing.T) *session.Session {
	t.Helper()
	environ, err := environment.Read(environment.Sources{Getenv: func(name string) string {
		return map[string]string{"AZURE_SUBSCRIPTION_ID": "sub", "LOCATION": "eastus"}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	a.server = &fake.ServerFactory{
		LoadBalancersServer: fake.LoadBalancersServer{
			NewListPager: func(string, *armnetwork.LoadBalancersClientListOptions) (out azfake.PagerResponder[armnetwork.LoadBalancersClientListResponse]) {
				pages(a, a.balancers, &out, func(page []*armnetwork.LoadBalancer) armnetwork.LoadBalancersClientListResponse {
					return armnetwork.LoadBalancersClientListResponse{LoadBalancerListResult: armnetwork.LoadBalancerListResult{Value: page}}
				})
				return out
			},
		},
		SecurityGroupsServer: fake.SecurityGroupsServer{
			NewListPager: func(string, *armnetwork.SecurityGroupsClientListOptions) (out azfake.PagerResponder[armnetwork.SecurityGroupsClientListResponse]) {
				pages(a, a.groups, &out, func(page []*armnetwork.SecurityGroup) armnetwork.SecurityGroupsClientListResponse {
					return armnetwork.SecurityGroupsClientListResponse{SecurityGroupListResult: armnetwork.SecurityGroupListResult{Value: page}}
				})
				return out
			},
		},
		VirtualNetworksServer: fake.VirtualNetworksServer{
			Get: func(_ context.Context, group, name string, _ *armnetwork.VirtualNetworksClientGetOptions) (out azfake.Responder[armnetwork.VirtualNetworksClientGetResponse], fails azfake.ErrorResponder) {
				if a.network == nil || group+"/"+name != "net/corp" {
					fails.SetResponseError(http.StatusNotFound, "ResourceNotFound")
					return out, fails
				}
				out.SetResponse(http.StatusOK, armnetwork.VirtualNetworksClientGetResponse{VirtualNetwork: *a.network}, nil)
				return out, fails
			},
		},
	}
	a.fail(a.failure)
	s, err := session.New(&azfake.TokenCredential{}, session.Options{
		Environment: environ, Settings: &settings.Settings{}, Version: "v1", Transport: a, Clock: clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pages answers a list.
func pages[T, R any](a *azure, from [][]T, out *azfake.PagerResponder[R], page func([]T) R) {
	time.Sleep(a.delay) // in a bubble
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists++
	for n, values := range from {
		if a.failure != "" && n == len(from)-1 {
			out.AddResponseError(http.StatusForbidden, a.failure)
			return
		}
		out.AddPage(http.StatusOK, page(values), nil)
	}
}

// balancer is a load balancer with pools.
func balancer(name string, pools ...*armnetwork.BackendAddressPool) *armnetwork.LoadBalancer {
	for _, pool := range pools {
		pool.ID = to.Ptr(prefix + "loadBalancers/" + name + "/backendAddressPools/" + *pool.Name)
	}
	return &armnetwork.LoadBalancer{Name: &name, Properties: &armnetwork.LoadBalancerPropertiesFormat{BackendAddressPools: pools}}
}

// pool is a pool whose members are network interfaces, or the addresses.
func pool(name string, addresses ...string) *armnetwork.BackendAddressPool {
	members := []*armnetwork.LoadBalancerBackendAddress{{Properties: &armnetwork.LoadBalancerBackendAddressPropertiesFormat{
		NetworkInterfaceIPConfiguration: &armnetwork.SubResource{ID: to.Ptr("configuration")},
	}}}
	for _, address := range addresses {
		members = append(members, &armnetwork.LoadBalancerBackendAddress{Properties: &armnetwork.LoadBalancerBackendAddressPropertiesFormat{IPAddress: &address}})
	}
	return &armnetwork.BackendAddressPool{Name: &name, Properties: &armnetwork.BackendAddressPoolPropertiesFormat{LoadBalancerBackendAddresses: members}}
}

func securityGroups(names ...string) []*armnetwork.SecurityGroup {
	var out []*armnetwork.SecurityGroup
	for _, name := range names {
		out = append(out, &armnetwork.SecurityGroup{ID: to.Ptr(prefix + "networkSecurityGroups/" + name), Name: &name})
	}
	return out
}

func TestPools(t *testing.T) {
	t.Attr("covers", "Z109")
	a := &azure{balancers: [][]*armnetwork.LoadBalancer{
		{balancer("other", pool("kubernetes")), balancer("kubernetes-INTERNAL", pool("kubernetes"))},
		{balancer("Kubernetes", pool("aksOutboundBackendPool"), pool("KUBERNETES-ipv6"), pool("aksOutboundBackendPool-IPv6"), pool("byIP", "10.0.0.4"), pool("a", ""))},
		{{}, {Name: to.Ptr("kubernetes")}},
	}}
	got, err := network.NewBackendPools(a.open(t).LoadBalancers, group, clock.RealClock{}).Get(t.Context())
	want := network.Pools{Generation: 1, IDs: []string{
		prefix + "loadBalancers/kubernetes-INTERNAL/backendAddressPools/kubernetes",
		prefix + "loadBalancers/Kubernetes/backendAddressPools/a", prefix + "loadBalancers/Kubernetes/backendAddressPools/aksOutboundBackendPool",
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestPoolsAreListedSeldom checks that pools are listed every two hours, that a refresh lists them anew, and that only the first of several
// callers with the same pools does.
func TestPoolsAreListedSeldom(t *testing.T) {
	t.Attr("covers", "Z109")
	synctest.Test(t, func(t *testing.T) {
		a := &azure{balancers: [][]*armnetwork.LoadBalancer{{balancer("kubernetes", pool("one"))}}, delay: time.Second}
		pools := network.NewBackendPools(a.open(t).LoadBalancers, group, clock.RealClock{})
		get := func(lists int, generation uint64) network.Pools {
			t.Helper()
			got, err := pools.Get(t.Context())
			if err != nil || got.Generation != generation || a.lists != lists {
				t.Fatalf("generation %d after %d lists, %v", got.Generation, a.lists, err)
			}
			return got
		}
		get(1, 1)
		time.Sleep(2*time.Hour - time.Second)
		get(1, 1)
		time.Sleep(time.Second)
		stale := get(2, 2)

		a.balancers[0] = []*armnetwork.LoadBalancer{balancer("kubernetes", pool("two"))}
		var launches sync.WaitGroup
		for range 20 {
			launches.Go(func() {
				got, err := pools.Refresh(t.Context(), stale)
				if err != nil || got.Generation != 3 || len(got.IDs) != 1 || !strings.HasSuffix(got.IDs[0], "/two") {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		}
		launches.Wait()
		fresh := get(3, 3)
		if got, err := pools.Refresh(t.Context(), stale); err != nil || got.Generation != 3 || a.lists != 3 {
			t.Errorf("a caller that comes late gets %+v after %d lists, %v", got, a.lists, err)
		}
		if got, err := pools.Refresh(t.Context(), fresh); err != nil || got.Generation != 4 || a.lists != 4 {
			t.Errorf("the next refresh gets %+v after %d lists, %v", got, a.lists, err)
		}

		a.fail("AuthorizationFailed")
		if got, err := pools.Refresh(t.Context(), network.Pools{Generation: 4}); err == nil || !strings.Contains(err.Error(), group) || got.IDs != nil {
			t.Errorf("got %+v, %v", got, err)
		}
		a.fail("")
		get(6, 5)
	})
}

// TestMissing tells errors because of pools that do not exist from others.
func TestMissing(t *testing.T) {
	t.Attr("covers", "Z109")
	pools := network.Pools{IDs: []string{prefix + "loadBalancers/kubernetes/backendAddressPools/one", prefix + "loadBalancers/kubernetes/backendAddressPools/two"}}
	for _, test := range []struct {
		code, names string
		want        bool
	}{
		{"InvalidResourceReference", pools.IDs[1], true},
		{"invalidresourcereference", strings.ToUpper(pools.IDs[0]), true},
		{"InvalidResourceReference", managed, false},
		{"SubnetIsFull", pools.IDs[0], false},
	} {
		err := refusal(t, test.code, "Resource "+test.names+" referenced by resource aks-c was not found.")
		if got := pools.Missing(err); got != test.want {
			t.Errorf("%s, %s: %v", test.code, test.names, got)
		}
	}
	if pools.Missing(errors.New("InvalidResourceReference "+pools.IDs[0])) || pools.Missing(nil) {
		t.Error("an error that is not one of Azure counts")
	}
}

func TestSecurityGroups(t *testing.T) {
	t.Attr("covers", "Z114")
	for _, test := range []struct {
		pages [][]*armnetwork.SecurityGroup
		id    string
		fails string
	}{
		{[][]*armnetwork.SecurityGroup{securityGroups("other", "aks-agentpool-1234-nsg", "x-aks-agentpool-12345678-nsg"), securityGroups("aks-agentpool-12345678-nsg")}, "12345678", ""},
		{[][]*armnetwork.SecurityGroup{append(securityGroups("AKS-agentpool-12345678-NSG"), &armnetwork.SecurityGroup{})}, "12345678", ""},
		{[][]*armnetwork.SecurityGroup{securityGroups("aks-agentpool-1234-nsg", "aks-agentpool-123456789-nsg")}, "", "no network security group"},
		{[][]*armnetwork.SecurityGroup{{}}, "", "no network security group"},
		{[][]*armnetwork.SecurityGroup{securityGroups("aks-agentpool-22222222-nsg"), securityGroups("aks-agentpool-11111111-nsg")}, "", "aks-agentpool-11111111-nsg, aks-agentpool-22222222-nsg"},
	} {
		a := &azure{groups: test.pages}
		groups := network.NewSecurityGroups(a.open(t).SecurityGroups, group, clock.RealClock{})
		got, err := groups.Get(t.Context())
		if got.ClusterID != test.id || (err != nil) != (test.fails != "") || test.id != "" && !strings.EqualFold(got.ID, prefix+"networkSecurityGroups/"+got.Name) {
			t.Errorf("got %+v, %v", got, err)
		}
		if test.fails != "" && err != nil && (!strings.Contains(err.Error(), test.fails) || !strings.Contains(err.Error(), group)) {
			t.Errorf("want %q, got %v", test.fails, err)
		}
	}
}

// TestSecurityGroupsAreListedSeldom checks that the group is listed every two hours, and that a failure is not kept.
func TestSecurityGroupsAreListedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &azure{groups: [][]*armnetwork.SecurityGroup{securityGroups("aks-agentpool-12345678-nsg")}, failure: "AuthorizationFailed"}
		groups := network.NewSecurityGroups(a.open(t).SecurityGroups, group, clock.RealClock{})
		if _, err := groups.Get(t.Context()); err == nil || !strings.Contains(err.Error(), "AuthorizationFailed") {
			t.Fatal(err)
		}
		a.fail("")
		for _, step := range []struct {
			wait  time.Duration
			lists int
		}{{0, 2}, {2*time.Hour - time.Second, 2}, {time.Second, 3}} {
			time.Sleep(step.wait)
			if _, err := groups.Get(t.Context()); err != nil || a.lists != step.lists {
				t.Errorf("%d lists after %v, %v", a.lists, step.wait, err)
			}
		}
	})
}

// TestAttachments checks that network interfaces have the security group unless their subnet, of the class or of the settings, has it.
func TestAttachments(t *testing.T) {
	t.Attr("covers", "Z108")
	a := &azure{groups: [][]*armnetwork.SecurityGroup{securityGroups("aks-agentpool-12345678-nsg")}, balancers: [][]*armnetwork.LoadBalancer{{balancer("kubernetes", pool("one"))}}}
	s := a.open(t)
	for _, test := range []struct{ class, settings, want, group string }{
		{"", managed, managed, ""},
		{custom, managed, custom, prefix + "networkSecurityGroups/aks-agentpool-12345678-nsg"},
		{"", custom, custom, prefix + "networkSecurityGroups/aks-agentpool-12345678-nsg"},
		{managed, custom, managed, ""},
	} {
		attachments := network.Attachments{
			NodeResourceGroup: group, SubnetID: test.settings, BackendPools: network.NewBackendPools(s.LoadBalancers, group, clock.RealClock{}),
			SecurityGroups: network.NewSecurityGroups(s.SecurityGroups, group, clock.RealClock{}),
		}
		got, err := attachments.Of(t.Context(), class(test.class))
		if err != nil || got.SubnetID != test.want || got.SecurityGroupID != test.group || len(got.Pools.IDs) != 1 {
			t.Errorf("class %q, settings %q: %+v, %v", test.class, test.settings, got, err)
		}
	}
	for what, change := range map[string]func(*network.Attachments){
		"the subnet":         func(a *network.Attachments) { a.SubnetID = "subnet" },
		"the security group": func(at *network.Attachments) { a.groups, at.SubnetID = nil, custom },
		"the pools":          func(*network.Attachments) { a.fail("AuthorizationFailed") },
	} {
		a.fail("")
		attachments := network.Attachments{
			NodeResourceGroup: group, SubnetID: managed, BackendPools: network.NewBackendPools(s.LoadBalancers, group, clock.RealClock{}),
			SecurityGroups: network.NewSecurityGroups(s.SecurityGroups, group, clock.RealClock{}),
		}
		change(&attachments)
		if got, err := attachments.Of(t.Context(), class("")); err == nil || !strings.Contains(err.Error(), `AKSNodeClass "general"`) || got.SubnetID != "" {
			t.Errorf("without %s: %+v, %v", what, got, err)
		}
	}
}

func class(subnetID string) *v1beta1.AKSNodeClass {
	out := &v1beta1.AKSNodeClass{}
	out.Name = "general"
	if subnetID != "" {
		out.Spec.VNETSubnetID = &subnetID
	}
	return out
}
