// Package size parses the names of sizes of virtual machines on Azure.
//
// A name is that of a SKU without its tier, such as D4s_v3 for Standard_D4s_v3. It consists of a family, a subfamily, the number of vCPUs,
// features of the hardware, and suffixes:
//
//	E64-16s_v3                     family E, 64 vCPUs of which 16 are enabled, feature s, version 3
//	NC24ads_A100_v4                family N, subfamily C, 24 vCPUs, features ads, accelerator A100, version 4
//	NC24lds_xl_RTXPRO6000BSE_v6    the token xl says something about the accelerator behind it
//	M96s_1_v3, NC6_Promo           a number that tells variants apart; a name for promotional prices
//
// Source: Azure provider specification, size grammar; the page "Azure virtual machine sizes naming conventions" of Azure.
package size

import (
	"fmt"
	"regexp"
	"strconv"
)

// Size is what a name says.
type Size struct {
	// Family is one capital letter, Subfamily none to two.
	Family, Subfamily string
	// VCPUs is the number of vCPUs of the hardware.
	VCPUs int
	// ConstrainedVCPUs is the number of vCPUs that are enabled, or 0 if all are.
	ConstrainedVCPUs int
	// Features are letters, each for a feature, such as s for premium storage and p for processors with the ARM architecture.
	Features string
	// Accelerator is the name of the GPU, such as A100; empty if the name has none, or one that is not made of letters and a number.
	Accelerator string
	// Version is the number of the generation, one digit; empty if the name has none.
	Version string
}

// grammar has the parts of a name as groups: family, subfamily, vCPUs, constrained vCPUs, features, accelerator, accelerator behind xl,
// version. An accelerator never consists of two words, and only one behind xl ends with letters. MI300X is therefore not an accelerator but
// another word.
var grammar = regexp.MustCompile(`^([A-Z])([A-Z]{0,2})([0-9]+)(?:-([0-9]+))?((?:[abcdefilmnotsprP]|C|NP)*)` +
	`(?:_([A-Z]+[0-9]+)|_xl_([A-Z]+[0-9]+[A-Z]*))?(?:_cc|_[0-9]+|_MI300X)*(?:_v([1-9]))?(?:_Promo)?$`)

// Parse parses a name without the tier of the SKU.
func Parse(name string) (Size, error) {
	m := grammar.FindStringSubmatch(name)
	if m == nil {
		return Size{}, fmt.Errorf("parsing the size %q: want a family, a number of vCPUs, features, and an accelerator and a version if there are any", name)
	}
	out := Size{Family: m[1], Subfamily: m[2], Features: m[5], Accelerator: m[6] + m[7], Version: m[8]}
	var err error
	if out.VCPUs, err = strconv.Atoi(m[3]); err != nil {
		return Size{}, fmt.Errorf("parsing the vCPUs of the size %q: %w", name, err)
	}
	if m[4] == "" {
		return out, nil
	}
	if out.ConstrainedVCPUs, err = strconv.Atoi(m[4]); err != nil {
		return Size{}, fmt.Errorf("parsing the enabled vCPUs of the size %q: %w", name, err)
	}
	return out, nil
}

// Constrained reports whether only some of the vCPUs are enabled.
func (s Size) Constrained() bool { return s.ConstrainedVCPUs > 0 }

// Series names the sizes that differ in nothing but their number of vCPUs and the accelerator, such as Dpls_v6.
func (s Size) Series() string {
	series := s.Family + s.Subfamily + s.Features
	if s.Version != "" {
		series += "_v" + s.Version
	}
	return series
}

// Generation is the version as a number in decimal. Sizes without a version are those of the first generation.
func (s Size) Generation() string {
	if s.Version == "" {
		return "1"
	}
	return s.Version
}
