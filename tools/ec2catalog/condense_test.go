package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const committed = "../../cloud/kwok/catalogs"

// The committed catalogues are what the pinned data set gives, byte for byte.
func TestCommittedCataloguesAreFresh(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(committed, "aws-*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no committed catalogues in %s: %v", committed, err)
	}
	var regions []string
	for _, f := range files {
		regions = append(regions, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "aws-"), ".json"))
	}
	dir := t.TempDir()
	if err := run(dir, regions); err != nil {
		t.Fatal(err)
	}
	for _, region := range regions {
		want, err := os.ReadFile(filepath.Join(dir, fileName(region)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(committed, fileName(region)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate ./cloud/kwok", fileName(region))
		}
	}
}

// sample is one data set entry with defaults that condense keeps.
func sample(t *testing.T, fields string) instance {
	t.Helper()
	base := `{"instance_type":"m5.large","arch":["x86_64"],"vCPU":2,"memory":8,"vpc":{"ips_per_eni":10,"max_enis":3},
		"availability_zones":{"r":["r-az4","r-az1"]},"pricing":{"r":{"linux":{"ondemand":"0.096","spot_avg":"0.03"}}}}`
	var in instance
	for _, text := range []string{base, fields} {
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func TestCondenseWritesOneLinePerType(t *testing.T) {
	types, err := condense([]instance{sample(t, `{}`)}, "r")
	if err != nil {
		t.Fatal(err)
	}
	src := source{path: "example.com/data", version: "v0.0.0-20250528091325-32acf84f42eb", date: "2025-05-28"}
	got, err := encode(src, "r", types)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
"source": "example.com/data",
"version": "v0.0.0-20250528091325-32acf84f42eb",
"date": "2025-05-28",
"region": "r",
"types": [
{"name":"m5.large","arch":"amd64","cpu":2,"memoryMi":8192,"pods":29,"onDemand":0.096,"spot":0.03,"zones":"ad"}
]
}
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCondenseKeepsOrDrops(t *testing.T) {
	tests := []struct {
		name, fields string
		check        func(catalogType) bool // nil: dropped
	}{
		{"no price", `{"pricing":{"r":{"linux":{"ondemand":"0","spot_avg":"0"}}}}`, nil},
		{"no zone", `{"availability_zones":{"r":[]}}`, nil},
		{"mac", `{"arch":["arm64_mac"]}`, nil},
		{"arm", `{"arch":["arm64"]}`, func(c catalogType) bool { return c.Arch == "arm64" }},
		{"both x86 widths", `{"arch":["i386","x86_64"]}`, func(c catalogType) bool { return c.Arch == "amd64" }},
		{"network limits unknown", `{"vpc":null}`, func(c catalogType) bool { return c.Pods == 110 }},
		{"pod limit is capped", `{"vpc":{"ips_per_eni":50,"max_enis":16}}`, func(c catalogType) bool { return c.Pods == 737 }},
		{"nvidia", `{"GPU":4,"GPU_model":"NVIDIA L4"}`, func(c catalogType) bool { return c.Extended["nvidia.com/gpu"] == 4 }},
		{"amd", `{"GPU":2,"GPU_model":"AMD Radeon Pro V520"}`, func(c catalogType) bool { return c.Extended["amd.com/gpu"] == 2 }},
		{"neuron", `{"GPU":6,"GPU_model":"AWS Inferentia2"}`, func(c catalogType) bool { return c.Extended["aws.amazon.com/neuron"] == 6 }},
		{"gaudi, silent source", `{"instance_type":"dl1.24xlarge"}`, func(c catalogType) bool { return c.Extended["habana.ai/gaudi"] == 8 }},
		{"not offered as spot", `{"pricing":{"r":{"linux":{"ondemand":"1","spot_avg":"0"}}}}`, func(c catalogType) bool { return c.Spot == 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			other := sample(t, `{"instance_type":"z1.other"}`)
			got, err := condense([]instance{other, sample(t, tt.fields)}, "r")
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tt.check == nil && len(got) != 1:
				t.Errorf("kept: %+v", got[0])
			case tt.check != nil && len(got) != 2:
				t.Error("dropped")
			case tt.check != nil && !tt.check(got[0]):
				t.Errorf("got %+v", got[0])
			}
		})
	}
}

func TestCondenseRefuses(t *testing.T) {
	for name, fields := range map[string]string{
		"accelerator of unknown make": `{"GPU":1,"GPU_model":"Acme X"}`,
		"odd zone id":                 `{"availability_zones":{"r":["r-1a"]}}`,
		"no memory":                   `{"memory":0}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := condense([]instance{sample(t, fields)}, "r"); err == nil {
				t.Errorf("accepted as %+v", got)
			}
		})
	}
	if _, err := condense([]instance{sample(t, `{}`), sample(t, `{}`)}, "r"); err == nil {
		t.Error("a type that appears twice is accepted")
	}
	if _, err := condense([]instance{sample(t, `{}`)}, "elsewhere"); err == nil {
		t.Error("a region that offers nothing is accepted")
	}
}
