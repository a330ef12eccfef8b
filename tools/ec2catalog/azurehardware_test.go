package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The committed tables are what the pinned source gives, byte for byte.
func TestCommittedAzureTablesAreFresh(t *testing.T) {
	for name, write := range map[string]func(string) error{"hardware.txt": writeAzureHardware, "spot.txt": writeAzureSpotPrices} {
		path := filepath.Join(t.TempDir(), name)
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../../cloud/azure/offline/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate ./cloud/azure/offline", name)
		}
	}
}

func TestAzureHardware(t *testing.T) {
	const described = `, "arch": ["x64"], "hyperv_generations": "V1,V2", "cached_disk": 100, "size": 32`
	got, err := encodeAzureHardware(source{path: "p", version: "v", date: "2025-05-28"}, azureSample(t, "["+strings.Join([]string{
		size("Standard D4s v3", described+`, "premium_io": true, "ultra_ssd": true, "accelerated_networking": true, "encryption": true, "low_priority": true, "trusted_launch": true`),
		size("A4 v2", described+`, "low_priority": false`), size("D4ds v6", `, "size": 220`), size("NC24ads A100 v4", `, "GPU": "1X A100", "memory": 220.5`),
		size("NV6ads A10 v5", `, "GPU": "1/6X A10"`), size("Basic A2", ""), size("DC4as v5", ""), size("NC6", ""), size("B1ms", `, "vcpu": 1`), size("B2ts v2", `, "memory": 1`),
		strings.ReplaceAll(size("D9", ""), `"ondemand": 1`, `"ondemand": 0`),
	}, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	want := `A4_v2 4 16 x64 V1,V2 none 100 32 0
D4ds_v6 4 16 - - - - 220 0
D4s_v3 4 16 x64 V1,V2 accelerated-networking,premium-io,encryption-at-host,ultra-ssd,spot,no-trusted-launch 100 32 0
NC24ads_A100_v4 4 220.5 - - - - - 1
NV6ads_A10_v5 4 16 - - - - - 1
`
	if _, lines, _ := strings.Cut(string(got), "westus3\n"); lines != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for what, bad := range map[string]string{
		"nothing": "[]", "a size twice": "[" + size("D4s v3", "") + "," + size("Standard D4s v3", "") + "]", "GPUs": "[" + size("NC4s v9", `, "GPU": "some"`) + "]",
	} {
		if _, err := encodeAzureHardware(source{}, azureSample(t, bad)); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestAzureSpotPrices(t *testing.T) {
	got, err := encodeAzurePrices(source{}, azureSample(t, "["+size("D4s v3", "")+","+size("B4ms", `, "low_priority": false`)+"]"), spotPrices())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(got); !strings.Contains(text, "-azure-spot") || !strings.HasSuffix(text, "\nD4s_v3,,,,,,,,,,,,0.25\n") {
		t.Errorf("got\n%s", text)
	}
}
