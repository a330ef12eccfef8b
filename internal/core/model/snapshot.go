package model

import "github.com/karpenter-anew/karpenter/internal/core/resource"

// Snapshot is what is, at one moment.
type Snapshot struct {
	// Version grows with every change.
	Version uint64
	// Resources names the entries of every vector in the snapshot.
	Resources *resource.Table
	// Nodes by ID.
	Nodes Index[*Node]
	// Pending are the pods that wait for a node and that the scheduler could not place, by UID.
	Pending Index[*Pod]
	// DaemonSets by namespace/name.
	DaemonSets Index[*DaemonSet]
	// Namespaces are the labels of every namespace, by name. The map is never changed.
	Namespaces map[string]map[string]string
}
