// Package volume computes the constraints of a pod's volumes on its node: the volume topology, and the limits on attachments.
//
// Source: scheduling specification, volumes.
package volume

import (
	"cmp"
	"maps"
	"strings"
)

// Attachment is one volume that has to be attached to the node its pod runs on.
type Attachment struct {
	// Driver is the CSI driver that attaches it.
	Driver string
	// Claim names the volume claim as namespace/name; pods that share a claim share the attachment.
	Claim string
}

// Compare orders attachments by driver and claim.
func (a Attachment) Compare(b Attachment) int {
	return cmp.Or(strings.Compare(a.Driver, b.Driver), strings.Compare(a.Claim, b.Claim))
}

// Limits is the number of attachments that a node allows by driver. A driver that is not listed has no known limit.
type Limits map[string]int

// Attached is the set of volumes attached to one node. The zero value is empty; copy it with Clone.
type Attached struct {
	claims map[Attachment]bool
	count  map[string]int
}

// Add attaches the volumes that are not attached yet.
func (a *Attached) Add(list []Attachment) {
	for _, one := range list {
		if a.claims[one] {
			continue
		}
		if a.claims == nil {
			a.claims, a.count = map[Attachment]bool{}, map[string]int{}
		}
		a.claims[one] = true
		a.count[one.Driver]++
	}
}

// Clone returns an independent copy.
func (a *Attached) Clone() Attached { return Attached{maps.Clone(a.claims), maps.Clone(a.count)} }

// Count returns the number of attached volumes of a driver.
func (a *Attached) Count(driver string) int { return a.count[driver] }

// Allows reports whether list can be attached as well. Only drivers of volumes that are not attached yet count: a node beyond a
// limit still takes pods without new volumes of that driver. list has no duplicates.
func (a *Attached) Allows(list []Attachment, limits Limits) bool {
	for i, one := range list {
		limit, limited := limits[one.Driver]
		if !limited || a.claims[one] {
			continue
		}
		added := 1
		for _, other := range list[:i] {
			if other.Driver == one.Driver && !a.claims[other] {
				added++
			}
		}
		if a.count[one.Driver]+added > limit {
			return false
		}
	}
	return true
}
