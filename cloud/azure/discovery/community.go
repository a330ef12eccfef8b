package discovery

import (
	"context"
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-anew/karpenter/cloud/azure/image"
)

// Community reads community galleries in a location.
type Community struct {
	Client   *armcompute.CommunityGalleryImageVersionsClient
	Location string
}

// Versions implements CommunityGalleries.
func (c *Community) Versions(ctx context.Context, gallery, definition string) ([]image.CommunityVersion, error) {
	var out []image.CommunityVersion
	pages := c.Client.NewListPager(c.Location, gallery, definition, nil)
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if response := (*azcore.ResponseError)(nil); errors.As(err, &response) && response.StatusCode == http.StatusNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, v := range page.Value {
			if v == nil || v.Name == nil || v.Properties == nil || v.Properties.PublishedDate == nil {
				continue // a version without a time has no place in the order
			}
			out = append(out, image.CommunityVersion{Version: *v.Name, Published: *v.Properties.PublishedDate})
		}
	}
	return out, nil
}
