package inventory_test

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/inventory"
	"github.com/karpenter-anew/karpenter/cloud/azure/price"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

const location = "southcentralus"

// pages are SKUs as Azure lists them, with the facts of the conformance vectors.
//
//go:embed testdata/page1.json testdata/page2.json
var pages embed.FS

func page(t *testing.T, name string) json.RawMessage {
	t.Helper()
	data, err := pages.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// credential is a token of the local server.
type credential struct{}

func (credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// lister is the client of the SDK for a server that answers with handle.
func lister(t *testing.T, handle http.HandlerFunc) (*armcompute.ResourceSKUsClient, string) {
	t.Helper()
	server := httptest.NewTLSServer(handle)
	t.Cleanup(server.Close)
	client, err := armcompute.NewResourceSKUsClient("sub", credential{}, &arm.ClientOptions{
		DisableRPRegistration: true,
		ClientOptions: policy.ClientOptions{
			Transport: server.Client(), Retry: policy.RetryOptions{MaxRetries: 1, RetryDelay: time.Millisecond, MaxRetryDelay: time.Millisecond},
			Cloud: azcloud.Configuration{Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{azcloud.ResourceManager: {Endpoint: server.URL, Audience: "audience"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client, server.URL
}

// azure answers with both pages.
func azure(t *testing.T) *armcompute.ResourceSKUsClient {
	t.Helper()
	var base string
	client, base := lister(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("$skiptoken") {
			fmt.Fprintf(w, `{"value":%s}`, page(t, "page2"))
			return
		}
		if q := r.URL.Query(); r.URL.Path != "/subscriptions/sub/providers/Microsoft.Compute/skus" || q.Get("$filter") != "location eq 'southcentralus'" || q.Get("api-version") != "2021-07-01" {
			t.Errorf("the request is %s", r.URL)
		}
		fmt.Fprintf(w, `{"value":%s,"nextLink":"%s/subscriptions/sub/providers/Microsoft.Compute/skus?$skiptoken=2"}`, page(t, "page1"), base)
	})
	return client
}

// TestSKUs holds the SKUs of both pages as instance types against the conformance vectors. A line has: family, series and version, CPU,
// memory, architecture, generations, zones, premium storage, ultra disks without a zone, ephemeral disk, GPUs with name and manufacturer,
// allocatable CPU, and E for encryption at host, S for spot, A for accelerated networking, T for trusted launch.
func TestSKUs(t *testing.T) {
	t.Attr("covers", "Z049 Z059 Z192 Z195")
	i := inventory.New(location, azure(t), nil)
	if err := i.RefreshSKUs(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"B20ms":           "standardBSFamily Bms/1 20 81920 amd64 1,2 1,2,3 true true 32 0/-/- 19700m EAT",
		"D128ds_v6":       "StandardDdsv6Family Dds_v6/6 128 524288 amd64 2 1,2,3 true false 7559 0/-/- 126620m ESAT",
		"D16plds_v5":      "standardDPLDSv5Family Dplds_v5/5 16 32768 arm64 2 1,2,3 true true 429 0/-/- 15740m ESA",
		"D2as_v6":         "standardDav6Family Das_v6/6 2 8192 amd64 2 2,3 true true - 0/-/- 1900m ESAT",
		"D2s_v3":          "standardDSv3Family Ds_v3/3 2 8192 amd64 1,2 1,2,3 true true 53 0/-/- 1900m ESAT",
		"D4s_v3":          "standardDSv3Family Ds_v3/3 4 16384 amd64 1,2 1,2,3 true true 107 0/-/- 3860m ESAT",
		"D64s_v3":         "standardDSv3Family Ds_v3/3 64 262144 amd64 1,2 1,2,3 true true 1717 0/-/- 63260m ESAT",
		"D2_v2":           "standardDv2Family D_v2/2 2 7168 amd64 1 1,2,3 false false - 0/-/- 1900m SA",
		"D2_v3":           "standardDv3Family D_v3/3 2 8192 amd64 1 1,2,3 false false - 0/-/- 1900m SA",
		"D2_v5":           "standardDv5Family D_v5/5 2 8192 amd64 1,2 1,2,3 false true - 0/-/- 1900m ESAT",
		"DS2_v2":          "standardDSv2Family DS_v2/2 2 7168 amd64 1,2 1,2,3 true false 92 0/-/- 1900m ESAT",
		"E4d_v5":          "standardEDv5Family Ed_v5/5 4 32768 amd64 1,2 1,2,3 false true 161 0/-/- 3860m ESAT",
		"F16s_v2":         "standardFSv2Family Fs_v2/2 16 32768 amd64 1,2 1,2,3 true true 274 0/-/- 15740m ESAT",
		"NC16as_T4_v3":    "Standard NCASv3_T4 Family NCas_v3/3 16 112640 amd64 1,2 1,2,3 true true 154 1/T4/nvidia 15740m ESAT",
		"NC24ads_A100_v4": "StandardNCADSA100v4Family NCads_v4/4 24 225280 amd64 2 1,3 true true 274 1/A100/nvidia 23660m ESAT",
		"NC6s_v3":         "standardNCSv3Family NCs_v3/3 6 114688 amd64 1,2  true true 343 1/-/nvidia 5840m ESAT",
	}
	got := map[string]string{}
	skus, sequence := i.SKUs()
	class := instancetype.ClassOf(&v1beta1.AKSNodeClass{}, instancetype.Network{Plugin: "azure", Mode: "overlay"})
	for n, d := range skus {
		if n > 0 && skus[n-1].Name >= d.Name {
			t.Errorf("%s comes after %s", d.Name, skus[n-1].Name)
		}
		it, ok := instancetype.Resolve(instancetype.Input{SKU: d, Class: class, Settings: instancetype.Settings{Location: location, VMMemoryOverheadPercent: 0.075}})
		if !ok {
			t.Errorf("%s is not compatible with the class", d.Name)
			continue
		}
		set := cloud.Requirements(it.Requirements, label.Rules())
		value := func(key string) string {
			if values := set.Get(key).Values(); !set.Get(key).Complement() && len(values) > 0 {
				return strings.Join(values, ",")
			}
			return "-"
		}
		var zones []string
		for _, zone := range d.Zones {
			zones = append(zones, strings.TrimPrefix(zone.Name, location+"-"))
		}
		cpu := it.Allocatable()[corev1.ResourceCPU]
		got[strings.TrimPrefix(d.Name, "Standard_")] = fmt.Sprintf("%s %s/%s %s %s %s %s %s %s %v %s %s/%s/%s %s %s", d.Family, value(label.SKUSeries), value(label.SKUVersion), value(label.SKUCPU),
			value(label.SKUMemory), value("kubernetes.io/arch"), value(label.SKUHyperVGeneration), strings.Join(zones, ","), value(label.SKUPremiumStorage), d.UltraSSD,
			value(label.SKUEphemeralOSDiskMax), value(label.SKUGPUCount), value(label.SKUGPUName), value(label.SKUGPUManufacturer), cpu.String(), features(&d))
	}
	if diff := cmp.Diff(want, got); diff != "" || sequence != 1 || len(skus) != len(want) {
		t.Errorf("%d SKUs, sequence %d (-want +got)\n%s", len(skus), sequence, diff)
	}
	if err := i.RefreshSKUs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, again := i.SKUs(); again != sequence {
		t.Errorf("the sequence is %d after a refresh without changes", again)
	}
}

// features are letters for what virtual machines of a size can have.
func features(d *sku.Description) (out string) {
	for _, f := range []struct {
		has  bool
		name string
	}{{d.EncryptionAtHost, "E"}, {d.Spot, "S"}, {d.AcceleratedNetworking, "A"}, {d.TrustedLaunch, "T"}} {
		if f.has {
			out += f.name
		}
	}
	return out
}

// TestFailedRefreshes checks that nothing changes if Azure does not answer, or with nothing.
func TestFailedRefreshes(t *testing.T) {
	t.Attr("covers", "Z063")
	var phase atomic.Int32
	client, _ := lister(t, func(w http.ResponseWriter, r *http.Request) {
		switch phase.Load() {
		case 0:
			fmt.Fprintf(w, `{"value":%s}`, page(t, "page1"))
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			fmt.Fprint(w, `{"value":[]}`)
		case 3:
			fmt.Fprint(w, `{"value":[null,{"resourceType":"disks","name":"Premium_LRS"},{"resourceType":"virtualMachines","restrictions":[null,{}],"locationInfo":[null],"capabilities":[null,{}]}]}`)
		default:
			if r.URL.Query().Has("$skiptoken") {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			fmt.Fprintf(w, `{"value":%s,"nextLink":"https://%s/x?$skiptoken=2"}`, page(t, "page2"), r.Host)
		}
	})
	i := inventory.New(location, client, nil)
	if skus, _ := i.SKUs(); len(skus) != 0 {
		t.Errorf("there are %d SKUs before the first refresh", len(skus))
	}
	if err := i.RefreshSKUs(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, sequence := i.SKUs()
	for n := int32(1); n <= 4; n++ {
		phase.Store(n)
		err := i.RefreshSKUs(t.Context())
		after, moved := i.SKUs()
		if err == nil || len(after) != len(before) || moved != sequence {
			t.Errorf("phase %d: %v, %d SKUs, sequence %d", n, err, len(after), moved)
		}
	}
}

// list is a price list.
type list struct {
	items []price.Item
	err   error
}

func (l list) Items(_ context.Context, at string) ([]price.Item, error) {
	if at != location {
		return nil, fmt.Errorf("asked for %s", at)
	}
	return l.items, l.err
}

func TestPrices(t *testing.T) {
	t.Attr("covers", "Z072")
	item := price.Item{ARMSKUName: "Standard_D2s_v3", SKUName: "D2s v3", MeterName: "D2s v3", Type: "Consumption", Primary: true, RetailPrice: 0.5}
	for _, test := range []struct {
		what  string
		list  inventory.PriceList
		fails bool
		want  float64
	}{
		{"no price list", nil, false, 0.11},
		{"a price", list{items: []price.Item{item}}, false, 0.5},
		{"no prices", list{}, true, 0.11},
		{"a failure", list{items: []price.Item{item}, err: errors.New("down")}, true, 0.11},
	} {
		i := inventory.New(location, nil, test.list)
		if err := i.RefreshPrices(t.Context()); (err != nil) != test.fails {
			t.Errorf("%s: %v", test.what, err)
		}
		if got, known := i.Prices().OnDemand("Standard_D2s_v3"); got != test.want || !known {
			t.Errorf("%s: %g, %v, want %g", test.what, got, known, test.want)
		}
		if table := i.Table(); table.Location != location || table.Date == "" || table.Prices != nil {
			t.Errorf("%s: the table is %+v", test.what, table)
		}
	}
}
