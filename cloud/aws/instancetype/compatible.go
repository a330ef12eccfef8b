package instancetype

import (
	"slices"
	"strings"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// Compatible reports whether instances of a type can be launched under a class at all. Types that cannot keep their
// offerings, and none of these is available.
func Compatible(d *Description, c *Class) bool {
	return familyRuns(d, c) && interfacesFit(d, c) &&
		(!c.NestedVirtualization || slices.Contains(d.CPUFeatures, featureNestedVirtualization)) &&
		(!c.Enclaves || d.NitroEnclaves) &&
		(c.PlacementGroup == nil || slices.Contains(d.PlacementStrategies, c.PlacementGroup.Strategy)) &&
		(!c.TracksConnections || d.Hypervisor == hypervisorNitro)
}

// familyRuns reports whether the family's images boot: those of AL2023 do not support the first ARM processors.
func familyRuns(d *Description, c *Class) bool {
	return c.Family != awsv1.FamilyAL2023 || !strings.HasPrefix(d.Name, "a1.")
}

// interfacesFit reports whether the type has the interfaces that the class configures.
func interfacesFit(d *Description, c *Class) bool {
	if len(c.NetworkInterfaces) == 0 {
		return true
	}
	if d.Network == nil || len(d.Network.Cards) == 0 || !d.Network.ENASupported {
		return false
	}
	for _, i := range c.NetworkInterfaces {
		card, ok := d.Network.card(int64(i.NetworkCardIndex))
		if !ok || int64(i.NetworkCardIndex) >= int64(len(d.Network.Cards)) || int64(i.DeviceIndex) >= card.MaximumInterfaces {
			return false
		}
	}
	return c.fabricOnly(-1) <= d.Network.maximumEFAs()
}
