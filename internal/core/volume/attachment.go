// Package volume knows what a pod's volumes ask of a node: where they can be reached, and how many of a kind can be
// attached to one machine.
//
// Source: scheduling specification, volumes.
package volume

// Attachment is one volume that has to be attached to the node its pod runs on.
type Attachment struct {
	// Driver is the CSI driver that attaches it.
	Driver string
	// Claim names the volume claim as namespace/name; pods that share a claim share the attachment.
	Claim string
}

// Limits is how many attachments a node allows per driver. A driver that is not listed is not limited.
type Limits map[string]int
