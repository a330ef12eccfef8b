package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

const committedAzurePrices = "../../cloud/azure/price/table.txt"

// The committed prices are what the pinned source gives, byte for byte.
func TestCommittedAzurePricesAreFresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.txt")
	if err := writeAzurePrices(path); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(committedAzurePrices)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the generator writes: run go generate ./cloud/azure/price", committedAzurePrices)
	}
}

func azureSample(t *testing.T, text string) []azureInstance {
	t.Helper()
	var out []azureInstance
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAzurePrices(t *testing.T) {
	src := source{path: "p", version: "v", date: "2025-05-28"}
	got, err := encodeAzurePrices(src, azureSample(t, `[
		{"pretty_name_azure": "Standard D2s v3", "pricing": {"australia-central": {"linux": {"ondemand": 0.125}}, "us-east": {"windows": {"ondemand": 1}}}},
		{"pretty_name_azure": "D2as v6", "pricing": {"australia-central-2": {"linux": {"ondemand": 0.1}}}},
		{"pretty_name_azure": "Basic A1", "pricing": {"us-east": {"linux": {"ondemand": 1}}}},
		{"pretty_name_azure": "E16-4ads v5", "pricing": {"us-east": {"linux": {"ondemand": 1}}}},
		{"pretty_name_azure": "Standard D9", "pricing": {"us-east": {"linux": {"ondemand": 0}}}}
	]`), onDemandPrices())
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(got), []byte("\n"))
	if len(lines) != 7 || string(lines[5]) != "D2as_v6,,0.1" || string(lines[6]) != "D2s_v3,0.125" {
		t.Errorf("got\n%s", got)
	}
	for what, text := range map[string]string{
		"nothing": `[]`, "an unknown location": `[{"pretty_name_azure": "D2as v6", "pricing": {"moon": {"linux": {"ondemand": 1}}}}]`,
		"a size twice": `[{"pretty_name_azure": "D2as v6", "pricing": {"us-east": {"linux": {"ondemand": 1}}}}, {"pretty_name_azure": "Standard D2as v6", "pricing": {"us-east": {"linux": {"ondemand": 1}}}}]`,
	} {
		if got, err := encodeAzurePrices(src, azureSample(t, text), onDemandPrices()); err == nil {
			t.Errorf("%s is accepted:\n%s", what, got)
		}
	}
}
