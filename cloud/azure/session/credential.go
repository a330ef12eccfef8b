package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
)

const (
	// maxTokenLife is how long a token is used at most. Groups and roles of the identity are in the token: what is revoked ends with it.
	maxTokenLife = 2 * time.Hour
	// renewBefore is how long before its end a token is replaced.
	renewBefore = 5 * time.Minute
	// checkTimeout is how long the first token may take.
	checkTimeout = 5 * time.Second
)

// NewCredential returns the credential that the SDK finds in its default chain: secrets in the environment, workload identity, managed
// identity, tools of developers. Its tokens are used for two hours at most.
func NewCredential(o *Options) (azcore.TokenCredential, error) {
	found, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
		// Retries stay those of the SDK, which differ between the credentials of the chain.
		ClientOptions: policy.ClientOptions{
			Cloud: o.Environment.Configuration, Transport: o.Transport, Telemetry: policy.TelemetryOptions{ApplicationID: applicationID(o.Version)},
		},
		TenantID: o.Environment.TenantID,
		// Microsoft's directory of authorities does not have those of clouds that a file describes.
		DisableInstanceDiscovery: !published(o.Environment.Configuration.ActiveDirectoryAuthorityHost),
	})
	if err != nil {
		return nil, fmt.Errorf("finding a credential for Azure: %w", err)
	}
	return Limit(found, o.Clock), nil
}

// published reports whether Microsoft's directory of authorities has an authority, given its URL. The name of the cloud does not say so: a
// file can describe one with the name of the public cloud and its own endpoints.
func published(authority string) bool {
	for _, known := range []azcloud.Configuration{azcloud.AzurePublic, azcloud.AzureChina, azcloud.AzureGovernment} {
		if strings.EqualFold(strings.TrimSuffix(authority, "/"), strings.TrimSuffix(known.ActiveDirectoryAuthorityHost, "/")) {
			return true
		}
	}
	return false
}

// Limit returns a credential whose tokens end two hours from now at the latest.
func Limit(credential azcore.TokenCredential, now clock.PassiveClock) azcore.TokenCredential {
	return limited{credential, now}
}

type limited struct {
	next  azcore.TokenCredential
	clock clock.PassiveClock
}

// GetToken implements azcore.TokenCredential.
func (l limited) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := l.next.GetToken(ctx, options)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	end := l.clock.Now().Add(maxTokenLife)
	if !token.ExpiresOn.After(end) {
		return token, nil
	}
	token.ExpiresOn = end
	// A later time would keep the token until it ends, and the call that finds it ended would wait for another one.
	if renew := end.Add(-renewBefore); token.RefreshOn.After(renew) {
		token.RefreshOn = renew
	}
	return token, nil
}

// Check tries whether the credential gets a token for the resource manager within five seconds.
func Check(ctx context.Context, credential azcore.TokenCredential, where *environment.Environment) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	// As the clients ask for it, so that the token is theirs too.
	if _, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{where.TokenScope()}, EnableCAE: true}); err != nil {
		return fmt.Errorf("getting an access token for %s within %v: %w", where.ResourceManager(), checkTimeout, err)
	}
	return nil
}
