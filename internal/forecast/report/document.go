// Package report renders forecasts for users: documents with a stable schema, and tables with the same content. docs/diff.md describes the
// fields; a field may be added under the same version, but none changes its meaning or is removed.
package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Version is the version of the schema.
const Version = "v1"

// Diff is what an edit changes. Lists are never null.
type Diff struct {
	// Version is that of the schema, Kind is Diff.
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Edited are the objects of the edit that differ from those of the cluster, or are not there.
	Edited []Edit `json:"edited"`
	// Without and With are the forecasts without and with the edit.
	Without Forecast `json:"without"`
	With    Forecast `json:"with"`
	Notes   []string `json:"notes"`
}

// Edit is an object of an edit.
type Edit struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Change    Change `json:"change"`
}

// Change is how an object of an edit differs from that of the cluster.
type Change string

// The changes. An object of Kubernetes itself is applied, and not compared: a snapshot does not have all of its fields.
const (
	Created   Change = "created"
	Changed   Change = "changed"
	Applied   Change = "applied"
	Unchanged Change = "unchanged"
)

// Forecast is what happens to nodes. Durations are in seconds, from Start. Lists are never null.
type Forecast struct {
	Start time.Time `json:"start"`
	// Now is the fleet at Start, After at the end.
	Now   Fleet `json:"now"`
	After Fleet `json:"after"`
	// Drifted is how many nodes have drifted at Start.
	Drifted int `json:"drifted"`
	// Removed and Launched are numbers of nodes, Moved is one of pods. A pod counts each time it moves.
	Removed  int `json:"removed"`
	Launched int `json:"launched"`
	Moved    int `json:"moved"`
	// Seconds is when the last command is done.
	Seconds int `json:"seconds"`
	// LaunchSeconds is how long a launch takes, LaunchLearned whether that is the median of the NodeClaims of the cluster.
	LaunchSeconds int  `json:"launchSeconds"`
	LaunchLearned bool `json:"launchLearned"`
	// Unschedulable is how many pods fit nowhere at the end.
	Unschedulable int `json:"unschedulable"`
	// WaitingForNodes is how many pods wait at the end for nodes that start.
	WaitingForNodes int `json:"waitingForNodes"`
	// Capped is how many of the unschedulable pods wait because of a cap on cost.
	Capped int `json:"capped"`
	// Moves is how many pods move, by workload, the most first.
	Moves    []Workload `json:"moves"`
	Commands []Command  `json:"commands"`
	// PendingLaunches are the nodes that are launched for pending pods.
	PendingLaunches []Node `json:"pendingLaunches"`
	// ReplicaLaunches are the nodes that are launched because static NodePools have fewer nodes than replicas.
	ReplicaLaunches []Node    `json:"replicaLaunches"`
	Blocked         []Blocked `json:"blocked"`
	// Approvals are the commands that a person has to approve first. When that happens is not known: they are not among Commands, and their nodes
	// count as they are now.
	Approvals []Approval `json:"approvals"`
	// Incomplete is why nodes are still disrupted at the end.
	Incomplete string   `json:"incomplete,omitempty"`
	Notes      []string `json:"notes"`
}

// Fleet is the nodes at one moment.
type Fleet struct {
	Nodes        int     `json:"nodes"`
	PricePerHour float64 `json:"pricePerHour"`
	// UnknownPrices is how many nodes have a price that is not known and is not in PricePerHour.
	UnknownPrices int            `json:"unknownPrices"`
	InstanceTypes map[string]int `json:"instanceTypes"`
}

// Workload is a number of pods of one controller. Kind is Pod for a pod that has none.
type Workload struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Pods      int    `json:"pods"`
}

// Node is a node that is launched.
type Node struct {
	NodePool     string  `json:"nodePool"`
	InstanceType string  `json:"instanceType"`
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	PricePerHour float64 `json:"pricePerHour"`
}

// Command is a set of nodes that are removed together.
type Command struct {
	Reason   string `json:"reason"`
	Decision string `json:"decision"`
	// AtSeconds is when it is decided, DoneSeconds when its nodes are gone.
	AtSeconds   int      `json:"atSeconds"`
	DoneSeconds int      `json:"doneSeconds"`
	Nodes       []string `json:"nodes"`
	NodePools   []string `json:"nodePools"`
	Launches    []Node   `json:"launches"`
	Pods        int      `json:"pods"`
	// SavesPerHour is in dollars; null where the price of a node is not known.
	SavesPerHour *float64 `json:"savesPerHour"`
}

// Approval is a command that an OperationsPolicy asks approval for.
type Approval struct {
	Reason   string `json:"reason"`
	Decision string `json:"decision"`
	// AtSeconds is when it is proposed.
	AtSeconds int      `json:"atSeconds"`
	Nodes     []string `json:"nodes"`
	NodePools []string `json:"nodePools"`
	// OperationsPolicy is the name of the policy, Message what it asks for.
	OperationsPolicy string `json:"operationsPolicy"`
	Message          string `json:"message"`
	// SavesPerHour is in dollars; null where a price is not known.
	SavesPerHour *float64 `json:"savesPerHour"`
}

// Blocked is a node that is not disrupted although there is a reason for it.
type Blocked struct {
	Node     string `json:"node"`
	NodePool string `json:"nodePool"`
	Reason   string `json:"reason"`
	// Code is one of a closed vocabulary, see docs/reference/obstacles.md.
	Code                 string   `json:"code"`
	Message              string   `json:"message"`
	Pod                  string   `json:"pod,omitempty"`
	PodDisruptionBudgets []string `json:"podDisruptionBudgets,omitempty"`
}

// Of is the document of a forecast.
func Of(f forecast.Forecast) Forecast {
	out := Forecast{
		Start: f.Start, Now: fleetOf(f.Before), After: fleetOf(f.After), Drifted: f.Drifted, Seconds: seconds(f.Duration()),
		LaunchSeconds: seconds(f.Launch), LaunchLearned: f.LaunchLearned, Unschedulable: f.Unplaced, WaitingForNodes: f.Waiting, Capped: f.Capped, Incomplete: f.Incomplete,
		Launched: len(f.Launches) + len(f.Replicas), PendingLaunches: nodesOf(f.Launches), ReplicaLaunches: nodesOf(f.Replicas),
		Moves: workloads(f.Moves()), Commands: []Command{}, Blocked: []Blocked{}, Approvals: []Approval{}, Notes: append([]string{}, f.Notes...),
	}
	for _, w := range out.Moves {
		out.Moved += w.Pods
	}
	for _, c := range f.Commands {
		out.Removed += len(c.Nodes)
		out.Launched += len(c.Launches)
		shown := Command{
			Reason: c.Reason, Decision: c.Decision, AtSeconds: seconds(c.At), DoneSeconds: seconds(c.Done), Nodes: c.Nodes, NodePools: c.Pools,
			Launches: nodesOf(c.Launches),
		}
		for _, n := range c.Moves {
			shown.Pods += n
		}
		if c.SavingsKnown {
			saves := dollarsOf(c.Savings)
			shown.SavesPerHour = &saves
		}
		out.Commands = append(out.Commands, shown)
	}
	for _, a := range f.Approvals {
		shown := Approval{
			Reason: a.Reason, Decision: a.Decision, AtSeconds: seconds(a.At), Nodes: a.Nodes, NodePools: a.Pools, OperationsPolicy: a.Policy, Message: a.Why,
		}
		if a.SavingsKnown {
			saves := dollarsOf(a.Savings)
			shown.SavesPerHour = &saves
		}
		out.Approvals = append(out.Approvals, shown)
	}
	for _, b := range f.Blocked {
		out.Blocked = append(out.Blocked, Blocked{
			Node: b.Node, NodePool: b.Pool, Reason: b.Reason, Code: b.Code, Message: b.Message, Pod: b.Pod, PodDisruptionBudgets: b.PodDisruptionBudgets,
		})
	}
	return out
}

// dollarsOf removes rounding errors of sums: no price has more than six decimals.
func dollarsOf(price float64) float64 { return math.Round(price*1e6) / 1e6 }

func seconds(d time.Duration) int { return int(d.Round(time.Second) / time.Second) }

func fleetOf(f forecast.Fleet) Fleet {
	return Fleet{Nodes: f.Nodes, PricePerHour: dollarsOf(f.Price), UnknownPrices: f.Unpriced, InstanceTypes: f.Types}
}

func nodesOf(list []forecast.Node) []Node {
	out := make([]Node, len(list))
	for i, n := range list {
		out[i] = Node{NodePool: n.Pool, InstanceType: n.InstanceType, Zone: n.Zone, CapacityType: n.CapacityType, PricePerHour: dollarsOf(n.Price)}
	}
	return out
}

func workloads(moves map[simulation.Owner]int) []Workload {
	out := make([]Workload, 0, len(moves))
	for o, n := range moves {
		out = append(out, Workload{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Pods: n})
	}
	slices.SortFunc(out, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
	})
	return out
}
