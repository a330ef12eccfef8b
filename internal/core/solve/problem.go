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
// resources. Small problems with constraints between pods are solved with several strategies, see cheapest.
//
// Invariant: the set of instance types of an open node only shrinks. A class that an open node, an existing node or a pool
// rejects once is rejected for the rest of the round, so each class keeps a cursor and never asks again. Classes whose
// affinity later placements may satisfy are queued for another round, until a round places nothing.
//
// Cost: O(runs × (nodes + open nodes)) lookups, plus O(columns) per placement. Solve is a pure function: no clock, no
// client, no randomness; equal input gives equal output.
//
// Source: scheduling specification, scheduling algorithm.
package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/diagnose"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
)

// Problem is the input of a run: pods, nodes, pools and DaemonSets. Package compile has its fields.
type Problem = compile.Problem

// Options are the policies of a run.
type Options = compile.Options

// NewNode is the destination of pods that run on nodes to be launched.
const NewNode = compile.NewNode

// ReservedMode is the policy for reserved offerings.
type ReservedMode = compile.ReservedMode

// The policies for reserved offerings.
const (
	// ReservedIgnored treats reserved offerings as ordinary ones.
	ReservedIgnored = compile.ReservedIgnored
	// ReservedStrict defers pods that could use a reservation which other NodeClaims of this run may still give back.
	ReservedStrict = compile.ReservedStrict
	// ReservedFallback uses reservations as long as they last and ordinary offerings after that.
	ReservedFallback = compile.ReservedFallback
)

// UnschedulablePods are pods that fit nowhere for the same reasons.
type UnschedulablePods = diagnose.UnschedulablePods

// ZoneCount is how many pending pods can run in one zone only, in several (ZoneFlexible) or in none (ZoneNone).
type ZoneCount = place.ZoneCount

// Zones that are not one zone.
const (
	// ZoneFlexible stands for several zones, or any.
	ZoneFlexible = place.ZoneFlexible
	// ZoneNone stands for no zone at all.
	ZoneNone = place.ZoneNone
)
