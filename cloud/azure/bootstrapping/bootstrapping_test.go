package bootstrapping_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/bootstrapping"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

const (
	placeholder = "{{.TokenID}}.{{.TokenSecret}}"
	token       = "abcdef.0123456789abcdef"
	path        = "/subscriptions/sub/resourceGroups/rg(1)/providers/Microsoft.ContainerService/managedclusters/c/nodeBootstrapping"
)

// credential gets a token, or an error.
type credential struct{ err error }

// GetToken implements azcore.TokenCredential.
func (c credential) GetToken(_ context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "for " + strings.Join(options.Scopes, " "), ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

// connect returns a client.
func connect(t *testing.T, server string, transport policy.Transporter, c credential) *bootstrapping.Client {
	t.Helper()
	client, err := bootstrapping.New(c, options(server, transport))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func options(server string, transport policy.Transporter) bootstrapping.Options {
	return bootstrapping.Options{
		Server: server, SubscriptionID: "sub", ResourceGroup: "rg(1)", Cluster: "c", Scope: "https://audience/.default", BootstrapToken: token,
		ClientOptions: &policy.ClientOptions{Transport: transport, Telemetry: policy.TelemetryOptions{ApplicationID: "karpenter-aks/v1.2.3"}},
	}
}

// spec is a node.
func spec() *bootstrapping.Spec {
	return &bootstrapping.Spec{
		Class: &v1beta1.AKSNodeClass{}, SKU: sku.Description{Name: "Standard_D2s_v3", VCPUs: 2, Architecture: "amd64"}, Family: family.Ubuntu2204, Distro: "d",
		KubernetesVersion: "1.33.4", SubnetID: "S", MaxPods: 250, MemoryCapacity: 7945689497, MemoryOverhead: 0.075,
	}
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// answer is what the service answers.
func answer(customData, cse string) string {
	return fmt.Sprintf(`{"customData":%q,"cse":%q,"osImageConfig":{"a":1},"sigImageConfig":{}}`, encoded(customData), cse)
}

// TestGet checks the request, which is a GET with a body, over HTTPS and HTTP, and that the token is in the response.
func TestGet(t *testing.T) {
	t.Attr("covers", "Z166 Z241 Z249")
	body := answer("#!/bin/bash\nTOKEN="+placeholder+"\nAGAIN="+placeholder, "TOKEN="+placeholder+" /run.sh")
	handle := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodGet || r.URL.Path != path && r.URL.Path != "/base"+path || r.URL.Query().Has("api-version") {
			t.Errorf("%s %s, %v", r.Method, r.URL, err)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer for https://audience/.default" || !strings.HasPrefix(r.UserAgent(), "karpenter-aks/v1.2.3 ") {
			t.Errorf("the headers are %v", r.Header)
		}
		var got struct {
			ProvisionProfile map[string]any
		}
		if err := json.Unmarshal(sent, &got); err != nil {
			t.Error(err)
		}
		if config, ok := got.ProvisionProfile["customKubeletConfig"].(map[string]any); !ok || len(config) != 0 {
			t.Errorf("a class without a configuration of the kubelet has %v", got.ProvisionProfile["customKubeletConfig"])
		}
		fmt.Fprint(w, body)
	})
	secure, plain := httptest.NewTLSServer(handle), httptest.NewServer(handle)
	defer secure.Close()
	defer plain.Close()
	for _, server := range []string{
		secure.URL, secure.URL + "/base/", strings.TrimPrefix(secure.URL, "https://"), plain.URL,
	} {
		got, err := connect(t, server, secure.Client(), credential{}).Get(t.Context(), spec())
		want := bootstrapping.Start{CustomData: encoded("#!/bin/bash\nTOKEN=" + token + "\nAGAIN=" + token), Command: "TOKEN=" + token + " /run.sh"}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", server, err, diff)
		}
	}
	body = answer("TOKEN="+token, "TOKEN="+token)
	got, err := connect(t, secure.URL, secure.Client(), credential{}).Get(t.Context(), spec())
	if err != nil || got.CustomData != encoded("TOKEN="+token) || got.Command != "TOKEN="+token {
		t.Errorf("what has a token is changed: %+v, %v", got, err)
	}
}

// TestAddresses checks that an address that nothing can be sent to is an error that does not show it.
func TestAddresses(t *testing.T) {
	for _, server := range []string{"", "://hidden", "ftp://hidden", "https://:443/hidden", "hidden\x7f"} {
		if _, err := bootstrapping.New(credential{}, options(server, nil)); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", server, err)
		}
	}
}

// TestFailures fail the launch, with one request.
func TestFailures(t *testing.T) {
	t.Attr("covers", "Z167")
	for _, test := range []struct {
		status     int
		body, want string
	}{
		{http.StatusServiceUnavailable, "try later", `status 503: "try later"`},
		{http.StatusBadRequest, strings.Repeat("x", 2000), `status 400: "` + strings.Repeat("x", 500) + `"`},
		{http.StatusNoContent, "", "status 204"},
		{http.StatusOK, "<html>", "asking"},
		{http.StatusOK, "{}", "no customData"},
		{http.StatusOK, answer("", "run"), "no customData"},
		{http.StatusOK, answer("data", ""), "no cse"},
		{http.StatusOK, `{"customData":"%","cse":"run"}`, "not base64"},
	} {
		requests := 0
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.WriteHeader(test.status)
			fmt.Fprint(w, test.body)
		}))
		got, err := connect(t, server.URL+"/hidden", server.Client(), credential{}).Get(t.Context(), spec())
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hidden") || got != (bootstrapping.Start{}) || requests != 1 {
			t.Errorf("status %d %.20q: %d requests, %v", test.status, test.body, requests, err)
		}
		server.Close()
	}
	server := httptest.NewTLSServer(http.NotFoundHandler())
	client := connect(t, server.URL+"/hidden", server.Client(), credential{})
	server.Close()
	if _, err := client.Get(t.Context(), spec()); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v", err)
	}
	refused := errors.New("refused")
	if _, err := connect(t, "https://127.0.0.1:1", nil, credential{refused}).Get(t.Context(), spec()); !errors.Is(err, refused) {
		t.Errorf("without a token: %v", err)
	}
	other := spec()
	other.Family = "Windows2022"
	if _, err := client.Get(t.Context(), other); err == nil || !strings.Contains(err.Error(), "Windows2022") {
		t.Errorf("got %v", err)
	}
}

// silent is a service that does not answer.
type silent struct{}

// Do implements policy.Transporter.
func (silent) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := connect(t, "service", silent{}, credential{}).Get(t.Context(), spec())
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 30*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}
