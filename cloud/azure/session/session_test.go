package session_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/operation"
	"github.com/karpenter-anew/karpenter/cloud/azure/retail"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
)

const (
	audience = "https://audience.own.example"
	scope    = audience + "/.default"
	manager  = "management.own.example"
)

// transport is Azure: it remembers requests and answers them in memory, so that time can be that of a bubble.
type transport struct {
	answer func(*http.Request) *http.Response

	mu       sync.Mutex
	requests []*http.Request
	at       []time.Time
}

// Do implements policy.Transporter.
func (s *transport) Do(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.requests, s.at = append(s.requests, r), append(s.at, time.Now())
	s.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	response := s.answer(r)
	response.Request = r
	return response, nil
}

// last is the last request to a host.
func (s *transport) last(t *testing.T, host string) *http.Request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := len(s.requests) - 1; n >= 0; n-- {
		if s.requests[n].URL.Host == host {
			return s.requests[n]
		}
	}
	t.Fatalf("no request to %s", host)
	return nil
}

// count is the number of requests to a host.
func (s *transport) count(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if r.URL.Host == host {
			n++
		}
	}
	return n
}

// respond is a response with a status, a body, and headers as pairs.
func respond(status int, body string, header ...string) *http.Response {
	out := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	for n := 0; n+1 < len(header); n += 2 {
		out.Header.Set(header[n], header[n+1])
	}
	return out
}

// credential gets tokens that end after a life.
type credential struct {
	mu      sync.Mutex
	options policy.TokenRequestOptions
	life    time.Duration
	refresh time.Duration
	get     func(context.Context) error
}

// GetToken implements azcore.TokenCredential.
func (c *credential) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.options = options
	if c.get != nil {
		if err := c.get(ctx); err != nil {
			return azcore.AccessToken{}, err
		}
	}
	out := azcore.AccessToken{Token: "secret-token", ExpiresOn: time.Now().Add(c.life)}
	if c.refresh != 0 {
		out.RefreshOn = time.Now().Add(c.refresh)
	}
	return out, nil
}

// options are those of a cloud that a file describes.
func options(s *transport) session.Options {
	return session.Options{
		Environment: environment.Environment{
			SubscriptionID: "sub", Location: "westus2", Cloud: "OwnCloud",
			Configuration: azcloud.Configuration{
				ActiveDirectoryAuthorityHost: "https://login.own.example/",
				Services:                     map[azcloud.ServiceName]azcloud.ServiceConfiguration{azcloud.ResourceManager: {Endpoint: "https://" + manager, Audience: audience}},
			},
		},
		Settings: &settings.Settings{ProvisionMode: settings.ModeScriptless}, Version: "v1.2.3-alpha.4", Transport: s, Clock: clock.RealClock{},
	}
}

func open(t *testing.T, o session.Options) *session.Session {
	t.Helper()
	s, err := session.New(&credential{life: time.Hour}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call is a call of a client.
type call struct {
	name, version, path string
	make                func(context.Context, *session.Session) error
}

// first reads the first page of a list.
func first[T any](ctx context.Context, pager *runtime.Pager[T]) error {
	_, err := pager.NextPage(ctx)
	return err
}

func begin[T any](_ *runtime.Poller[T], err error) error { return err }

// calls has a call of each client.
func calls() []call {
	const rg = "/subscriptions/sub/resourceGroups/rg/providers/"
	const vms, location = rg + "Microsoft.Compute/virtualMachines/v", "/subscriptions/sub/providers/Microsoft.Compute/locations/westus2/"
	return []call{
		{"VirtualMachines", "2025-04-01", vms, func(ctx context.Context, s *session.Session) error {
			_, err := s.VirtualMachines.Get(ctx, "rg", "v", nil)
			return err
		}},
		{"VirtualMachines, delete", "2025-04-01", vms, func(ctx context.Context, s *session.Session) error {
			return begin(s.VirtualMachines.BeginDelete(ctx, "rg", "v", &armcompute.VirtualMachinesClientBeginDeleteOptions{ForceDeletion: to.Ptr(true)}))
		}},
		{"Extensions", "2025-04-01", vms + "/extensions/e", func(ctx context.Context, s *session.Session) error {
			return begin(s.Extensions.BeginCreateOrUpdate(ctx, "rg", "v", "e", armcompute.VirtualMachineExtension{}, nil))
		}},
		{"Usages", "2025-04-01", location + "usages", func(ctx context.Context, s *session.Session) error {
			return first(ctx, s.Usages.NewListPager("westus2", nil))
		}},
		{"CommunityImages", "2025-03-03", location + "communityGalleries/g/images/i/versions", func(ctx context.Context, s *session.Session) error {
			return first(ctx, s.CommunityImages.NewListPager("westus2", "g", "i", nil))
		}},
		{"DiskEncryptionSets", "2025-01-02", rg + "Microsoft.Compute/diskEncryptionSets/d", func(ctx context.Context, s *session.Session) error {
			_, err := s.DiskEncryptionSets.Get(ctx, "rg", "d", nil)
			return err
		}},
		{"SKUs", "2021-07-01", "/subscriptions/sub/providers/Microsoft.Compute/skus", func(ctx context.Context, s *session.Session) error {
			return first(ctx, s.SKUs.NewListPager(&armcompute.ResourceSKUsClientListOptions{Filter: to.Ptr("location eq 'westus2'")}))
		}},
		{"Interfaces", "2022-01-01", rg + "Microsoft.Network/networkInterfaces/n", func(ctx context.Context, s *session.Session) error {
			return begin(s.Interfaces.BeginCreateOrUpdate(ctx, "rg", "n", armnetwork.Interface{}, nil))
		}},
		{"VirtualNetworks", "2022-01-01", rg + "Microsoft.Network/virtualNetworks/n", func(ctx context.Context, s *session.Session) error {
			_, err := s.VirtualNetworks.Get(ctx, "rg", "n", nil)
			return err
		}},
		{"Subnets", "2022-01-01", rg + "Microsoft.Network/virtualNetworks/n/subnets/s", func(ctx context.Context, s *session.Session) error {
			_, err := s.Subnets.Get(ctx, "rg", "n", "s", nil)
			return err
		}},
		{"LoadBalancers", "2022-01-01", rg + "Microsoft.Network/loadBalancers", func(ctx context.Context, s *session.Session) error {
			return first(ctx, s.LoadBalancers.NewListPager("rg", nil))
		}},
		{"SecurityGroups", "2022-01-01", rg + "Microsoft.Network/networkSecurityGroups", func(ctx context.Context, s *session.Session) error {
			return first(ctx, s.SecurityGroups.NewListPager("rg", nil))
		}},
		{"ResourceGraph", "2024-04-01", "/providers/Microsoft.ResourceGraph/resources", func(ctx context.Context, s *session.Session) error {
			_, err := s.ResourceGraph.Resources(ctx, armresourcegraph.QueryRequest{}, nil)
			return err
		}},
		{"ResourceManager", "2026-04-02-preview", rg + "Microsoft.ContainerService/managedClusters/c/agentPools/p", func(ctx context.Context, s *session.Session) error {
			r, err := runtime.NewRequest(ctx, http.MethodGet, s.ResourceManager.Endpoint()+rg+"Microsoft.ContainerService/managedClusters/c/agentPools/p?api-version=2026-04-02-preview")
			if err != nil {
				return err
			}
			response, err := s.ResourceManager.Pipeline().Do(r)
			if err != nil {
				return err
			}
			return response.Body.Close()
		}},
	}
}

// TestCalls checks what every client sends: to where, which version of the API, as whom; and that nothing else is called.
func TestCalls(t *testing.T) {
	t.Attr("covers", "Z249")
	azure := &transport{answer: func(*http.Request) *http.Response { return respond(http.StatusOK, `{}`) }}
	s := open(t, options(azure))
	for n, call := range calls() {
		if err := call.make(t.Context(), s); err != nil {
			t.Errorf("%s: %v", call.name, err)
		}
		r := azure.last(t, manager)
		if len(azure.requests) != n+1 || r.URL.Path != call.path || r.URL.Query().Get("api-version") != call.version {
			t.Errorf("%s: request %d is %s %s", call.name, len(azure.requests), r.Method, r.URL)
		}
		if agent := r.UserAgent(); !strings.HasPrefix(agent, "karpenter-aks/v1.2.3-alp azsdk-go-") {
			t.Errorf("%s: the user agent is %q", call.name, agent)
		}
		if r.Header.Get("Authorization") != "Bearer secret-token" || r.Header.Get("x-ms-authorization-auxiliary") != "" {
			t.Errorf("%s: the headers are %v", call.name, r.Header)
		}
		if call.name == "VirtualMachines, delete" && r.URL.Query().Get("forceDeletion") != "true" {
			t.Errorf("%s: %s", call.name, r.URL)
		}
	}
	prices := retail.New("https://prices.own.example", "v1.2.3", s.ClientOptions)
	if _, err := prices.Items(t.Context(), "westus2"); err != nil {
		t.Error(err)
	}
	r := azure.last(t, "prices.own.example")
	if agent := r.UserAgent(); !strings.HasPrefix(agent, "karpenter-aks/v1.2.3-alp ") || r.Header.Get("Authorization") != "" {
		t.Errorf("the price list sees user agent %q, headers %v", agent, r.Header)
	}
}

// TestVersions checks that builds of any version have clients.
func TestVersions(t *testing.T) {
	for version, want := range map[string]string{"": "karpenter-aks/v ", "dev": "karpenter-aks/vdev ", "0123456789abcdef": "karpenter-aks/v012345678 ", "v1.10.2": "karpenter-aks/v1.10.2 "} {
		azure := &transport{answer: func(*http.Request) *http.Response { return respond(http.StatusOK, `{}`) }}
		o := options(azure)
		o.Version = version
		for _, call := range calls() {
			if err := call.make(t.Context(), open(t, o)); err != nil || !strings.HasPrefix(azure.last(t, manager).UserAgent(), want) {
				t.Errorf("version %q, %s: %v, the user agent is %q", version, call.name, err, azure.last(t, manager).UserAgent())
			}
		}
	}
}

// TestRetries checks how long the clients wait for a server that does not serve, and that they do not retry what is refused.
func TestRetries(t *testing.T) {
	for _, test := range []struct {
		status, requests int
		header           []string
		least, most      time.Duration
	}{
		{http.StatusRequestTimeout, 4, nil, 7 * time.Second, 12 * time.Second},
		{http.StatusTooManyRequests, 4, nil, 7 * time.Second, 12 * time.Second},
		{http.StatusInternalServerError, 4, nil, 7 * time.Second, 12 * time.Second},
		{http.StatusBadGateway, 4, nil, 7 * time.Second, 12 * time.Second},
		{http.StatusServiceUnavailable, 4, nil, 7 * time.Second, 12 * time.Second},
		{http.StatusGatewayTimeout, 4, nil, 7 * time.Second, 12 * time.Second},
		{http.StatusTooManyRequests, 4, []string{"Retry-After", "20"}, 60 * time.Second, 60 * time.Second},
		{http.StatusConflict, 1, nil, 0, 0},
		{http.StatusForbidden, 1, nil, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			azure := &transport{answer: func(*http.Request) *http.Response { return respond(test.status, `{}`, test.header...) }}
			s := open(t, options(azure))
			start := time.Now()
			_, err := s.VirtualMachines.Get(t.Context(), "rg", "v", nil)
			if took := time.Since(start); err == nil || azure.count(manager) != test.requests || took < test.least || took > test.most {
				t.Errorf("status %d %v: %d requests in %v, %v", test.status, test.header, azure.count(manager), took, err)
			}
		})
	}
}

// TestNothingIsRegistered checks that a subscription without a resource provider is an error, and that it is not changed.
func TestNothingIsRegistered(t *testing.T) {
	azure := &transport{answer: func(*http.Request) *http.Response {
		return respond(http.StatusConflict, `{"error":{"code":"MissingSubscriptionRegistration","message":"The subscription is not registered to use namespace 'Microsoft.Compute'."}}`)
	}}
	_, err := open(t, options(azure)).VirtualMachines.Get(t.Context(), "rg", "v", nil)
	if failed, ok := errors.AsType[*azcore.ResponseError](err); !ok || failed.ErrorCode != "MissingSubscriptionRegistration" || len(azure.requests) != 1 {
		t.Errorf("%d requests, %v", len(azure.requests), err)
	}
}

// TestOperations checks the pace at which operations are followed, and that one that fails has its code, which decides what is launched
// instead.
func TestOperations(t *testing.T) {
	for _, test := range []struct {
		header []string
		pace   time.Duration
	}{{nil, 3 * time.Second}, {[]string{"Retry-After", "7"}, 7 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			polls := 0
			azure := &transport{}
			azure.answer = func(r *http.Request) *http.Response {
				switch {
				case r.Method == http.MethodPut:
					return respond(http.StatusCreated, `{"properties":{"provisioningState":"Creating"}}`, append(test.header, "Azure-AsyncOperation", "https://"+manager+"/operations/o?api-version=2025-04-01")...)
				case polls < 2:
					polls++
					return respond(http.StatusOK, `{"status":"InProgress"}`, test.header...)
				default:
					return respond(http.StatusOK, `{"status":"Failed","error":{"code":"ZonalAllocationFailed","message":"no capacity"}}`)
				}
			}
			vms := open(t, options(azure)).VirtualMachines
			err := operation.Run(t.Context(), clock.RealClock{}, func(ctx context.Context) (*runtime.Poller[armcompute.VirtualMachinesClientCreateOrUpdateResponse], error) {
				return vms.BeginCreateOrUpdate(ctx, "rg", "v", armcompute.VirtualMachine{}, nil)
			})
			if failed, ok := errors.AsType[*azcore.ResponseError](err); !ok || failed.ErrorCode != "ZonalAllocationFailed" {
				t.Errorf("got %v", err)
			}
			var pauses []time.Duration
			for n := 2; n < len(azure.at); n++ {
				pauses = append(pauses, azure.at[n].Sub(azure.at[n-1]))
			}
			if diff := cmp.Diff([]time.Duration{test.pace, test.pace}, pauses); diff != "" {
				t.Errorf("pauses between requests (-want +got)\n%s", diff)
			}
		})
	}
}
