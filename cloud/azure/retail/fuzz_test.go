package retail_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/karpenter-anew/karpenter/cloud/azure/price"
	"github.com/karpenter-anew/karpenter/cloud/azure/retail"
	"github.com/karpenter-anew/karpenter/cloud/pricetable"
)

// feed is a transport that answers each request with the same page.
type feed []byte

func (f feed) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(f)), Request: r}, nil
}

// FuzzItems checks that whatever the price list answers, reading it ends, and that every price that is taken over is one.
func FuzzItems(f *testing.F) {
	for _, seed := range []string{
		body("", item("Standard_D2s_v3", "D2s v3", 0.096), item("Standard_D2s_v3", "D2s v3 Spot", 0.01)),
		body("https://prices.azure.com/api/retail/prices?$skip=1", item("Standard_D2s_v3", "D2s v3", 0.096)),
		body("", item("standard_d2s_V3", "D2s v3 Low Priority", -1)), body("file:///etc/passwd"), body("::"),
		`{"Items":[{"armSkuName":"a","retailPrice":1e308},{"armSkuName":"b","retailPrice":-0},{"armSkuName":"A","retailPrice":5e-324}]}`, `{"Items":null}`, `[]`, `null`, "\xef\xbb\xbf{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		client := retail.New(retail.Endpoint, "v1", &policy.ClientOptions{Transport: feed(answer), Retry: policy.RetryOptions{MaxRetries: -1}})
		items, err := client.Items(t.Context(), "eastus")
		if err != nil {
			return
		}
		list := price.New(nil)
		if list.Refresh(items) != nil {
			return
		}
		for _, i := range items {
			for _, of := range []func(string) (float64, bool){list.OnDemand, list.Spot} {
				if amount, known := of(i.ARMSKUName); known && !pricetable.Valid(amount) {
					t.Errorf("%q costs %v", i.ARMSKUName, amount)
				}
			}
		}
	})
}
