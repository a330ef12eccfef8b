package image

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/azure/family"
)

// Newer reports whether a version of an image is newer than another. Versions are numbers separated by dots; if one begins with all numbers of
// the other, the longer one is newer. A version with a part that is not a number is never newer than another, and any other is newer than it.
func Newer(version, than string) bool {
	a, ok := numbers(version)
	if !ok {
		return false
	}
	b, ok := numbers(than)
	return !ok || slices.Compare(a, b) > 0
}

// numbers are the parts of a version.
func numbers(version string) ([]uint64, bool) {
	var out []uint64
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}

// SharedVersion is a version in the shared image galleries of AKS, as the list of node image versions has it.
type SharedVersion struct {
	// OS is the name of the gallery, SKU that of the definition.
	OS, SKU, Version string
}

// NewestShared returns the newest version of each definition in the galleries of families of this provider, in order of gallery and
// definition.
func NewestShared(versions []SharedVersion) []SharedVersion {
	known := []string{family.Ubuntu2204.Gallery().Name, family.AzureLinux3.Gallery().Name}
	out := slices.DeleteFunc(slices.Clone(versions), func(v SharedVersion) bool { return !slices.Contains(known, v.OS) || v.Version == "" })
	slices.SortStableFunc(out, func(a, b SharedVersion) int {
		switch order := cmp.Or(strings.Compare(a.OS, b.OS), strings.Compare(a.SKU, b.SKU)); {
		case order != 0:
			return order
		case Newer(a.Version, b.Version):
			return -1
		case Newer(b.Version, a.Version):
			return 1
		default:
			return strings.Compare(b.Version, a.Version)
		}
	})
	return slices.CompactFunc(out, func(a, b SharedVersion) bool { return a.OS == b.OS && a.SKU == b.SKU })
}

// CommunityVersion is a version of a definition in a community gallery.
type CommunityVersion struct {
	Version   string
	Published time.Time
}

// NewestCommunity returns the version that was published last, whatever its number. It is false if there is none.
func NewestCommunity(versions []CommunityVersion) (string, bool) {
	newest := CommunityVersion{}
	for _, v := range versions {
		if v.Version == "" {
			continue
		}
		after := v.Published.Compare(newest.Published)
		if newest.Version == "" || after > 0 || after == 0 && Newer(v.Version, newest.Version) {
			newest = v
		}
	}
	return newest.Version, newest.Version != ""
}
