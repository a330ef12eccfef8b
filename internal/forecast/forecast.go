// Package forecast answers "what would Karpenter do to the nodes that exist?" without a cluster: which nodes it would remove or replace, in
// which order, how long that takes under disruption budgets, and what the nodes cost before and after.
//
// Problem: one pass of disruption is a pure function of a snapshot, but a change of a fleet takes many passes: commands have to wait for
// budgets, for consolidateAfter, and for the nodes of earlier commands; and which node is taken next depends on when the controller looks.
// Approach: discrete-event simulation of the controller (loop, command, provision) and of what it finds around it (environment). The cluster state
// is the store of the controllers, and the methods of package disrupt decide on it at the times at which the controller would. Between two
// decisions events change the objects: nodes join, pods leave and start, nodes are gone. Invariant: at every decision the cluster state is that
// which the controller would see if launches and terminations took the assumed time and pods started where the engine places them.
// Cost: one assessment of the cluster for each pass, and at most maxPasses passes.
//
// OperationsPolicies are evaluated at the time of each decision: a pass waits for a window to open, and what has to be approved is proposed and not
// done, since a forecast cannot know when a person approves.
//
// What is not forecast: workloads and prices that change, capacity that is not available, repair, expiration, interruptions, and whatever
// only a cloud provider decides, such as new images. Forecast.Notes names those of them that concern the cluster.
//
// The result is a pure function of its arguments.
package forecast

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// DefaultHorizon is how far a forecast looks ahead unless Options say otherwise.
const DefaultHorizon = 7 * 24 * time.Hour

// maxPasses is how many passes of disruption are simulated at most: a fleet whose nodes replace each other for ever ends there.
const maxPasses = 10_000

// Options are the settings of a forecast.
type Options struct {
	// Options are the policies of the controller. Now is when the forecast starts; it must not be zero.
	simulation.Options
	// Horizon is how far the forecast looks ahead; 0 for DefaultHorizon.
	Horizon time.Duration
	// Launch is how long it takes from the creation of a NodeClaim until its node is initialized; 0 for the median of the NodeClaims of the
	// cluster, or DefaultLaunch where there are none.
	Launch time.Duration
	// BatchIdle and BatchMax are the idle and the longest time of a batch of pods; 0 for the defaults of the controller.
	BatchIdle, BatchMax time.Duration
	// DriftedNodeClasses are the names of node classes whose nodes count as drifted, as after a change of the class or of its images. Whether such
	// a change makes nodes drift is not known without the cloud provider.
	DriftedNodeClasses []string
}

// DefaultLaunch is how long launches are assumed to take where the cluster has no NodeClaim to learn it from.
const DefaultLaunch = time.Minute

// Forecast is what happens to the nodes of a cluster.
type Forecast struct {
	// Start is when it begins.
	Start time.Time
	// Before is the fleet at the start, After the fleet once nothing more happens, or at the end of the horizon.
	Before, After Fleet
	// Commands are what is done to nodes, in the order in which it starts.
	Commands []Command
	// Launches are the nodes that are launched for pending pods, apart from those of static pools and the replacements of commands.
	Launches []Node
	// Replicas are the nodes that are launched because static NodePools have fewer nodes than replicas.
	Replicas []Node
	// Unplaced is how many pods fit nowhere at the end, Waiting how many wait then for nodes that start.
	Unplaced, Waiting int
	// Drifted is how many nodes have drifted at the start.
	Drifted int
	// Blocked are nodes for which a reason for disruption holds at the end and that are not disrupted, with what prevents it.
	Blocked []Blocked
	// Approvals are the commands that a person has to approve first, in the order in which they are proposed. When that happens is not known:
	// none of them is among Commands, and their nodes stay.
	Approvals []Approval
	// Capped is how many of the unplaced pods wait because of a cap on cost.
	Capped int
	// Incomplete is why things would go on after the end; empty where nothing more happens.
	Incomplete string
	// Launch is how long a launch takes, LaunchLearned whether that is the median of the NodeClaims of the cluster.
	Launch        time.Duration
	LaunchLearned bool
	// Notes are what the forecast leaves out.
	Notes []string
}

// Fleet is the managed nodes at one moment.
type Fleet struct {
	Nodes int
	// Price is the sum of the known prices in dollars an hour, Unpriced the number of nodes whose price is not known.
	Price    float64
	Unpriced int
	// Types is the number of nodes by instance type.
	Types map[string]int
	// Kinds is the number of nodes by all that tells one from another to those who pay for them.
	Kinds map[Kind]int
}

// Kind is what nodes have in common that cost the same.
type Kind struct{ Pool, InstanceType, Zone, CapacityType string }

// Node is a node that is launched.
type Node struct {
	Name, Pool, InstanceType, Zone, CapacityType string
	// Price is in dollars an hour.
	Price float64
	// Spec is that of the NodeClaim.
	Spec v1.NodeClaimSpec
}

// Command is a set of nodes that are removed or replaced together.
type Command struct {
	// Reason is that of the disruption, such as Drifted; Decision is delete, replace or terminate-first.
	Reason, Decision string
	// At is when it is decided, Done when its nodes are gone, both from the start.
	At, Done time.Duration
	// Nodes are the names of the nodes that are removed, Pools those of their NodePools.
	Nodes, Pools []string
	// Launches are the replacements.
	Launches []Node
	// Moves is how many pods move, by workload.
	Moves map[simulation.Owner]int
	// Savings are in dollars an hour; SavingsKnown is false where the price of a node is not known.
	Savings      float64
	SavingsKnown bool
}

// Approval is a command that an OperationsPolicy asks approval for.
type Approval struct {
	Reason, Decision string
	// At is when it is proposed, from the start.
	At time.Duration
	// Nodes are the names of the nodes that would be removed, Pools those of their NodePools.
	Nodes, Pools []string
	// Policy is the name of the policy, Why what it asks for.
	Policy, Why string
	// Savings are in dollars an hour; SavingsKnown is false where a price is not known.
	Savings      float64
	SavingsKnown bool
}

// Duration is how long it takes until the last command is done.
func (f Forecast) Duration() time.Duration {
	var end time.Duration
	for _, c := range f.Commands {
		end = max(end, c.Done)
	}
	return end
}

// Moves is how many pods move in all commands, by workload.
func (f Forecast) Moves() map[simulation.Owner]int {
	out := map[simulation.Owner]int{}
	for _, c := range f.Commands {
		for owner, n := range c.Moves {
			out[owner] += n
		}
	}
	return out
}

// Blocked is a node that is not disrupted although there is a reason for it.
type Blocked struct {
	Node, Pool, Reason string
	// Code is that of the obstacle, from the vocabulary of package disrupt, Message names it in a sentence.
	Code, Message string
	// Pod is the namespace/name of the pod that is the obstacle, PodDisruptionBudgets those of the budgets; empty for other obstacles.
	Pod                  string
	PodDisruptionBudgets []string
}

// Run forecasts what happens to the nodes among objects, which are those of a cluster or a snapshot. The objects are not changed.
func Run(ctx context.Context, objects []client.Object, c cloud.Cloud, opts Options) (Forecast, error) {
	if opts.Now.IsZero() {
		return Forecast{}, errors.New("a forecast needs the time at which it starts")
	}
	if opts.Horizon == 0 {
		opts.Horizon = DefaultHorizon
	}
	if opts.BatchIdle == 0 {
		opts.BatchIdle = defaultBatchIdle
	}
	if opts.BatchMax == 0 {
		opts.BatchMax = defaultBatchMax
	}
	r, err := newRun(ctx, objects, c, opts)
	if err != nil {
		return Forecast{}, err
	}
	if err := r.play(ctx); err != nil {
		return Forecast{}, err
	}
	return r.out, nil
}
