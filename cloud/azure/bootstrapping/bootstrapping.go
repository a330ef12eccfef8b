// Package bootstrapping asks the node bootstrapping service of AKS what a virtual machine starts with: its custom data, and the command that
// makes it a node.
//
// Source: Azure provider specification, node-bootstrapping client.
package bootstrapping

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/session"
)

const (
	// timeout is how long the service may take.
	timeout = 30 * time.Second
	// placeholder is where the service leaves space for the bootstrap token, which it does not know.
	placeholder = "{{.TokenID}}.{{.TokenSecret}}"
	// maxMessage is how many bytes of a response errors show.
	maxMessage = 500
)

// Options say where the service is.
type Options struct {
	// Server is a URL, or a host with or without a port, which is called with HTTPS. It may hold a secret.
	Server string
	// SubscriptionID, ResourceGroup and Cluster name the managed cluster.
	SubscriptionID, ResourceGroup, Cluster string
	// Scope is that of access tokens for the resource manager.
	Scope string
	// BootstrapToken is the token with which kubelets request their certificate.
	BootstrapToken string
	// ClientOptions have the transport and the user agent.
	ClientOptions *policy.ClientOptions
}

// Client asks the service. Make one with New; it is safe for concurrent use.
type Client struct {
	address, token string
	pipeline       runtime.Pipeline
}

// Start is what a virtual machine starts with.
type Start struct {
	// CustomData is in base64. Command is the command of the extension. Both hold the bootstrap token.
	CustomData, Command string
}

// New returns a client that authenticates with a credential. Requests are not retried, because a launch that fails is; they are not logged,
// and errors do not name the address, which may hold a secret.
func New(credential azcore.TokenCredential, options Options) (*Client, error) {
	at, err := address(&options)
	if err != nil {
		return nil, err
	}
	own := *options.ClientOptions
	own.PerCallPolicies, own.PerRetryPolicies, own.Retry = nil, nil, policy.RetryOptions{MaxRetries: -1}
	// The SDK refuses tokens over HTTP unless it is told otherwise, as is who writes http:// in the settings.
	bearer := runtime.NewBearerTokenPolicy(credential, []string{options.Scope}, &policy.BearerTokenOptions{InsecureAllowCredentialWithHTTP: at.Scheme == "http"})
	return &Client{
		address: at.String(), token: options.BootstrapToken,
		pipeline: runtime.NewPipeline("karpenter/bootstrapping", "v0.0.0", runtime.PipelineOptions{PerRetry: []policy.Policy{bearer}}, &own),
	}, nil
}

// address is the URL of requests.
func address(o *Options) (*url.URL, error) {
	server := o.Server
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	at, err := url.Parse(server)
	if err != nil || at.Hostname() == "" || at.Scheme != "https" && at.Scheme != "http" {
		return nil, errors.New("the address of the node bootstrapping service is neither an HTTP URL nor a host")
	}
	at.Path = strings.TrimSuffix(at.Path, "/") + "/subscriptions/" + o.SubscriptionID + "/resourceGroups/" + o.ResourceGroup +
		"/providers/Microsoft.ContainerService/managedclusters/" + o.Cluster + "/nodeBootstrapping"
	return at, nil
}

// Get returns what the virtual machine of a node starts with. It fails if the service is not there within 30 seconds, refuses, or leaves
// something out.
func (c *Client) Get(ctx context.Context, spec *Spec) (Start, error) {
	body, err := BodyOf(spec)
	if err != nil {
		return Start{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := c.ask(ctx, body)
	if err != nil {
		return Start{}, fmt.Errorf("asking the node bootstrapping service: %w", err)
	}
	start, err := answer.withToken(c.token)
	if err != nil {
		return Start{}, fmt.Errorf("reading the response of the node bootstrapping service: %w", err)
	}
	return start, nil
}

// response is what the service answers.
type response struct {
	CustomData string `json:"customData"`
	CSE        string `json:"cse"`
}

func (c *Client) ask(ctx context.Context, body *Body) (response, error) {
	request, err := runtime.NewRequest(ctx, http.MethodGet, c.address)
	if err != nil {
		return response{}, session.WithoutURL(err)
	}
	if err := runtime.MarshalAsJSON(request, body); err != nil {
		return response{}, err
	}
	answer, err := c.pipeline.Do(request) //nolint:bodyclose // Drain closes it
	if err != nil {
		return response{}, session.WithoutURL(err)
	}
	defer runtime.Drain(answer)
	if !runtime.HasStatusCode(answer, http.StatusOK) {
		message, err := runtime.Payload(answer)
		if err != nil {
			return response{}, fmt.Errorf("status %d, and the response cannot be read: %w", answer.StatusCode, err)
		}
		return response{}, fmt.Errorf("status %d: %q", answer.StatusCode, message[:min(len(message), maxMessage)])
	}
	var out response
	err = runtime.UnmarshalAsJSON(answer, &out)
	return out, err
}

// withToken puts the bootstrap token where the service left space for it.
func (r response) withToken(token string) (Start, error) {
	switch {
	case r.CustomData == "":
		return Start{}, errors.New("it has no customData")
	case r.CSE == "":
		return Start{}, errors.New("it has no cse")
	}
	data, err := base64.StdEncoding.DecodeString(r.CustomData)
	if err != nil {
		return Start{}, errors.New("its customData is not base64")
	}
	return Start{
		CustomData: base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(string(data), placeholder, token))),
		Command:    strings.ReplaceAll(r.CSE, placeholder, token),
	}, nil
}
