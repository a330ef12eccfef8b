package azuretest

import (
	"context"
	"net/http"
	"net/http/httptest"
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
	// HTTPClient trusts the certificate of the server.
	HTTPClient *http.Client
	// Options are those of clients of the SDK. They do not retry, so that a failure needs to be injected only once.
	Options *arm.ClientOptions
	// Credential has a token without asking Entra.
	Credential azcore.TokenCredential
}

// Connect serves the account on loopback until the test ends, with a certificate of its own.
func Connect(t testing.TB, a *Account) *Connection {
	t.Helper()
	server := httptest.NewTLSServer(a)
	t.Cleanup(server.Close)
	a.mu.Lock()
	token, _ := a.issue()["access_token"].(string)
	a.mu.Unlock()
	return &Connection{
		URL: server.URL, HTTPClient: server.Client(), Credential: staticToken(token),
		Options: &arm.ClientOptions{DisableRPRegistration: true, ClientOptions: policy.ClientOptions{
			Cloud: Cloud(server.URL), Transport: server.Client(), Retry: policy.RetryOptions{MaxRetries: -1},
		}},
	}
}

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
