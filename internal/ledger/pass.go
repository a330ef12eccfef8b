package ledger

import (
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// Pass is what the passes of provisioning and disruption have in common.
type Pass struct {
	// Input is a hash of the input of the pass, in hexadecimal: the snapshot of the cluster, and the NodePools with their instance types and
	// prices; for provisioning the pods to place, and for disruption the nodes in commands and those that are left alone after failures.
	// Passes of one run with equal hashes had the same input, but for the time and PodDisruptionBudgets. Hashes of different runs differ.
	Input string `json:"input"`
	// Snapshot is the version of the snapshot of the cluster.
	Snapshot uint64 `json:"snapshot"`
	// Seconds is how long the pass took.
	Seconds float64 `json:"seconds"`
	// Cost is the price of the fleet before and after the pass; absent until the controller knows all NodeClaims.
	Cost *Cost `json:"cost,omitempty"`
}

// Provisioning is one pass over pods that need a node. A pass without such pods is not recorded.
type Provisioning struct {
	Pass
	// Pods is the number of pods that were considered, Rejected that of pods that cannot be considered at all.
	Pods     int `json:"pods"`
	Rejected int `json:"rejected,omitempty"`
	// Nodes is the number of nodes, and of NodeClaims on their way, that were considered; NodePools are the pools that could launch.
	Nodes     int      `json:"nodes"`
	NodePools []string `json:"nodepools,omitempty"`
	// NodeClaims are those that the pass decided to create.
	NodeClaims []PlannedNodeClaim `json:"nodeclaims,omitempty"`
	// Placements are the pods that have a place on existing nodes.
	Placements []Placement `json:"placements,omitempty"`
	// Unschedulable are the pods that fit nowhere.
	Unschedulable []Unschedulable `json:"unschedulable,omitempty"`
	// Deferred is the number of pods that wait for a capacity reservation, Undecided that of pods that the pass had no time for.
	Deferred  int `json:"deferred,omitempty"`
	Undecided int `json:"undecided,omitempty"`
}

// PlannedNodeClaim is a NodeClaim that a pass decided to create.
type PlannedNodeClaim struct {
	// Name is that of the NodeClaim; empty if it was not created.
	Name string `json:"name,omitempty"`
	// NodePool is the name of its NodePool.
	NodePool string `json:"nodepool"`
	// Pods are those that the node is for, as namespace/name.
	Pods Names `json:"pods"`
	// InstanceTypes are the candidates, cheapest first.
	InstanceTypes Names `json:"instanceTypes"`
	// CapacityTypes and Zones are those that the launch may choose from; empty for any.
	CapacityTypes []string `json:"capacityTypes,omitempty"`
	Zones         []string `json:"zones,omitempty"`
	// Price is that of the cheapest candidate in dollars per hour; absent if it is not known.
	Price *float64 `json:"price,omitempty"`
	// Error is why it was not created.
	Error string `json:"error,omitempty"`
}

// Placement are pods that have a place on an existing node, or on a NodeClaim on its way.
type Placement struct {
	// Node and NodeClaim are the names of the objects; empty where there is none.
	Node      string `json:"node,omitempty"`
	NodeClaim string `json:"nodeclaim,omitempty"`
	// Pods are as namespace/name.
	Pods Names `json:"pods"`
}

// Unschedulable are pods that fit nowhere for the same reasons.
type Unschedulable struct {
	// Pods are as namespace/name.
	Pods Names `json:"pods"`
	// Reasons has one reason for each NodePool.
	Reasons []PoolReason `json:"reasons"`
}

// PoolReason is why pods do not fit a NodePool.
type PoolReason struct {
	// NodePool is the name of the pool; empty for reasons that concern all.
	NodePool string `json:"nodepool,omitempty"`
	// Code is one of docs/reference/reasons.md.
	Code unschedulable.Code `json:"code"`
	// Text is what events say.
	Text string `json:"text,omitempty"`
}

// Disruption is one pass over nodes that may be removed.
type Disruption struct {
	Pass
	// Nodes is the number of nodes that were considered, Candidates that of nodes that no obstacle to all methods keeps.
	Nodes      int `json:"nodes"`
	Candidates int `json:"candidates"`
	// Commands are those that the pass decided.
	Commands []Command `json:"commands,omitempty"`
	// LeftAlone says why nodes are in no command.
	LeftAlone []LeftAlone `json:"leftAlone,omitempty"`
	// Full is set when LeftAlone names all nodes, and not only those whose obstacle has changed: in the first pass of a run and every hour.
	Full bool `json:"full,omitempty"`
	// Error is why the pass is incomplete.
	Error string `json:"error,omitempty"`
}

// LeftAlone are the nodes that one method leaves alone for the same reason.
type LeftAlone struct {
	// Method is the name of the disruption method; empty for all methods.
	Method string `json:"method,omitempty"`
	// Code is one of docs/reference/obstacles.md.
	Code string `json:"code"`
	// Count is the number of all these nodes.
	Count int `json:"count"`
	// Nodes are the names of those for which the code is new since the last pass; of all of them where Full is set. It is the name of the
	// NodeClaim where there is no Node.
	Nodes []string `json:"nodes,omitempty"`
}

// Command is a disruption command as a pass decided it.
type Command struct {
	// ID identifies the command in other records and in log lines.
	ID string `json:"id"`
	// Method is the name of the disruption method, Reason its reason, and Decision what is done: delete, replace, terminate-first or
	// reboot.
	Method   string `json:"method"`
	Reason   string `json:"reason"`
	Decision string `json:"decision"`
	// Nodes are those that the command removes.
	Nodes []NodeClaimState `json:"nodes"`
	// Replacements are launched first.
	Replacements []PlannedNodeClaim `json:"replacements,omitempty"`
	// Pods is the number of pods that have to move.
	Pods int `json:"pods"`
	// SavingsPerHour is what the command is expected to save, in dollars per hour, if every launch is as cheap as possible.
	SavingsPerHour float64 `json:"savingsPerHour"`
}

// Outcome is what happened to a command.
type Outcome string

// The outcomes of commands.
const (
	// CommandRejected is for commands that were not valid any more when they were validated.
	CommandRejected Outcome = "rejected"
	// CommandStarted is for commands whose nodes are marked and whose replacements are created.
	CommandStarted Outcome = "started"
	// CommandSucceeded is for commands whose NodeClaims are deleted, or whose nodes are rebooted.
	CommandSucceeded Outcome = "succeeded"
	// CommandFailed is for commands that ended early.
	CommandFailed Outcome = "failed"
)

// CommandEvent is what happened to a disruption command.
type CommandEvent struct {
	// ID, Method, Reason and Decision are those of the command.
	ID       string `json:"id"`
	Method   string `json:"method"`
	Reason   string `json:"reason"`
	Decision string `json:"decision"`
	// Outcome is rejected, started, succeeded or failed.
	Outcome Outcome `json:"outcome"`
	// Nodes are the names of its Nodes, NodeClaims those of its NodeClaims, in the same order, NodePools those of their pools.
	Nodes      []string `json:"nodes,omitempty"`
	NodeClaims []string `json:"nodeclaims,omitempty"`
	NodePools  []string `json:"nodepools,omitempty"`
	// Launched are the names of the replacements.
	Launched []string `json:"launched,omitempty"`
	// Obstacles are what made the validation fail.
	Obstacles []NodeObstacle `json:"obstacles,omitempty"`
	// Error is why the command failed.
	Error string `json:"error,omitempty"`
}

// NodeObstacle is why a node is not disrupted.
type NodeObstacle struct {
	// Node is the name of the Node, or that of the NodeClaim where there is none.
	Node string `json:"node"`
	// Code is one of docs/reference/obstacles.md.
	Code string `json:"code"`
	// Text is what events say.
	Text string `json:"text,omitempty"`
}
