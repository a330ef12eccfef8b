// Package zone translates between the zones of Azure and the values of the label topology.kubernetes.io/zone.
//
// Azure numbers the zones of a location. A virtual machine without a zone has regional placement: Azure decides where it runs. AKS labels
// such nodes with the zone 0.
//
// Source: Azure provider specification, zones.
package zone

import (
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// Label returns the value of the label for zones that Azure reports, given the location. More than one zone is an error.
func Label(location string, zones []string) (string, error) {
	switch len(zones) {
	case 0:
		return label.ZoneRegional, nil
	case 1:
		return sku.ZoneName(location, zones[0]), nil
	default:
		return "", fmt.Errorf("labeling the zones %q of location %q: want at most one", zones, location)
	}
}

// Numbers returns the zones for Azure, given the value of the label: none for regional placement, else one. The result is never nil,
// because an empty list and an absent one differ in requests.
func Numbers(value string) ([]string, error) {
	if value == label.ZoneRegional {
		return []string{}, nil
	}
	location, number, ok := cutLast(value)
	if !ok || location == "" || number == "" {
		return nil, fmt.Errorf("reading the zone %q: want a location and a number, such as westus2-3, or %s", value, label.ZoneRegional)
	}
	return []string{number}, nil
}

// PlacementScope returns the value of the label for the placement, given that of the zone.
func PlacementScope(value string) string {
	if value == label.ZoneRegional {
		return label.PlacementScopeRegional
	}
	return label.PlacementScopeZonal
}

// cutLast cuts a value at its last dash.
func cutLast(value string) (before, after string, ok bool) {
	i := strings.LastIndexByte(value, '-')
	if i < 0 {
		return value, "", false
	}
	return value[:i], value[i+1:], true
}
