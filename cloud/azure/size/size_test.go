package size_test

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/cloud/azure/size"
)

// TestParse holds the names of sizes against what they say.
//
// Source: Azure provider specification, conformance vectors.
func TestParse(t *testing.T) {
	t.Attr("covers", "Z059")
	for _, test := range []struct {
		name, family, series, generation string
		vcpus, constrained               int
		accelerator                      string
	}{
		{"D2", "D", "D", "1", 2, 0, ""},
		{"D2_v2", "D", "D_v2", "2", 2, 0, ""},
		{"DS2_v2", "D", "DS_v2", "2", 2, 0, ""},
		{"DS2_v2_Promo", "D", "DS_v2", "2", 2, 0, ""},
		{"D2as_v6", "D", "Das_v6", "6", 2, 0, ""},
		{"D16plds_v5", "D", "Dplds_v5", "5", 16, 0, ""},
		{"B20ms", "B", "Bms", "1", 20, 0, ""},
		{"B2ats_v2", "B", "Bats_v2", "2", 2, 0, ""},
		{"E64-16s_v3", "E", "Es_v3", "3", 64, 16, ""},
		{"M8-2ms", "M", "Mms", "1", 8, 2, ""},
		{"DS11-1_v2", "D", "DS_v2", "2", 11, 1, ""},
		{"FX12mds_v2", "F", "FXmds_v2", "2", 12, 0, ""},
		{"L8aos_v4", "L", "Laos_v4", "4", 8, 0, ""},
		{"M96s_1_v3", "M", "Ms_v3", "3", 96, 0, ""},
		{"M416s_8_v2", "M", "Ms_v2", "2", 416, 0, ""},
		{"NP10s", "N", "NPs", "1", 10, 0, ""},
		{"HB120rs_v3", "H", "HBrs_v3", "3", 120, 0, ""},
		{"NC24ads_A100_v4", "N", "NCads_v4", "4", 24, 0, "A100"},
		{"NC16as_T4_v3", "N", "NCas_v3", "3", 16, 0, "T4"},
		{"NC80adis_H100_v5", "N", "NCadis_v5", "5", 80, 0, "H100"},
		{"NV4ads_V710_v5", "N", "NVads_v5", "5", 4, 0, "V710"},
		{"ND128isr_GB300_v6", "N", "NDisr_v6", "6", 128, 0, "GB300"},
		{"NC24lds_xl_RTXPRO6000BSE_v6", "N", "NClds_v6", "6", 24, 0, "RTXPRO6000BSE"},
		{"ND96isr_MI300X_v5", "N", "NDisr_v5", "5", 96, 0, ""},
		{"NC24rs_v3", "N", "NCrs_v3", "3", 24, 0, ""},
		{"NC6_Promo", "N", "NC", "1", 6, 0, ""},
		{"NCC40ads_H100_v5", "N", "NCCads_v5", "5", 40, 0, "H100"},
		{"DC8s_v3", "D", "DCs_v3", "3", 8, 0, ""},
		{"DC2as_cc_v5", "D", "DCas_v5", "5", 2, 0, ""},
	} {
		s, err := size.Parse(test.name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Family != test.family || s.Series() != test.series || s.Generation() != test.generation || s.VCPUs != test.vcpus || s.ConstrainedVCPUs != test.constrained ||
			s.Constrained() != (test.constrained > 0) || s.Accelerator != test.accelerator {
			t.Errorf("%s: got %+v, series %s, generation %s, want %+v", test.name, s, s.Series(), s.Generation(), test)
		}
	}
	for _, name := range []string{
		"D96s_v10", "ND128isr_NDR_GB200_v6", "ND96is_noIB_H100_v5", "ND96is_flex_H100_v5", "ND96ams_A100_flex_v4",
		"", "D", "2", "d2", "DABC2", "D2_v", "D2_v0", "D2s_", "D2s_v3_", "D2s_v3 ", "Standard_D2s_v3", "D2z_v3", "E64-s_v3", "E64-16-8s_v3",
		"NC24lds_xl_v6", "D99999999999999999999", "D2-99999999999999999999",
	} {
		if s, err := size.Parse(name); err == nil {
			t.Errorf("%q: parsed as %+v", name, s)
		}
	}
}

// TestParsedPartsMakeTheName builds names from parts and looks whether they are found again.
func TestParsedPartsMakeTheName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := size.Size{
			Family:           rapid.StringMatching(`[A-Z]`).Draw(t, "family"),
			Subfamily:        rapid.StringMatching(`[A-Z]{0,2}`).Draw(t, "subfamily"),
			VCPUs:            rapid.IntRange(1, 2000).Draw(t, "vcpus"),
			ConstrainedVCPUs: rapid.IntRange(0, 64).Draw(t, "constrained"),
			Features:         rapid.StringMatching(`[abcdefilmnotspr]{0,4}`).Draw(t, "features"),
			Accelerator:      rapid.StringMatching(`([A-Z]{1,3}[0-9]{1,4})?`).Draw(t, "accelerator"),
			Version:          rapid.StringMatching(`[1-9]?`).Draw(t, "version"),
		}
		name := want.Family + want.Subfamily + strconv.Itoa(want.VCPUs)
		if want.Constrained() {
			name += "-" + strconv.Itoa(want.ConstrainedVCPUs)
		}
		name += want.Features
		if want.Accelerator != "" {
			name += "_" + want.Accelerator
		}
		if want.Version != "" {
			name += "_v" + want.Version
		}
		got, err := size.Parse(name)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	})
}

// FuzzParse checks that no name makes the parser panic, and that names are parsed only as a whole.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"D2s_v3", "E64-16s_v3", "NC24lds_xl_RTXPRO6000BSE_v6", "M416s_8_v2", "D2s_v3\n", "\xff"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s, err := size.Parse(name)
		if err == nil && (s.Family == "" || len(s.Series()) > len(name)) {
			t.Errorf("%q: parsed as %+v", name, s)
		}
	})
}
