// Package solve decides where pending pods run: on existing nodes, on nodes that are already requested, or on new ones, and
// which new ones.
//
// Problem: pack n pods (items) onto m existing nodes and as few and as cheap new nodes (bins) as possible. A new node is one
// of hundreds of instance types (bin types), under label, taint, resource, daemon and limit constraints.
//
// Approach: first fit decreasing, with all work lifted from pods to what they share. Pods with equal demands form a class
// and are placed in runs. Requirements are interned, so the label state of an open node is a number and adding a class to
// it is one lookup. The instance types an open node may still become are a bitset over columns compiled per pool;
// resources are compared as vectors. In the end the open nodes of each pool are repacked by the dual prices of their
// resources.
//
// Invariant: the set of instance types of an open node only shrinks. A class that an open node, an existing node or a pool
// rejects once is rejected for the rest of the run, so each class keeps a cursor and never asks again.
//
// Cost: O(runs × (nodes + open nodes)) lookups, plus O(columns) per placement. Solve is a pure function: no clock, no
// client, no randomness; equal input gives equal output.
//
// Source: scheduling specification, scheduling algorithm.
package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Problem is the input of a run.
type Problem struct {
	// Resources names the entries of all vectors.
	Resources []string
	// Pods are to be placed, in any order.
	Pods []*model.Pod
	// Nodes are existing or requested nodes that may receive pods, in any order. They count against the limits of their pools.
	Nodes []*model.Node
	// ExcludedNodes receive no pods because they are being deleted. Pods that stay on them count for topology.
	ExcludedNodes []*model.Node
	// Cordoned are the IDs of nodes that receive no pods but those of CordonExempt, by pod UID.
	Cordoned, CordonExempt map[string]bool
	// Namespaces are the labels of the namespaces, by name, for terms that select namespaces by label.
	Namespaces map[string]map[string]string
	// Pools may launch, in any order; weight and name decide.
	Pools []*model.Pool
	// DaemonSets take resources on every node they match.
	DaemonSets []*model.DaemonSet
	// Devices are the inventory for the ResourceClaims of pods; nil rejects pods with ResourceClaims.
	Devices *model.Devices
	Options Options
}

// Options are the policies of a run.
type Options struct {
	// WellKnown reports the labels that a pod may require without the pool defining them.
	WellKnown func(key string) bool
	// Custom reports the labels that a NodeClaim carries with one concrete value: neither well-known nor restricted.
	Custom func(key string) bool
	// IgnorePreferences ignores preferred affinity and soft spread constraints.
	IgnorePreferences bool
	// BestEffortMinValues relaxes minValues that cannot be met instead of rejecting the pool.
	BestEffortMinValues bool
	// Reserved is the policy for reserved offerings; ReservationLabel is the label that names a reservation.
	Reserved         ReservedMode
	ReservationLabel string
	// MaxInstanceTypes bounds the instance types of a NodeClaim; 0 means 600.
	MaxInstanceTypes int
	// DisableRepacking keeps the result of first fit, even where repacking would be cheaper.
	DisableRepacking bool
	// DeviceTimeout starts the timeout of one search for devices and returns a function that reports its expiry. Nil never
	// expires.
	DeviceTimeout func() (over func() bool)
	// Stop is called between placements; once it reports true, the run ends with what it has. Nil never stops.
	Stop func() bool
}

const defaultMaxInstanceTypes = 600

func (o Options) maxInstanceTypes() int {
	if o.MaxInstanceTypes > 0 {
		return o.MaxInstanceTypes
	}
	return defaultMaxInstanceTypes
}
