package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The committed catalogues are what the pinned data set gives, byte for byte.
func TestCommittedAzureCatalogsAreFresh(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(committed, "azure-*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no committed catalogues in %s: %v", committed, err)
	}
	dir := t.TempDir()
	for _, file := range files {
		name := filepath.Base(file)
		if err := runAzure(dir, []string{strings.TrimSuffix(strings.TrimPrefix(name, "azure-"), ".json")}); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate ./cloud/kwok", name)
		}
	}
}

// size is an entry of the data set with a price in eastus.
func size(name, more string) string {
	return fmt.Sprintf(`{"pretty_name_azure": %q, "pricing": {"us-east": {"linux": {"ondemand": 1, "spot_min": 0.25}}}, "vcpu": 4, "memory": 16, "GPU": "0"%s}`, name, more)
}

func TestAzureCatalog(t *testing.T) {
	got, err := condenseAzure(azureSample(t, "["+strings.Join([]string{
		size("Standard D4s v3", `, "arch": ["x64"]`), size("D4pds v6", ""), size("Standard D4ps v5", `, "arch": ["Arm64"], "low_priority": false`),
		size("NV4ads V710 v5", `, "GPU": "1/6 V710"`), size("ND96asr A100 v4", `, "GPU": "8x A100 (NVlink)"`), size("NV8ads v710 v5", `, "GPU": "1/3 V710"`),
		size("M128bds3 v3", ""), size("M416s 8 v2", ""), size("D11s", ""), size("S192", ""), size("NM16ads MA35D", `, "GPU": "1x ASIC VPU"`),
		size("Basic A2", ""), size("A4", ""), size("E16-4ads v5", ""), size("DC4as v5", ""), size("NC6", ""), size("B2ts v2", `, "memory": 1`), size("B1ms", `, "vcpu": 1`),
		strings.ReplaceAll(size("D4s v4", ""), "us-east", "us-west"),
	}, ",")+"]"), "eastus")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, x := range got {
		lines = append(lines, fmt.Sprintf("%s %s %d %d %d %v %v %v %s", x.Name, x.Arch, x.CPU, x.MemoryMi, x.Pods, x.Extended, x.OnDemand, x.Spot, x.Zones))
	}
	want := `Standard_D4pds_v6 arm64 4 16384 250 map[] 1 0.25 123
Standard_D4ps_v5 arm64 4 16384 250 map[] 1 0 123
Standard_D4s_v3 amd64 4 16384 250 map[] 1 0.25 123
Standard_M128bds_3_v3 amd64 4 16384 250 map[] 1 0.25 123
Standard_M416s_8_v2 amd64 4 16384 250 map[] 1 0.25 123
Standard_ND96asr_A100_v4 amd64 4 16384 250 map[nvidia.com/gpu:8] 1 0.25 123
Standard_NV4ads_V710_v5 amd64 4 16384 250 map[amd.com/gpu:1] 1 0.25 123
Standard_NV8ads_V710_v5 amd64 4 16384 250 map[amd.com/gpu:1] 1 0.25 123`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for what, bad := range map[string]string{
		"nothing":      "[]",
		"a size twice": "[" + size("D4s v3", "") + "," + size("Standard D4s v3", "") + "]",
		"GPUs":         "[" + size("NC4s v9", `, "GPU": "some"`) + "]",
	} {
		if _, err := condenseAzure(azureSample(t, bad), "eastus"); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := condenseAzure(azureSample(t, "["+size("D4s v3", "")+"]"), "westus"); err == nil {
		t.Error("a location without zones is accepted")
	}
}
