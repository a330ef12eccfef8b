package gpu

import (
	"maps"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/azure/size"
)

func TestOf(t *testing.T) {
	for sku, want := range map[string]struct {
		manufacturer                    string
		ubuntu, azureLinux, azureLinux3 bool
	}{
		"Standard_NC16as_T4_v3":                {NVIDIA, true, true, true},
		"Standard_NC6s_v3":                     {NVIDIA, true, true, true},
		"Standard_NC24ads_A100_v4":             {NVIDIA, true, false, true},
		"standard_nd96isr_h200_v5":             {NVIDIA, true, false, true},
		"Standard_NC6":                         {NVIDIA, true, false, false},
		"Standard_NC6_Promo":                   {NVIDIA, true, false, false},
		"Standard_NV24_PROMO":                  {NVIDIA, true, false, false},
		"Standard_NC24lds_xl_RTXPRO6000BSE_v6": {NVIDIA, true, false, false},
		"Standard_NV4ads_V710_v5":              {AMD, true, false, false},
		"Standard_ND96isr_MI300X_v5":           {AMD, true, false, false},
	} {
		got, ok := Of(sku)
		if !ok || got.Manufacturer != want.manufacturer || got.RunsOn(Ubuntu) != want.ubuntu || got.RunsOn(AzureLinux) != want.azureLinux ||
			got.RunsOn(AzureLinux3) != want.azureLinux3 || got.RunsOn(AzureLinux, AzureLinux3) != (want.azureLinux || want.azureLinux3) || got.RunsOn() {
			t.Errorf("%s: got %+v, %v, want %+v", sku, got, ok, want)
		}
		if got.InstallsDriver() != (want.manufacturer == NVIDIA) {
			t.Errorf("%s: installs a driver: %v", sku, got.InstallsDriver())
		}
	}
	for _, sku := range []string{"Standard_D2s_v3", "Standard_NG32adms_V620_v1", "NC6", "nc6", "Basic_NC6", "Standard_", "", "Standard_NC6_Promo_Promo"} {
		if got, ok := Of(sku); ok {
			t.Errorf("%q has GPUs: %+v", sku, got)
		}
	}
}

// TestDriverOf holds each driver against the sizes that get it.
func TestDriverOf(t *testing.T) {
	const (
		cuda    = "mcr.microsoft.com/aks/aks-gpu-cuda:470.82.01-20260629214430"
		grid    = "mcr.microsoft.com/aks/aks-gpu-grid:570.211.01-20260522192315"
		gridV20 = "mcr.microsoft.com/aks/aks-gpu-grid-v20:595.58.03-20260609172331"
		cudaLTS = "mcr.microsoft.com/aks/aks-gpu-cuda-lts:580.159.04-20260629214430"
	)
	for sku, want := range map[string]string{
		"Standard_NC6": cuda, "Standard_NC24r": cuda, "Standard_NC12_Promo": cuda,
		"Standard_NV6ads_A10_v5": grid, "Standard_NV36adms_A10_v5": grid, "Standard_NC32ads_A10_v4": grid,
		"Standard_NC288lds_xl_RTXPRO6000BSE_v6": gridV20,
		"Standard_NC6s_v2":                      cudaLTS, "Standard_NC24ads_A100_v4": cudaLTS, "Standard_ND6s": cudaLTS, "Standard_NV6": cudaLTS, "Standard_ND128isr_GB300_v6": cudaLTS,
	} {
		if got, ok := DriverOf(sku); !ok || got.Image() != want {
			t.Errorf("%s: got %s, %v, want %s", sku, got.Image(), ok, want)
		}
	}
	for _, sku := range []string{"Standard_NV4ads_V710_v5", "Standard_D2s_v3"} {
		if got, ok := DriverOf(sku); ok {
			t.Errorf("%s has the driver %+v", sku, got)
		}
	}
}

// TestEachSizeHasItsDriver checks the table as a whole.
func TestEachSizeHasItsDriver(t *testing.T) {
	sizes := tables().sizes
	count := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		count[sizes[name].Manufacturer]++
		if driver, ok := DriverOf("Standard_" + name); ok && (driver.Version == "" || driver.Suffix == "") {
			t.Errorf("%s: the driver is %+v", name, driver)
		}
	}
	if count[NVIDIA] != 75 || count[AMD] != 7 {
		t.Errorf("there are %v sizes", count)
	}
}

// TestGridSizesAreThoseWithA10 pins the sizes that share a GPU.
func TestGridSizesAreThoseWithA10(t *testing.T) {
	var got []string
	for _, name := range slices.Sorted(maps.Keys(tables().sizes)) {
		if driver, _ := DriverOf("Standard_" + name); driver.Kind == "grid" {
			got = append(got, name)
		}
	}
	want := []string{
		"nc16ads_a10_v4", "nc32ads_a10_v4", "nc8ads_a10_v4", "nv12ads_a10_v5", "nv18ads_a10_v5", "nv36adms_a10_v5", "nv36ads_a10_v5", "nv6ads_a10_v5", "nv72ads_a10_v5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSizesWithoutTheGrammar pins which entries can never become instance types, because their names do not parse.
func TestSizesWithoutTheGrammar(t *testing.T) {
	for _, name := range []string{"ND128isr_NDR_GB200_v6", "ND96is_noIB_H100_v5", "ND96is_flex_H100_v5", "ND96ams_A100_flex_v4"} {
		if _, ok := Of("Standard_" + name); !ok {
			t.Errorf("%s is not in the table", name)
		}
		if _, err := size.Parse(name); err == nil {
			t.Errorf("%s is parsed", name)
		}
	}
}

func TestTablesThatAreWrong(t *testing.T) {
	for what, text := range map[string]string{
		"no manufacturer": "  nc6\n", "unknown manufacturer": "intel ubuntu\n", "no systems": "nvidia\n", "twice": "nvidia ubuntu\n  nc6\n  nc6\n",
	} {
		if got, err := parseSizes(text); err == nil {
			t.Errorf("%s: parsed as %v", what, got)
		}
	}
	if got, err := parseDrivers("cuda 1\n"); err == nil {
		t.Errorf("parsed as %v", got)
	}
}
