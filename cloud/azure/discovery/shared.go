package discovery

import (
	"context"
	"fmt"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/image"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
)

// Shared reads which versions AKS has in its shared galleries, in a location. No client of the SDK has this call.
type Shared struct {
	Client                 *arm.Client
	Subscription, Location string
	// APIVersion is that of AKSMachines, such as 2026-04-02-preview.
	APIVersion string
}

// versionPage is a page of versions.
type versionPage struct {
	Value []struct {
		OS      string `json:"os"`
		SKU     string `json:"sku"`
		Version string `json:"version"`
	} `json:"value"`
	NextLink string `json:"nextLink"`
}

// Versions implements SharedGalleries. If a page cannot be read, there is no result.
func (s *Shared) Versions(ctx context.Context) ([]image.SharedVersion, error) {
	first := runtime.JoinPaths(s.Client.Endpoint(), "subscriptions", url.PathEscape(s.Subscription), "providers/Microsoft.ContainerService/locations",
		url.PathEscape(s.Location), "nodeImageVersions") + "?" + url.Values{"api-version": {s.APIVersion}}.Encode()
	var out []image.SharedVersion
	for page, err := range session.Pages(ctx, s.Client.Pipeline(), first, func(p *versionPage) string { return p.NextLink }) {
		if err != nil {
			return nil, fmt.Errorf("listing versions of node images: %w", err)
		}
		for _, v := range page.Value {
			out = append(out, image.SharedVersion{OS: v.OS, SKU: v.SKU, Version: v.Version})
		}
	}
	return out, nil
}
