package azuretest

import (
	"fmt"
	"net/http"
	"net/url"
)

// tokenLifetime is how long a token is valid, in seconds of the client's clock. The account accepts tokens for ever.
const tokenLifetime = 3600

// entraRoutes are those of Microsoft Entra: metadata of the tenant, and tokens.
func entraRoutes() []route {
	return []route{
		{method: http.MethodGet, pattern: "/{}/v2.0/.well-known/openid-configuration", operation: "openid-configuration", open: true, serve: openIDConfiguration},
		{method: http.MethodPost, pattern: "/{}/oauth2/v2.0/token", operation: "token", open: true, serve: issueToken},
	}
}

func openIDConfiguration(_ *Account, r *request) (*response, error) {
	base := baseURL(r.http) + "/" + r.names[0]
	return ok(map[string]any{
		"issuer": base + "/v2.0", "authorization_endpoint": base + "/oauth2/v2.0/authorize", "token_endpoint": base + "/oauth2/v2.0/token",
	}), nil
}

// issueToken issues a token for a secret or for the token of a service account.
func issueToken(a *Account, r *request) (*response, error) {
	form, err := url.ParseQuery(string(r.body))
	switch {
	case err != nil:
		return entraRefusal("invalid_request", err.Error()), nil
	case r.names[0] != Tenant:
		return entraRefusal("invalid_tenant", "AADSTS90002: Tenant '"+r.names[0]+"' not found."), nil
	case form.Get("grant_type") != "client_credentials":
		return entraRefusal("unsupported_grant_type", "AADSTS70003: The grant type is not supported."), nil
	case form.Get("client_secret") == "" && form.Get("client_assertion") == "":
		return entraRefusal("invalid_client", "AADSTS7000218: The request body must contain client_assertion or client_secret."), nil
	}
	return ok(a.issue()), nil
}

// issue is a new token, as Entra and the metadata service show it.
func (a *Account) issue() map[string]any {
	token := fmt.Sprintf("token-%d", a.next())
	a.tokens[token] = true
	return map[string]any{"token_type": "Bearer", "access_token": token, "expires_in": tokenLifetime, "ext_expires_in": tokenLifetime}
}

// entraRefusal is an error in the shape of OAuth 2.0.
func entraRefusal(code, description string) *response {
	return &response{status: http.StatusBadRequest, body: map[string]any{"error": code, "error_description": description}}
}

// baseURL is the URL of the account as the client sees it.
func baseURL(r *http.Request) string {
	if r.TLS == nil {
		return "http://" + r.Host
	}
	return "https://" + r.Host
}
