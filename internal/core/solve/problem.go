// Package solve decides where pending pods should run: on nodes that exist, on machines already asked for, or on new
// ones, and which new ones.
//
// Problem: place n pods on m existing nodes and on as few and as cheap new machines as possible, each machine being one of
// hundreds of instance types under label, taint, resource, daemon and limit constraints.
//
// Approach: first fit in decreasing order of size, with all work lifted from pods to what they share. Pods with equal
// demands form a class and are placed in runs. Requirements are interned, so that a claim's label state is a number and
// adding a class to it is one lookup. The instance types a claim may still become are a bitset over columns compiled per
// pool; resources are compared in vectors. A pass at the end splits claims that grew into dear machines.
//
// Invariant: claims only shrink. What a class was refused once by a claim, a node or a pool it is refused for the rest of
// the run, so each class keeps a cursor and never asks again.
//
// Cost: O(runs × (nodes + open claims)) lookups, plus O(columns) per placement. Solve is a pure function: no clock, no
// client, no randomness; equal input gives equal output.
//
// Source: scheduling specification, scheduling algorithm.
package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Problem is everything a run looks at.
type Problem struct {
	// Resources names the entries of all vectors.
	Resources []string
	// Pods are to be placed. Order does not matter.
	Pods []*model.Pod
	// Nodes may receive pods and count against the limits of their pools. Order does not matter.
	Nodes []*model.Node
	// Others receive no pods (they are being deleted), but what runs there and stays counts for topology.
	Others []*model.Node
	// Closed are the IDs of nodes that receive no pods but those that are exempt, by UID.
	Closed, Exempt map[string]bool
	// Namespaces are the labels of the namespaces, by name, for terms that select namespaces by label.
	Namespaces map[string]map[string]string
	// Pools may launch, in any order; weight and name decide.
	Pools []*model.Pool
	// DaemonSets take room on every node they match.
	DaemonSets []*model.DaemonSet
	// Devices are what claims of pods are allocated from; nil refuses pods with claims.
	Devices *model.Devices
	Options Options
}

// Options are the policies of a run.
type Options struct {
	// WellKnown tells which labels a pool need not define for a pod to demand them.
	WellKnown func(key string) bool
	// Custom tells which labels end up on the NodeClaim with one concrete value: neither well-known nor restricted.
	Custom func(key string) bool
	// IgnorePreferences drops soft node affinity from the start.
	IgnorePreferences bool
	// BestEffortMinValues lowers minValues that cannot be met instead of refusing the pool.
	BestEffortMinValues bool
	// Reserved is what to do about reserved offerings; ReservationLabel is the label that names a reservation.
	Reserved         ReservedMode
	ReservationLabel string
	// MaxInstanceTypes is how many instance types a claim may list; 0 means 600.
	MaxInstanceTypes int
	// Whole keeps claims in one piece where several machines would be cheaper.
	Whole bool
	// Patience begins the time that one search for devices may take, and returns what tells when it is over. Nil never ends.
	Patience func() (over func() bool)
	// Stop is asked between placements; when it reports true the run ends with what it has. Nil never stops.
	Stop func() bool
}

const defaultMaxInstanceTypes = 600

func (o Options) maxInstanceTypes() int {
	if o.MaxInstanceTypes > 0 {
		return o.MaxInstanceTypes
	}
	return defaultMaxInstanceTypes
}
