package retail_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/azure/price"
	"github.com/karpenter-anew/karpenter/cloud/azure/retail"
)

// client reads from a server that answers with handle.
func client(t *testing.T, handle http.HandlerFunc) (*retail.Client, string) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	options := &policy.ClientOptions{
		Retry: policy.RetryOptions{MaxRetries: 2, RetryDelay: time.Millisecond, MaxRetryDelay: time.Millisecond}, Telemetry: policy.TelemetryOptions{ApplicationID: "karpenter-aks/v1"},
	}
	return retail.New(server.URL+"/", "v1", options), server.URL
}

// item is an entry as the price list has it.
func item(sku, name string, amount float64) string {
	return fmt.Sprintf(`{"currencyCode":"USD","tierMinimumUnits":0.0,"retailPrice":%g,"unitPrice":%g,"armRegionName":"eastus","location":"US East",`+
		`"effectiveStartDate":"2020-08-01T00:00:00Z","meterId":"m","meterName":%q,"productId":"p","skuId":"s","productName":"Virtual Machines DSv3 Series","skuName":%q,`+
		`"serviceName":"Virtual Machines","serviceFamily":"Compute","unitOfMeasure":"1 Hour","type":"Consumption","isPrimaryMeterRegion":true,"armSkuName":%q}`,
		amount, amount, name, name, sku)
}

func body(next string, items ...string) string {
	link := "null"
	if next != "" {
		link = fmt.Sprintf("%q", next)
	}
	return fmt.Sprintf(`{"BillingCurrency":"USD","CustomerEntityId":"Default","CustomerEntityType":"Retail","Items":[%s],"NextPageLink":%s,"Count":%d}`, strings.Join(items, ","), link, len(items))
}

func TestItems(t *testing.T) {
	var base string
	c, base := client(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("$skip") {
		case "":
			want := "priceType eq 'Consumption' and currencyCode eq 'USD' and serviceFamily eq 'Compute' and serviceName eq 'Virtual Machines' and armRegionName eq 'eastus'"
			if got := r.URL.Query().Get("$filter"); r.Method != http.MethodGet || r.URL.Path != "/api/retail/prices" || got != want || r.URL.Query().Get("api-version") != "2023-01-01-preview" {
				t.Errorf("%s %s, filter %q", r.Method, r.URL, got)
			}
			if agent := r.UserAgent(); !strings.HasPrefix(agent, "karpenter-aks/v1 ") || r.Header.Get("Authorization") != "" {
				t.Errorf("the user agent is %q, the authorization %q", agent, r.Header.Get("Authorization"))
			}
			fmt.Fprint(w, body(base+"/api/retail/prices?$skip=1000", item("Standard_D2s_v3", "D2s v3", 0.096)))
		case "1000":
			fmt.Fprint(w, body("", item("Standard_D2s_v3", "D2s v3 Spot", 0.02)))
		}
	})
	got, err := c.Items(t.Context(), "eastus")
	if err != nil {
		t.Fatal(err)
	}
	entry := price.Item{ARMSKUName: "Standard_D2s_v3", SKUName: "D2s v3", MeterName: "D2s v3", ProductName: "Virtual Machines DSv3 Series", Type: "Consumption", Primary: true, RetailPrice: 0.096}
	spot := entry
	spot.SKUName, spot.MeterName, spot.RetailPrice = "D2s v3 Spot", "D2s v3 Spot", 0.02
	if diff := cmp.Diff([]price.Item{entry, spot}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRetries(t *testing.T) {
	var calls atomic.Int32
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, body("", item("Standard_D2s_v3", "D2s v3", 0.096)))
	})
	if got, err := c.Items(t.Context(), "eastus"); err != nil || len(got) != 1 || calls.Load() != 3 {
		t.Errorf("got %v, %v after %d calls", got, err, calls.Load())
	}
}

// TestFailures checks that a list that cannot be read completely has no result.
func TestFailures(t *testing.T) {
	for what, handle := range map[string]func(w http.ResponseWriter, r *http.Request, base string){
		"a server error on the second page": func(w http.ResponseWriter, r *http.Request, base string) {
			if r.URL.Query().Has("$skip") {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			fmt.Fprint(w, body(base+"/api/retail/prices?$skip=1", item("Standard_D2s_v3", "D2s v3", 0.096)))
		},
		"a bad request": func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusBadRequest) },
		"no JSON":       func(w http.ResponseWriter, _ *http.Request, _ string) { fmt.Fprint(w, "<html>") },
		"a page that names itself": func(w http.ResponseWriter, _ *http.Request, base string) {
			fmt.Fprint(w, body(base+"/api/retail/prices?$skip=1"))
		},
		"a link that is no URL": func(w http.ResponseWriter, _ *http.Request, _ string) { fmt.Fprint(w, body("::")) },
	} {
		var base string
		c, base := client(t, func(w http.ResponseWriter, r *http.Request) { handle(w, r, base) })
		if got, err := c.Items(t.Context(), "eastus"); err == nil || got != nil {
			t.Errorf("%s: got %v", what, got)
		}
	}
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body("")) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Items(ctx, "eastus"); err == nil {
		t.Error("a canceled read succeeds")
	}
}

func TestLists(t *testing.T) {
	t.Attr("covers", "Z072")
	for endpoint, want := range map[string]bool{
		"https://management.azure.com": true, "https://management.azure.com/": true, "HTTPS://Management.Azure.com/": true,
		"https://management.usgovcloudapi.net": false, "https://management.chinacloudapi.cn": false, "": false, "https://management.azure.com.example.com": false,
	} {
		if retail.Lists(endpoint) != want {
			t.Errorf("%q: %v", endpoint, !want)
		}
	}
}
