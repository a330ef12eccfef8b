package inventory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-anew/karpenter/cloud/azure/inventory"
)

// listing is a lister whose only page is what the SDK reads from a text.
type listing armcompute.ResourceSKUsResult

func (l listing) NewListPager(*armcompute.ResourceSKUsClientListOptions) *runtime.Pager[armcompute.ResourceSKUsClientListResponse] {
	return runtime.NewPager(runtime.PagingHandler[armcompute.ResourceSKUsClientListResponse]{
		More: func(armcompute.ResourceSKUsClientListResponse) bool { return false },
		Fetcher: func(context.Context, *armcompute.ResourceSKUsClientListResponse) (armcompute.ResourceSKUsClientListResponse, error) {
			return armcompute.ResourceSKUsClientListResponse{ResourceSKUsResult: armcompute.ResourceSKUsResult(l)}, nil
		},
	})
}

// FuzzSKUs checks that whatever the list of SKUs has, reading it ends, and that instance types have unique names, in order, and hardware that
// scheduling can use.
func FuzzSKUs(f *testing.F) {
	for _, name := range []string{"page1", "page2"} {
		data, err := pages.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		var all []json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil {
			f.Fatal(err)
		}
		for _, one := range all {
			f.Add([]byte(fmt.Sprintf(`{"value":[%s,%s]}`, one, one)))
		}
	}
	f.Add([]byte(`{"value":[null,{"resourceType":"virtualMachines","locationInfo":[null,{"zoneDetails":[null]}],"restrictions":[null,{}],"capabilities":[null,{}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var result armcompute.ResourceSKUsResult
		if json.Unmarshal(text, &result) != nil {
			return
		}
		i := inventory.New(location, listing(result), nil)
		err := i.RefreshSKUs(t.Context())
		skus, _ := i.SKUs()
		if (err == nil) != (len(skus) > 0) {
			t.Fatalf("%d SKUs, error %v", len(skus), err)
		}
		var names []string
		for _, d := range skus {
			names = append(names, d.Name)
			if d.Name == "" || d.VCPUs < 2 || !(d.MemoryGiB >= 3.5 && d.MemoryGiB < 1<<33) || d.GPUs < 0 || d.Disk.SizeGB < 0 || d.Architecture == "" || len(d.Zones) > 100 {
				t.Errorf("%+v", d)
			}
		}
		if !slices.IsSorted(names) || len(slices.Compact(names)) != len(skus) {
			t.Errorf("the names are %q", names)
		}
	})
}
