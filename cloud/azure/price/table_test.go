package price

import (
	"regexp"
	"strings"
	"testing"
)

// TestTheTable holds the embedded table against the conformance vectors, whose columns are the locations; 0 stands for no price. The price of
// NV4ads_V710_v5 has changed since the day of the table.
func TestTheTable(t *testing.T) {
	locations := []string{"eastus", "westus2", "westeurope", "southcentralus", "australiacentral"}
	lists := map[string]*List{}
	for _, location := range append(locations, "moonbase1", "SouthCentralUS") {
		table := TableFor(location)
		if !regexp.MustCompile(`^20\d\d-\d\d-\d\d$`).MatchString(table.Date) || table.Source == "" || len(table.Prices) < 400 {
			t.Errorf("%s: %d prices of %q by %q", location, len(table.Prices), table.Date, table.Source)
		}
		if want := map[string]string{"moonbase1": "eastus", "SouthCentralUS": "southcentralus"}[location]; want != "" && table.Location != want {
			t.Errorf("%s: prices of %s", location, table.Location)
		}
		lists[location] = New(table.Prices)
	}
	for name, prices := range map[string][5]float64{
		"A2_v2":           {0.0903, 0.0756, 0.0861, 0.0903, 0.105},
		"B2s":             {0.0416, 0.0416, 0.048, 0.0499, 0.0528},
		"B20ms":           {0.832, 0.832, 0.96, 0.998, 1.056},
		"D2_v2":           {0.146, 0.114, 0.136, 0.127, 0.168},
		"D2_v3":           {0.096, 0.096, 0.12, 0.11, 0.125},
		"D2s_v3":          {0.096, 0.096, 0.12, 0.11, 0.125},
		"D2_v5":           {0.096, 0.096, 0.115, 0.115, 0.12},
		"D2as_v6":         {0.0908, 0.0908, 0.11, 0.109, 0.114},
		"D4ads_v6":        {0.228, 0.228, 0.276, 0.273, 0.286},
		"D4ps_v6":         {0.14, 0.14, 0.168, 0.168, 0},
		"D4s_v3":          {0.192, 0.192, 0.24, 0.22, 0.25},
		"D16plds_v5":      {0.614, 0.614, 0.712, 0.737, 0},
		"D64s_v3":         {3.072, 3.072, 3.84, 3.52, 4.0},
		"D128ds_v6":       {7.973, 7.973, 9.551, 9.568, 9.967},
		"E4d_v5":          {0.288, 0.288, 0.346, 0.346, 0.348},
		"F16s_v2":         {0.677, 0.677, 0.776, 0.816, 0.888},
		"NC6s_v3":         {3.06, 3.06, 3.823, 3.366, 0},
		"NC16as_T4_v3":    {1.204, 1.204, 1.505, 1.445, 1.565},
		"NC24ads_A100_v4": {3.673, 3.673, 4.775, 4.408, 0},
		"ND96isr_H100_v5": {98.32, 98.32, 127.816, 117.968, 0},
	} {
		for i, location := range locations {
			onDemand, known := lists[location].OnDemand("Standard_" + name)
			if onDemand != prices[i] || known != (prices[i] > 0) {
				t.Errorf("%s in %s costs %g, %v; want %g", name, location, onDemand, known, prices[i])
			}
			if spot, known := lists[location].Spot("Standard_" + name); spot != prices[i] || known != (prices[i] > 0) {
				t.Errorf("%s in %s costs %g, %v as spot; want %g", name, location, spot, known, prices[i])
			}
		}
		if onDemand, _ := lists["moonbase1"].OnDemand("Standard_" + name); onDemand != prices[0] {
			t.Errorf("%s in an unknown location costs %g, want %g", name, onDemand, prices[0])
		}
	}
	for _, name := range []string{"Standard_EC128ieds_v5", "Standard_ND128isr_GB300_v6", "Standard_X1_v9"} {
		if got, known := lists["eastus"].OnDemand(name); known || got != 0 {
			t.Errorf("%s costs %g", name, got)
		}
	}
}

// TestNamesOfTheTable checks names that have other separators in the table than in Azure.
func TestNamesOfTheTable(t *testing.T) {
	list := New(TableFor("eastus").Prices)
	for _, name := range []string{"Standard_M48s_1_v3", "Standard_M416s_8_v2", "Standard_NV12ads_V710_v5", "standard_d2s_v3"} {
		if _, known := list.OnDemand(name); !known {
			t.Errorf("%s has no price", name)
		}
	}
}

// TestKeysAreUnique checks that no two sizes of the table have the same key.
func TestKeysAreUnique(t *testing.T) {
	seen := map[string]string{}
	for line := range strings.Lines(tableText) {
		name, _, _ := strings.Cut(line, ",")
		if other := seen[key(name)]; other != "" {
			t.Errorf("%q and %q have the same key", name, other)
		}
		seen[key(name)] = name
	}
}

func TestTablesThatAreWrong(t *testing.T) {
	for what, text := range map[string]string{
		"no number": "locations,eastus\nD2s_v3,cheap\n", "nothing": "locations,eastus\nD2s_v3,0\n", "no locations": "D2s_v3,1\n", "empty": "", "not known": "locations,westus\nD2s_v3,1\n",
	} {
		if got, err := parseTable(text, "eastus"); err == nil {
			t.Errorf("%s is read as %v", what, got)
		}
	}
	// The first word of the line is no location.
	if got, err := parseTable("locations,eastus\nD2s_v3,1\n", "locations"); err != nil || got.Location != "eastus" {
		t.Errorf("got %+v, %v", got, err)
	}
}
