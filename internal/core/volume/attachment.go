// Package volume knows what a pod's volumes ask of a node: where they can be reached, and how many of a kind can be
// attached to one machine.
//
// Source: scheduling specification, volumes.
package volume

import "maps"

// Attachment is one volume that has to be attached to the node its pod runs on.
type Attachment struct {
	// Driver is the CSI driver that attaches it.
	Driver string
	// Claim names the volume claim as namespace/name; pods that share a claim share the attachment.
	Claim string
}

// Limits is how many attachments a node allows per driver. A driver that is not listed is not limited, as far as is known.
type Limits map[string]int

// Attached is the distinct volumes that are attached to one machine. The zero value is empty; copy with Clone.
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

// Clone is a copy with a life of its own.
func (a *Attached) Clone() Attached { return Attached{maps.Clone(a.claims), maps.Clone(a.count)} }

// Count is how many volumes of a driver are attached.
func (a *Attached) Count(driver string) int { return a.count[driver] }

// Allows reports whether list can be attached as well. Only drivers with a volume that is new to the machine can refuse: a
// machine that is beyond a limit takes everything that adds nothing of that kind. No entry of list may be repeated.
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
