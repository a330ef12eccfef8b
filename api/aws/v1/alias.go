package v1

import (
	"fmt"
	"strings"
)

// Family is a kind of image: it decides the form of the user data, the default disks and how pods are counted.
type Family string

// The families.
const (
	FamilyAL2          Family = "AL2"
	FamilyAL2023       Family = "AL2023"
	FamilyBottlerocket Family = "Bottlerocket"
	FamilyCustom       Family = "Custom"
	FamilyWindows2019  Family = "Windows2019"
	FamilyWindows2022  Family = "Windows2022"
	FamilyWindows2025  Family = "Windows2025"
)

// Windows reports whether the family runs Windows.
func (f Family) Windows() bool { return strings.HasPrefix(string(f), "Windows") }

// VersionLatest is the only version of an alias that changes its meaning over time.
const VersionLatest = "latest"

// Alias stands for the images that AWS publishes for a family.
type Alias struct {
	Family Family
	// Version is a release of the family's images, or VersionLatest.
	Version string
}

// ParseAlias reads family@version; the case of the family does not matter. The API server lets some malformed aliases
// through, such as al2023@a@b.
//
// Source: AWS provider specification, family selection.
func ParseAlias(text string) (Alias, error) {
	name, version, found := strings.Cut(text, "@")
	if !found || version == "" || strings.Contains(version, "@") {
		return Alias{}, fmt.Errorf("alias %q does not have the form family@version", text)
	}
	for _, family := range []Family{FamilyAL2, FamilyAL2023, FamilyBottlerocket, FamilyWindows2019, FamilyWindows2022, FamilyWindows2025} {
		if strings.EqualFold(name, string(family)) {
			return Alias{Family: family, Version: version}, nil
		}
	}
	return Alias{}, fmt.Errorf("alias %q names no known family", text)
}

// Alias is the alias of the class, and whether it has one. A malformed alias is an error.
func (c *EC2NodeClass) Alias() (Alias, bool, error) {
	for _, term := range c.Spec.AMISelectorTerms {
		if term.Alias != "" {
			alias, err := ParseAlias(term.Alias)
			return alias, err == nil, err
		}
	}
	return Alias{}, false, nil
}

// Family is the family of the class: the one it names, else that of its alias, else Custom.
func (c *EC2NodeClass) Family() Family {
	if c.Spec.AMIFamily != nil {
		return Family(*c.Spec.AMIFamily)
	}
	if alias, ok, err := c.Alias(); ok && err == nil {
		return alias.Family
	}
	return FamilyCustom
}
