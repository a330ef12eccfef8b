// Package machineapi sends requests about AKSMachines: resources in an agent pool of AKS, for each of which AKS creates a virtual machine. No
// client of the SDK can create them, so that requests are sent on its pipeline, with its retries, credentials and operations.
//
// The package decides nothing. Errors are those of the SDK, with the code of Azure.
//
// Source: Azure provider specification, launch through AKSMachines; calls.
package machineapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/session"
)

// Options say which agent pool holds the AKSMachines.
type Options struct {
	ResourceManager *arm.Client
	// Subscription is an id; ResourceGroup, Cluster and Pool are the names of the group with the managed cluster, of that cluster, and of
	// the agent pool.
	Subscription, ResourceGroup, Cluster, Pool string
	// APIVersion is that of all requests. Stable versions up to 2026-04-01 cannot create AKSMachines, and return few of their properties.
	APIVersion string
}

// Client sends requests about the AKSMachines of one agent pool. Make one with New. It is safe for concurrent use.
type Client struct {
	options Options
	// pool is the URL of the agent pool.
	pool string
}

// New returns a client; it makes no request.
func New(o Options) *Client {
	return &Client{options: o, pool: runtime.JoinPaths(o.ResourceManager.Endpoint(),
		"subscriptions", url.PathEscape(o.Subscription), "resourceGroups", url.PathEscape(o.ResourceGroup),
		"providers/Microsoft.ContainerService/managedClusters", url.PathEscape(o.Cluster), "agentPools", url.PathEscape(o.Pool))}
}

// Pool is an agent pool.
type Pool struct{ Mode string }

// HasAKSMachines reports whether the agent pool is one for AKSMachines.
func (p Pool) HasAKSMachines() bool { return strings.EqualFold(p.Mode, path.Base("/Machines")) }

// GetPool returns the agent pool.
func (c *Client) GetPool(ctx context.Context) (Pool, error) {
	var out struct {
		Properties struct {
			Mode string `json:"mode"`
		} `json:"properties"`
	}
	err := c.get(ctx, c.link(""), &out)
	return Pool{Mode: out.Properties.Mode}, err
}

// Get returns an AKSMachine. IsNotFound reports whether the error says that there is none.
func (c *Client) Get(ctx context.Context, name string) (*AKSMachine, error) {
	out := &AKSMachine{}
	if err := c.get(ctx, c.machineLink(name), out); err != nil {
		return nil, err
	}
	return out, nil
}

// listPage is a page of AKSMachines.
type listPage struct {
	Value    []listed `json:"value"`
	NextLink string   `json:"nextLink"`
}

// List returns all AKSMachines of the agent pool. One that cannot be read has Malformed set, and its name if that can be read.
func (c *Client) List(ctx context.Context) ([]*AKSMachine, error) {
	var out []*AKSMachine
	for page, err := range session.Pages(ctx, c.options.ResourceManager.Pipeline(), c.link("/machines"), func(p *listPage) string { return p.NextLink }) {
		if err != nil {
			return nil, err
		}
		for i := range page.Value {
			out = append(out, &page.Value[i].AKSMachine)
		}
	}
	return out, nil
}

// BeginCreate requests an AKSMachine. If there is one with the name, Azure refuses, and AlreadyExists is true of the error.
func (c *Client) BeginCreate(ctx context.Context, name string, body any) (*runtime.Poller[AKSMachine], error) {
	return c.put(ctx, name, body, "If-None-Match", "*")
}

// BeginSetTags replaces the tags of an AKSMachine that was read. Azure refuses, with status 412, if it has changed since then.
func (c *Client) BeginSetTags(ctx context.Context, m *AKSMachine, tags map[string]string) (*runtime.Poller[AKSMachine], error) {
	body, err := m.withTags(tags)
	if err != nil {
		return nil, fmt.Errorf("changing the tags of AKSMachine %q: %w", m.Name, err)
	}
	etag := "*" // an AKSMachine without one must at least exist: the request would create it otherwise
	if m.Properties != nil && m.Properties.ETag != "" {
		etag = m.Properties.ETag
	}
	return c.put(ctx, m.Name, body, "If-Match", etag)
}

// BeginDelete requests the deletion of an AKSMachine with its virtual machine.
func (c *Client) BeginDelete(ctx context.Context, name string) (*runtime.Poller[struct{}], error) {
	request, err := runtime.NewRequest(ctx, http.MethodPost, c.link("/deleteMachines"))
	if err != nil {
		return nil, err
	}
	if err := runtime.MarshalAsJSON(request, map[string][]string{"machineNames": {name}}); err != nil {
		return nil, err
	}
	response, err := c.options.ResourceManager.Pipeline().Do(request) //nolint:bodyclose // the SDK has read it
	if err != nil {
		return nil, err
	}
	if !runtime.HasStatusCode(response, http.StatusOK, http.StatusAccepted, http.StatusNoContent) {
		return nil, runtime.NewResponseError(response)
	}
	return runtime.NewPoller[struct{}](response, c.options.ResourceManager.Pipeline(), nil)
}

// put sends a PUT with a header.
func (c *Client) put(ctx context.Context, name string, body any, header, value string) (*runtime.Poller[AKSMachine], error) {
	request, err := runtime.NewRequest(ctx, http.MethodPut, c.machineLink(name))
	if err != nil {
		return nil, err
	}
	if err := runtime.MarshalAsJSON(request, body); err != nil {
		return nil, err
	}
	// Else Azure refuses spot capacity for nodes of mode System.
	request.Raw().Header.Set("AllowSpotVMSystemNode", "true")
	request.Raw().Header.Set(header, value)
	response, err := c.options.ResourceManager.Pipeline().Do(request) //nolint:bodyclose // the SDK has read it
	if err != nil {
		return nil, err
	}
	if !runtime.HasStatusCode(response, http.StatusOK, http.StatusCreated, http.StatusAccepted) {
		return nil, runtime.NewResponseError(response)
	}
	return runtime.NewPoller[AKSMachine](response, c.options.ResourceManager.Pipeline(), nil)
}

func (c *Client) get(ctx context.Context, link string, into any) error {
	return session.Get(ctx, c.options.ResourceManager.Pipeline(), link, into)
}

// link is the URL of something below the agent pool.
func (c *Client) link(below string) string {
	return c.pool + below + "?" + url.Values{"api-version": {c.options.APIVersion}}.Encode()
}

func (c *Client) machineLink(name string) string { return c.link("/machines/" + url.PathEscape(name)) }
