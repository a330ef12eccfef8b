package azuretest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Connection is how clients reach an account.
type Connection struct {
	// URL is the endpoint of everything: ARM, Entra, metadata, prices and the bootstrapping service.
	URL string
	// PlainURL is the same without TLS, for the bootstrapping and the metadata service.
	PlainURL string
	// HTTPClient trusts the certificate of the server, and reaches it also at the link-local address of the metadata service.
	HTTPClient *http.Client
	// Options are those of clients of the SDK. They do not retry, so that a failure needs to be injected only once.
	Options *arm.ClientOptions
	// Credential has a token without asking Entra.
	Credential azcore.TokenCredential
}

// Connect serves the account on loopback until the test ends, with a self-signed certificate.
func Connect(t testing.TB, a *Account) *Connection {
	t.Helper()
	server := httptest.NewUnstartedServer(a)
	server.EnableHTTP2 = true // as that of Azure
	server.StartTLS()
	t.Cleanup(server.Close)
	plain := httptest.NewServer(a)
	t.Cleanup(plain.Close)
	client := server.Client()
	if transport, isHTTP := client.Transport.(*http.Transport); isHTTP {
		transport.DialContext = dialer(plain.Listener.Addr().String())
		transport.ForceAttemptHTTP2 = true
	}
	a.mu.Lock()
	token, _ := a.issue()["access_token"].(string)
	a.mu.Unlock()
	return &Connection{
		URL: server.URL, PlainURL: plain.URL, HTTPClient: client, Credential: staticToken(token),
		Options: &arm.ClientOptions{DisableRPRegistration: true, ClientOptions: policy.ClientOptions{
			Cloud: Cloud(server.URL), Transport: client, Retry: policy.RetryOptions{MaxRetries: -1},
		}},
	}
}

// dialer connects to an address instead of the metadata service.
func dialer(metadata string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "169.254.169.254:80" {
			address = metadata
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}

// MetadataURL is where a virtual machine reads its metadata, which real ones read from a link-local address.
func (c *Connection) MetadataURL(vm string) string { return c.PlainURL + "/" + vm + "/metadata" }

// BootstrapHost is the host and port of the bootstrapping service.
func (c *Connection) BootstrapHost() string { return strings.TrimPrefix(c.PlainURL, "http://") }

// GalleryTokenURL is where the token for galleries comes from.
func (c *Connection) GalleryTokenURL() string { return c.PlainURL + "/sig/token" }

// Cloud is the configuration of the SDK for a server.
func Cloud(endpoint string) cloud.Configuration {
	return cloud.Configuration{
		ActiveDirectoryAuthorityHost: endpoint + "/",
		Services:                     map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: {Endpoint: endpoint, Audience: endpoint}},
	}
}

// staticToken is a credential with a token that is always valid.
type staticToken string

// GetToken returns the token.
func (s staticToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(s), ExpiresOn: time.Now().Add(time.Hour)}, nil
}
