package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/image"
)

// maxVersionPages limits how many pages of a list are read.
const maxVersionPages = 1000

var errEndlessVersions = errors.New("the pages do not end")

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
	next := runtime.JoinPaths(s.Client.Endpoint(), "subscriptions", url.PathEscape(s.Subscription), "providers/Microsoft.ContainerService/locations",
		url.PathEscape(s.Location), "nodeImageVersions") + "?" + url.Values{"api-version": {s.APIVersion}}.Encode()
	var out []image.SharedVersion
	for pages := 0; next != ""; pages++ {
		if pages == maxVersionPages {
			return nil, fmt.Errorf("listing versions of node images: %w", errEndlessVersions)
		}
		page, err := s.page(ctx, next)
		if err != nil {
			return nil, fmt.Errorf("listing versions of node images: %w", err)
		}
		for _, v := range page.Value {
			out = append(out, image.SharedVersion{OS: v.OS, SKU: v.SKU, Version: v.Version})
		}
		next = page.NextLink
	}
	return out, nil
}

func (s *Shared) page(ctx context.Context, link string) (versionPage, error) {
	request, err := runtime.NewRequest(ctx, http.MethodGet, link)
	if err != nil {
		return versionPage{}, err
	}
	response, err := s.Client.Pipeline().Do(request) //nolint:bodyclose // Drain closes it
	if err != nil {
		return versionPage{}, err
	}
	defer runtime.Drain(response)
	if !runtime.HasStatusCode(response, http.StatusOK) {
		return versionPage{}, runtime.NewResponseError(response)
	}
	var out versionPage
	err = runtime.UnmarshalAsJSON(response, &out)
	return out, err
}
