package sku

import "math"

// Placements of an ephemeral disk, as Azure names them.
const (
	PlacementNVMe     = "NvmeDisk"
	PlacementCache    = "CacheDisk"
	PlacementResource = "ResourceDisk"
)

// EphemeralDisk is a local disk of virtual machines that can hold the operating system.
type EphemeralDisk struct {
	// SizeGB is the size in units of 10⁹ bytes.
	SizeGB int64
	// Placement is one of the constants above.
	Placement string
}

// Holds reports whether the operating system of a class fits: whether the disk has at least so many GB. Otherwise virtual machines get a
// managed disk.
func (d EphemeralDisk) Holds(gigabytes int64) bool { return d.SizeGB > 0 && gigabytes <= d.SizeGB }

const (
	gigabyte = 1_000_000_000
	mebibyte = 1 << 20
)

// disk is the first local disk that Azure reports, in a fixed order. The choice is final: if the operating system does not fit, no other
// local disk is used, as in node pools of AKS.
func (r Report) disk() EphemeralDisk {
	if !isTrue(r.Capabilities[capabilityEphemeral]) {
		return EphemeralDisk{}
	}
	if bytes := mebibytes(r.Capabilities[capabilityNVMe]); bytes > 0 && lists(r.Capabilities[capabilityPlacements], PlacementNVMe) {
		return EphemeralDisk{bytes / gigabyte, PlacementNVMe}
	}
	if bytes := integer(r.Capabilities[capabilityCache]); bytes > 0 {
		return EphemeralDisk{bytes / gigabyte, PlacementCache}
	}
	if bytes := mebibytes(r.Capabilities[capabilityTemporaryDisk]); bytes > 0 {
		return EphemeralDisk{bytes / gigabyte, PlacementResource}
	}
	return EphemeralDisk{}
}

// mebibytes is a capability in MiB as bytes; 0 if it is missing or no size of a disk.
func mebibytes(value string) int64 {
	n := integer(value)
	if n > math.MaxInt64/mebibyte {
		return 0
	}
	return n * mebibyte
}
