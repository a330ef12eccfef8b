// Package retail reads the price list of Azure, which is public and needs no subscription.
//
// Source: Azure provider specification, pricing; the page "Azure Retail Prices REST API overview" of Azure.
package retail

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/price"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
)

const (
	// Endpoint is where the price list of the public cloud is.
	Endpoint = "https://prices.azure.com"

	path       = "/api/retail/prices"
	apiVersion = "2023-01-01-preview"
)

// publicResourceManager is the endpoint of the resource manager in the public cloud, the only one whose prices are in the list.
const publicResourceManager = "https://management.azure.com"

// Lists reports whether the price list has the prices of a cloud, given the endpoint of its resource manager.
func Lists(resourceManager string) bool {
	return strings.EqualFold(strings.TrimSuffix(resourceManager, "/"), publicResourceManager)
}

// Client reads the price list. Make one with New; it is safe for concurrent use.
type Client struct {
	endpoint string
	pipeline runtime.Pipeline
}

// New returns a client for an endpoint. Options configure retries, the transport and the user agent, as for clients of the SDK; nil means
// their defaults.
func New(endpoint, version string, options *policy.ClientOptions) *Client {
	return &Client{endpoint: strings.TrimSuffix(endpoint, "/"), pipeline: runtime.NewPipeline("karpenter/retail", version, runtime.PipelineOptions{}, options)}
}

// page is a page of the price list.
type page struct {
	Items []struct {
		ARMSKUName  string  `json:"armSkuName"`
		SKUName     string  `json:"skuName"`
		MeterName   string  `json:"meterName"`
		ProductName string  `json:"productName"`
		Type        string  `json:"type"`
		Primary     bool    `json:"isPrimaryMeterRegion"`
		RetailPrice float64 `json:"retailPrice"`
	} `json:"Items"`
	NextPageLink string `json:"NextPageLink"`
}

// Items returns all prices of virtual machines in a location, in US dollars. If a page cannot be read, there is no result.
func (c *Client) Items(ctx context.Context, location string) ([]price.Item, error) {
	query := url.Values{"api-version": {apiVersion}, "$filter": {filter(location)}}
	first, pages := c.endpoint+path+"?"+query.Encode(), 0
	var out []price.Item
	for p, err := range session.Pages(ctx, c.pipeline, first, func(p *page) string { return p.NextPageLink }) {
		pages++
		if err != nil {
			return nil, fmt.Errorf("reading page %d of the price list of %s: %w", pages, location, err)
		}
		for _, i := range p.Items {
			out = append(out, price.Item{
				ARMSKUName: i.ARMSKUName, SKUName: i.SKUName, MeterName: i.MeterName, ProductName: i.ProductName, Type: i.Type, Primary: i.Primary, RetailPrice: i.RetailPrice,
			})
		}
	}
	return out, nil
}

// filter selects the prices of virtual machines in a location.
func filter(location string) string {
	return strings.Join([]string{
		"priceType eq 'Consumption'", "currencyCode eq 'USD'", "serviceFamily eq 'Compute'", "serviceName eq 'Virtual Machines'",
		"armRegionName eq '" + strings.ReplaceAll(location, "'", "''") + "'",
	}, " and ")
}
