package inventory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/inventory"
)

// open returns an inventory of an account.
func open(t *testing.T, types ...string) (*awstest.Account, *inventory.Inventory) {
	t.Helper()
	account := awstest.New(awstest.Options{Types: types})
	config := awstest.Connect(t, account)
	return account, inventory.New("us-east-1", ec2.NewFromConfig(config), pricing.NewFromConfig(config))
}

func TestTypesAndZones(t *testing.T) {
	account, i := open(t)
	if err := i.RefreshTypes(t.Context()); err != nil {
		t.Fatal(err)
	}
	types, first := i.Types()
	at := slices.IndexFunc(types.Descriptions, func(d instancetype.Description) bool { return d.Name == "g4dn.xlarge" })
	if len(types.Descriptions) < 800 || at < 0 || len(types.Zones) != 6 {
		t.Fatalf("%d types in %v", len(types.Descriptions), types.Zones)
	}
	d := types.Descriptions[at]
	if d.VCPUs != 4 || d.MemoryMiB != 16384 || d.Hypervisor != "nitro" || len(d.GPUs) != 1 || d.GPUs[0].Name != "T4" || d.Network.Cards[0].MaximumInterfaces != 3 ||
		!d.Network.ENASupported || d.NVMe != "required" || !slices.Contains(d.UsageClasses, "spot") {
		t.Errorf("%+v %+v", d, d.Network)
	}
	if err := i.RefreshTypes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, second := i.Types(); second != first {
		t.Error("a refresh without news counts as one")
	}
	account.Fail("DescribeInstanceTypeOfferings", awstest.Throttled, "slow down", 1)
	if err := i.RefreshTypes(t.Context()); err == nil {
		t.Error("a failed refresh is not told")
	}
	if same, _ := i.Types(); len(same.Descriptions) != len(types.Descriptions) {
		t.Error("a failed refresh spoilt something")
	}
}

func TestPricesOfSharedAndMetalTypes(t *testing.T) {
	t.Attr("covers", "A257")
	account, i := open(t)
	if err := i.RefreshOnDemand(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"m5.large": 0.096, "m5.metal": 4.608, "none": 0} {
		if got := i.Prices().OnDemand(name); got != want {
			t.Errorf("%s costs %g, want %g", name, got, want)
		}
	}
	if n := len(account.Calls("GetProducts")); n < 9 {
		t.Errorf("%d pages", n)
	}
	account.Fail("GetProducts", "InternalErrorException", "no", 1)
	if err := i.RefreshOnDemand(t.Context()); err == nil || i.Prices().OnDemand("m5.large") != 0.096 {
		t.Errorf("%v, and then %g", err, i.Prices().OnDemand("m5.large"))
	}
}

func TestTheTableCountsUntilOthersCome(t *testing.T) {
	t.Attr("covers", "A256")
	for region, want := range map[string]struct{ brought, listed float64 }{
		"us-east-1": {0.096, 0.096}, "us-west-1": {0.112, 0.096}, "us-gov-west-1": {0.121, 0.121}, "cn-north-1": {7 * 0.096, 0.096},
	} {
		account := awstest.New(awstest.Options{Types: []string{"m5.large", "m5.metal"}, Region: region})
		config := awstest.Connect(t, account)
		i := inventory.New(region, ec2.NewFromConfig(config), pricing.NewFromConfig(config))
		zone := region + "a"
		check := func(when string, onDemand, spot float64) {
			t.Helper()
			if a, b := i.Prices().OnDemand("m5.large"), i.Prices().Spot("m5.large", zone); a != onDemand || b != spot {
				t.Errorf("%s %s: %g and %g, want %g and %g", region, when, a, b, onDemand, spot)
			}
		}
		check("at first", want.brought, want.brought)
		account.Fail("GetProducts", "InternalErrorException", "no", -1)
		account.Fail("DescribeSpotPriceHistory", awstest.Throttled, "slow down", -1)
		_ = i.RefreshOnDemand(t.Context())
		_ = i.RefreshSpot(t.Context(), time.Now())
		check("after a refresh that failed", want.brought, want.brought)
		account.Recover("GetProducts")
		account.Recover("DescribeSpotPriceHistory")
		account.SetSpotPrice("m5.large", zone, 0.031)
		if err := i.RefreshOnDemand(t.Context()); err != nil {
			t.Error(err)
		}
		if err := i.RefreshSpot(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
		check("once AWS was heard", want.listed, 0.031)
	}
}

func TestChinaIsReadInItsCurrency(t *testing.T) {
	t.Attr("covers", "A259")
	account := awstest.New(awstest.Options{Types: []string{"m5.large", "m5.metal"}, Region: "cn-northwest-1"})
	config := awstest.Connect(t, account)
	i := inventory.New("cn-northwest-1", ec2.NewFromConfig(config), pricing.NewFromConfig(config))
	if err := i.RefreshOnDemand(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := i.Prices().OnDemand("m5.metal"); got != 4.608 || i.Table().Currency != "CNY" {
		t.Errorf("m5.metal costs %g, by a table in %s", got, i.Table().Currency)
	}
}

func TestThePriceListMayBeOutOfReach(t *testing.T) {
	t.Attr("covers", "A260")
	account := awstest.New(awstest.Options{Types: []string{"m5.large"}})
	config := awstest.Connect(t, account)
	for name, i := range map[string]*inventory.Inventory{
		"no way":     inventory.New("us-east-1", ec2.NewFromConfig(config), nil),
		"government": inventory.New("us-gov-west-1", ec2.NewFromConfig(config), pricing.NewFromConfig(config)),
	} {
		if err := i.RefreshOnDemand(t.Context()); err != nil || len(account.Calls("")) != 0 {
			t.Errorf("%s: %v after %d calls", name, err, len(account.Calls("")))
		}
	}
}

func TestSpotPrices(t *testing.T) {
	account, i := open(t, "m5.large", "m5.metal")
	if err := i.RefreshOnDemand(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := i.Prices().Spot("m5.large", "us-east-1a"); got != 0.096 {
		t.Errorf("before EC2 was heard spot costs %g", got)
	}
	account.SetSpotPrice("m5.large", "us-east-1a", 0.031)
	account.SetSpotPrice("m5.large", "us-east-1b", 0)
	if err := i.RefreshSpot(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if a, b := i.Prices().Spot("m5.large", "us-east-1a"), i.Prices().Spot("m5.large", "us-east-1b"); a != 0.031 || b != 0 {
		t.Errorf("prices are %g and %g", a, b)
	}
	account.Fail("DescribeSpotPriceHistory", awstest.Throttled, "slow down", 1)
	if err := i.RefreshSpot(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), "spot") || i.Prices().Spot("m5.large", "us-east-1a") != 0.031 {
		t.Errorf("got %v", err)
	}
}
