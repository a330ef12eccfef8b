package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"k8s.io/utils/clock"
)

// auxiliaryHeader has a token of another tenant, beside that of the cluster.
const auxiliaryHeader = "x-ms-authorization-auxiliary"

// fetchTimeout is how long a request for a token may take with its retries: other calls for virtual machines wait for it.
const fetchTimeout = 30 * time.Second

// galleryTokens adds the token for shared image galleries to requests: the galleries of AKS are in another tenant than the cluster, and only
// a server of AKS issues tokens for them.
type galleryTokens struct {
	server   *url.URL
	clock    clock.PassiveClock
	pipeline runtime.Pipeline

	turn  chan struct{} // holds one value while a caller reads or replaces the token
	token azcore.AccessToken
}

// newGalleryTokens returns the policy for a server of tokens, which get the scope. The address of the server may hold a secret: its requests
// are not logged, and errors do not name it.
func newGalleryTokens(server, scope string, options *policy.ClientOptions, now clock.PassiveClock) (*galleryTokens, error) {
	at, err := url.Parse(server)
	if err != nil || !at.IsAbs() || at.Host == "" {
		return nil, errors.New("the address of the server of tokens for shared image galleries is not an absolute URL")
	}
	query := at.Query()
	query.Set("scope", scope)
	at.RawQuery = query.Encode()
	own := *options
	own.PerCallPolicies, own.PerRetryPolicies = nil, nil
	return &galleryTokens{server: at, clock: now, turn: make(chan struct{}, 1), pipeline: runtime.NewPipeline(module, moduleVersion, runtime.PipelineOptions{}, &own)}, nil
}

// Do implements policy.Policy.
func (g *galleryTokens) Do(r *policy.Request) (*http.Response, error) {
	token, err := g.get(r.Raw().Context())
	if err != nil {
		return nil, fmt.Errorf("getting an access token for shared image galleries: %w", err)
	}
	r.Raw().Header.Set(auxiliaryHeader, "Bearer "+token)
	return r.Next()
}

// get returns the token, and fetches another one if it is to be replaced. Callers wait for one request, but not longer than their context.
func (g *galleryTokens) get(ctx context.Context) (string, error) {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-g.turn }()
	if now := g.clock.Now(); g.token.Token != "" && g.token.ExpiresOn.Sub(now) >= renewBefore && (g.token.RefreshOn.IsZero() || now.Before(g.token.RefreshOn)) {
		return g.token.Token, nil
	}
	token, err := g.fetch(ctx)
	if err != nil {
		return "", err
	}
	g.token = token
	return token.Token, nil
}

func (g *galleryTokens) fetch(ctx context.Context) (azcore.AccessToken, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := runtime.NewRequest(ctx, http.MethodGet, g.server.String())
	if err != nil {
		return azcore.AccessToken{}, WithoutURL(err)
	}
	response, err := g.pipeline.Do(request) //nolint:bodyclose // Drain closes it
	if err != nil {
		return azcore.AccessToken{}, WithoutURL(err)
	}
	defer runtime.Drain(response)
	if !runtime.HasStatusCode(response, http.StatusOK) {
		return azcore.AccessToken{}, fmt.Errorf("the server responded with status %d", response.StatusCode)
	}
	var body struct {
		Token                string
		ExpiresOn, RefreshOn time.Time
	}
	if err := runtime.UnmarshalAsJSON(response, &body); err != nil || body.Token == "" {
		return azcore.AccessToken{}, errors.New("the response of the server is not a token")
	}
	return azcore.AccessToken{Token: body.Token, ExpiresOn: body.ExpiresOn, RefreshOn: body.RefreshOn}, nil
}

// WithoutURL returns the cause of an error that names the URL of its request, for URLs that may hold a secret.
func WithoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
