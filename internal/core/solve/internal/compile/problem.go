// Package compile turns a Problem into the input of placing: classes of pods with the levels of their relaxation, topology groups with
// their counts, templates of pools with label states, existing nodes, and open nodes.
//
// The common parts of pods are compiled once: pods with equal requirements are one class, equal requirements one conjunction, equal
// label states of open nodes one state. Base forks a compiled problem for what-ifs.
package compile

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
	// ExcludedNodes receive no pods because they are being deleted. Pods that stay on them, and the
	// nodes themselves, count for topology.
	ExcludedNodes []*model.Node
	// DrainTaints are those that ExcludedNodes have, or get at any moment, besides their own.
	DrainTaints []model.Taint
	// Cordoned are the IDs of nodes that receive no pods but those of CordonExempt, by pod UID.
	Cordoned, CordonExempt map[string]bool
	// Destinations are the only places for some pods, by UID: the ID of a node, cordoned or not, or NewNode.
	Destinations map[string]string
	// First are the UIDs of pods that are tried before all others.
	First map[string]bool
	// PodGroups are the groups that exist, by ID; nil where pods have no groups, whatever they say.
	PodGroups *model.Index[*model.PodGroup]
	// Namespaces are the labels of the namespaces, by name, for terms that select namespaces by label.
	Namespaces map[string]map[string]string
	// Pools may launch, in any order; weight and name decide.
	Pools []*model.Pool
	// Skipped are the other pools.
	Skipped []model.SkippedPool
	// DaemonSets take resources on every node they match.
	DaemonSets []*model.DaemonSet
	// Devices are the inventory for the ResourceClaims of pods; nil rejects pods with ResourceClaims.
	Devices *model.Devices
	Options Options
}

// NewNode is the destination of pods that run on nodes to be launched.
const NewNode = ""

// Options are the policies of a run.
type Options struct {
	// WellKnown reports the labels that a pod may require without the pool defining them.
	WellKnown func(key string) bool
	// Custom reports the labels that a NodeClaim carries with one concrete value: neither well-known nor restricted.
	Custom func(key string) bool
	// Preferences is what may be launched for preferences of pods.
	Preferences model.PreferencePolicy
	// BestEffortMinValues relaxes minValues that cannot be met instead of rejecting the pool.
	BestEffortMinValues bool
	// Reserved is the policy for reserved offerings; ReservationLabel is the label that names a reservation.
	Reserved         ReservedMode
	ReservationLabel string
	// DeclaredFeatures keeps pods off nodes that do not declare the features that they need.
	DeclaredFeatures bool
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

// OpensForPreferences reports whether a node may be opened for a preference alone.
func (o Options) OpensForPreferences() bool {
	return o.Preferences != model.EconomicalPreferences && o.Preferences != model.IgnorePreferences
}
