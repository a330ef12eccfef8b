package quota

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// Lister lists the usages of a location; armcompute.UsageClient does.
type Lister interface {
	NewListPager(location string, options *armcompute.UsageClientListOptions) *runtime.Pager[armcompute.UsageClientListResponse]
}

// Read refreshes the quota from Azure. After an error, the usages are those of before, until they are too old.
func (q *Quota) Read(ctx context.Context, api Lister, location string) error {
	usages, err := list(ctx, api, location)
	if err != nil {
		q.RefreshFailed()
		return fmt.Errorf("listing the usages of location %q: %w", location, err)
	}
	q.Refresh(usages)
	return nil
}

func list(ctx context.Context, api Lister, location string) ([]Usage, error) {
	var out []Usage
	for pages := api.NewListPager(location, nil); pages.More(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, u := range page.Value {
			if u == nil || u.Name == nil || u.Name.Value == nil || u.Limit == nil || u.CurrentValue == nil {
				continue // what is not known is allowed
			}
			out = append(out, Usage{Name: *u.Name.Value, Limit: *u.Limit, Current: int64(*u.CurrentValue)})
		}
	}
	return out, nil
}
