// Package problem builds what the engine is asked: the input of the solver and of the disruption simulator, from a snapshot
// of the cluster and the objects that a snapshot does not hold. The controllers, simulate, explain, the scenarios and the
// benchmarks all build it here, so that they ask the same question about the same cluster.
//
// Nothing here decides, logs or publishes anything.
//
// Source: scheduling specification, building the scheduler input.
package problem

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/prediction"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// Reader reads the objects that a snapshot does not hold. What it returns is shared and must not be changed.
type Reader interface {
	// NodePools are all NodePools, in any order.
	NodePools(ctx context.Context) ([]*v1.NodePool, error)
	// PodsOn are the pods that are bound to a node.
	PodsOn(ctx context.Context, node string) ([]*corev1.Pod, error)
	// DisruptionBudgets are all PodDisruptionBudgets, in any order.
	DisruptionBudgets(ctx context.Context) ([]policyv1.PodDisruptionBudget, error)
}

// PodTranslator translates pods as the snapshot has them, with their volumes and default constraints.
type PodTranslator interface {
	Translate(pod *corev1.Pod) *model.Pod
}

// Builder builds inputs. It keeps nothing but what Catalogs remember, and is safe for concurrent use if its parts are.
type Builder struct {
	Reader     Reader
	Pods       PodTranslator
	Cloud      cloud.Cloud
	Translator *translate.Translator
	Catalogs   *translate.Catalogs
	Policy     Policy
	// Caps are the caps on cost; nil for none.
	Caps CostCaps
	// Predictions are what autoscalers will make the pods of workloads request; nil for nothing.
	Predictions *prediction.Store
}

// Policy is what the flags of the controller, or of a tool, say about scheduling.
type Policy struct {
	// Preferences is what may be launched for preferences of pods.
	Preferences model.PreferencePolicy
	// BestEffortMinValues lowers minValues that cannot be met instead of refusing the pool.
	BestEffortMinValues bool
	// ReservedCapacity uses reserved offerings; they are ignored otherwise.
	ReservedCapacity bool
	// MaxInstanceTypes is how many instance types a NodeClaim may list; 0 means the limit of the cloud, or else 600.
	MaxInstanceTypes int
	// SpotToSpot lets consolidation replace spot nodes by spot nodes.
	SpotToSpot bool
	// OpensDestinations lets consolidation move pods to nodes that are within the consolidateAfter of their pool.
	OpensDestinations bool
	// DeviceTimeout starts the timeout of one search for devices and returns a function that reports its expiry. Nil never
	// expires.
	DeviceTimeout func() (over func() bool)
}

// Input is what the solver is asked for the pods that need a node, with what is needed to act on the answer.
type Input struct {
	Problem solve.Problem
	// Rejected are pods that need a node and cannot be considered: pending ones sorted by UID, then those of nodes being deleted.
	Rejected []*model.Pod
	// Pools are those of the problem as objects, and those that were left out.
	Pools Pools
	// Unreadable says which PodDisruptionBudgets cannot be read and are not considered; nil when all can.
	Unreadable error
}

// Provisioning is the complete input for the pods that need a node at the moment now. Source: scheduling specification, one
// provisioning iteration.
func (b Builder) Provisioning(ctx context.Context, snapshot *model.Snapshot, now time.Time) (Input, error) {
	in, err := b.WithoutPools(ctx, snapshot, now)
	if err != nil {
		return Input{}, err
	}
	return in, b.AddPools(ctx, snapshot, &in)
}

// WithoutPools is the input without the pools, for callers that take pods out of it first: listing instance types is wasted
// when no pod remains. AddPools completes it.
func (b Builder) WithoutPools(ctx context.Context, snapshot *model.Snapshot, now time.Time) (Input, error) {
	in, leaving := b.input(snapshot, solve.ReservedStrict)
	if len(leaving) > 0 {
		list, err := b.Reader.DisruptionBudgets(ctx)
		if err != nil {
			return Input{}, fmt.Errorf("listing pod disruption budgets: %w", err)
		}
		budgets, unreadable := podrules.NewBudgets(list)
		in.Unreadable = unreadable
		if err := b.addMoving(ctx, &in, leaving, budgets, now); err != nil {
			return Input{}, err
		}
	}
	var err error
	in.Problem.Nodes, err = b.expectStaticCapacity(ctx, in.Problem.Nodes)
	return in, err
}

// AddPools adds the pools that may launch.
func (b Builder) AddPools(ctx context.Context, snapshot *model.Snapshot, in *Input) error {
	var err error
	if in.Pools, err = b.pools(ctx, snapshot.Learned); err != nil {
		return err
	}
	if err := b.capCosts(ctx, snapshot.Resources, in.Pools); err != nil {
		return err
	}
	in.Problem.Pools, in.Problem.Skipped = in.Pools.Usable, in.Pools.forReasons()
	// The pools may offer resources that the snapshot did not know.
	in.Problem.Pods = b.Translator.OfferedPods(in.Problem.Pods)
	in.Problem.DaemonSets = b.Translator.OfferedDaemonSets(in.Problem.DaemonSets)
	in.Problem.Resources = snapshot.Resources.Names()
	return nil
}

// input is the input without pools and without the pods that leave a node, and the nodes being deleted that still have pods,
// sorted by ID. reserved is what becomes of reserved offerings where these are used.
func (b Builder) input(snapshot *model.Snapshot, reserved solve.ReservedMode) (in Input, leaving []*model.Node) {
	opts := solve.Options{
		WellKnown: b.Translator.WellKnown, Custom: b.Translator.Custom,
		Preferences: b.Policy.Preferences, BestEffortMinValues: b.Policy.BestEffortMinValues,
		Reserved: reserved, ReservationLabel: b.Cloud.ReservationIDLabel,
		MaxInstanceTypes: b.Policy.MaxInstanceTypes, DeviceTimeout: b.Policy.DeviceTimeout,
	}
	if !b.Policy.ReservedCapacity {
		opts.Reserved = solve.ReservedIgnored
	}
	if opts.MaxInstanceTypes == 0 {
		opts.MaxInstanceTypes = b.Cloud.MaxInstanceTypes
	}
	in.Problem = solve.Problem{
		Resources:   snapshot.Resources.Names(),
		DaemonSets:  daemonSets(snapshot),
		Namespaces:  snapshot.Namespaces,
		PodGroups:   snapshot.PodGroups,
		Devices:     snapshot.Devices,
		Options:     opts,
		DrainTaints: []model.Taint{{Key: v1.DisruptedTaintKey, Effect: model.NoSchedule}},
		Pods:        make([]*model.Pod, 0, snapshot.Pending.Len()+len(snapshot.Virtual)),
	}
	for _, pod := range withVolumesFree(snapshot) {
		if pod.Rejected != "" {
			in.Rejected = append(in.Rejected, pod)
			continue
		}
		in.Problem.Pods = append(in.Problem.Pods, pod)
	}
	in.Problem.Pods = append(in.Problem.Pods, snapshot.Virtual...)
	for _, n := range snapshot.Nodes.Sorted() {
		switch {
		case !n.Deleting:
			in.Problem.Nodes = append(in.Problem.Nodes, n)
		case n.NodeName != "":
			in.Problem.ExcludedNodes = append(in.Problem.ExcludedNodes, n)
			if len(n.Pods) > 0 {
				leaving = append(leaving, n)
			}
		}
	}
	in.Problem.Options.DeclaredFeatures = b.Translator.RequiresFeatures(snapshot)
	return in, leaving
}

// daemonSets are those that take capacity on nodes. Those that need devices cannot run anywhere while devices are ignored.
func daemonSets(snapshot *model.Snapshot) []*model.DaemonSet {
	all := snapshot.DaemonSets.Sorted()
	if snapshot.Devices != nil || !slices.ContainsFunc(all, func(d *model.DaemonSet) bool { return d.UsesDevices }) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(d *model.DaemonSet) bool { return d.UsesDevices })
}

// addMoving adds the pods on nodes being deleted that need another node now: those that may be evicted. Those that the engine
// cannot consider are rejected.
func (b Builder) addMoving(ctx context.Context, in *Input, leaving []*model.Node, budgets podrules.Budgets, now time.Time) error {
	for _, n := range leaving {
		pods, err := b.Reader.PodsOn(ctx, n.NodeName)
		if err != nil {
			return fmt.Errorf("listing the pods of node %q: %w", n.NodeName, err)
		}
		for _, pod := range pods {
			if !podrules.CurrentlyReschedulable(pod, budgets, now) {
				continue
			}
			if moved := b.Pods.Translate(pod); moved.Rejected == "" {
				in.Problem.Pods = append(in.Problem.Pods, moved)
			} else {
				in.Rejected = append(in.Rejected, moved)
			}
		}
	}
	return nil
}
