package price

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheTable checks the table that the program brings along, for a region of each partition and for regions that it does
// not know.
func TestTheTable(t *testing.T) {
	t.Attr("covers", "A256")
	for region, want := range map[string]Table{
		"us-east-1":      {Prices: map[string]float64{"m5.large": 0.096, "m5.metal": 4.608}, Currency: "USD", Region: "us-east-1"},
		"eu-central-1":   {Prices: map[string]float64{"m5.large": 0.115, "m5.metal": 5.52}, Currency: "USD", Region: "eu-central-1"},
		"us-gov-west-1":  {Prices: map[string]float64{"m5.large": 0.121, "m5.metal": 5.808}, Currency: "USD", Region: "us-gov-west-1"},
		"us-gov-east-1":  {Prices: map[string]float64{"m5.large": 0.121, "m5.metal": 5.808}, Currency: "USD", Region: "us-gov-east-1"},
		"cn-north-1":     {Prices: map[string]float64{"m5.large": 7 * 0.096, "m5.metal": 7 * 4.608}, Currency: "CNY", Region: "us-east-1", Estimated: true},
		"cn-northwest-1": {Prices: map[string]float64{"m5.large": 7 * 0.096}, Currency: "CNY", Region: "us-east-1", Estimated: true},
		"xx-new-1":       {Prices: map[string]float64{"m5.large": 0.096}, Currency: "USD", Region: "us-east-1"},
	} {
		got := TableFor(region)
		for name, price := range want.Prices {
			if got.Prices[name] != price {
				t.Errorf("%s: %s costs %g, want %g", region, name, got.Prices[name], price)
			}
		}
		if got.Currency != want.Currency || got.Region != want.Region || got.Estimated != want.Estimated {
			t.Errorf("%s: prices of %s in %s, estimated %t; want %s, %s, %t", region, got.Region, got.Currency, got.Estimated, want.Region, want.Currency, want.Estimated)
		}
		if !regexp.MustCompile(`^20\d\d-\d\d-\d\d$`).MatchString(got.Date) || got.Source == "" || len(got.Prices) < 150 {
			t.Errorf("%s: %d prices of %q by %q", region, len(got.Prices), got.Date, got.Source)
		}
	}
}

func TestTablesThatAreWrong(t *testing.T) {
	for what, text := range map[string]string{
		"no number": "regions,us-east-1\nm5.large,cheap\n", "nothing": "regions,us-east-1\nm5.large,0\n", "no region": "m5.large,1\n", "empty": "", "not known": "regions,eu-west-1\nm5.large,1\n",
	} {
		if got, err := parseTable(text, "us-east-1"); err == nil {
			t.Errorf("%s is read as %v", what, got)
		}
	}
}

func TestTheDocumentationNamesTheDay(t *testing.T) {
	text, err := os.ReadFile("../../../docs/installation.md")
	if err != nil {
		t.Fatal(err)
	}
	if day := TableFor("us-east-1").Date; !strings.Contains(string(text), "on-demand prices of "+day) {
		t.Errorf("docs/installation.md does not say that the prices are of %s", day)
	}
}
