// Package view has what people look at: the fleet, one node, pending pods, disruption commands, cost and NodePools, at one moment.
//
// Each view is a document with a stable schema: the console shows it, serves it as JSON, and karpenter top draws it. docs/reference/console.md
// describes the fields; a field may be added under the same version, but none changes its meaning or is removed. Lists are never null.
//
// The views of the present are computed from the objects of a cluster by the engine; those of the past are rebuilt from the decision ledger,
// which does not know pods: Unknown of each view says what it leaves out.
package view

import (
	"context"
	"errors"
	"time"

	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	simulated "github.com/karpenter-anew/karpenter/internal/simulation/report"
)

// Version is the version of the schema.
const Version = "v1"

// ErrNotFound means that there is no such object, or not at that moment.
var ErrNotFound = errors.New("not found")

// ErrInvalid means that a question cannot be answered as it is asked.
var ErrInvalid = errors.New("invalid question")

// Source computes views. A zero time means now; at any other time it is the view at that moment, as far as the ledger covers it, or an error
// that says which period it covers.
type Source interface {
	// Fleet is all nodes.
	Fleet(ctx context.Context, at time.Time) (Fleet, error)
	// Node is one node, by the name of its Node or of its NodeClaim. The error wraps ErrNotFound when there is none.
	Node(ctx context.Context, name string, at time.Time) (NodeDetail, error)
	// Pending are the pods that wait for a node.
	Pending(ctx context.Context, at time.Time) (Pending, error)
	// Moves are disruption commands and budgets.
	Moves(ctx context.Context, at time.Time) (Moves, error)
	// Cost is the price of the fleet, now and over time.
	Cost(ctx context.Context, at time.Time) (Cost, error)
	// Pools are the NodePools.
	Pools(ctx context.Context, at time.Time) (Pools, error)
	// Edit is what manifests, as YAML, would change: the answer of karpenter diff. It applies nothing.
	Edit(ctx context.Context, manifests []byte) (report.Diff, error)
	// Manifests are the NodePools and node classes of the cluster as YAML, to be edited.
	Manifests(ctx context.Context) ([]byte, error)
	// Timeline is what the ledger covers, for the choice of a moment.
	Timeline(ctx context.Context) (Timeline, error)
	// Changes sends the revision of the present whenever a view of it may have changed, until ctx ends. The
	// first value is sent at once.
	Changes(ctx context.Context) <-chan uint64
}

// Head is what all views begin with.
type Head struct {
	// Version is that of the schema, Kind the name of the view: Fleet, Node, Pending, Moves, Cost, Pools or Timeline.
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// At is the moment of the view.
	At time.Time `json:"at"`
	// Past is set when it was asked for a moment, and rebuilt from the ledger.
	Past bool `json:"past"`
	// Revision changes when the objects of the cluster do; 0 for the past.
	Revision uint64 `json:"revision"`
	// Origin is where the view comes from, for a title: the name of a cluster or of a file.
	Origin string `json:"origin"`
	// Failure is why the cluster could not be read again since; empty if it could.
	Failure string `json:"failure,omitempty"`
	// Unknown is what the view does not know or leaves out, as sentences.
	Unknown []string `json:"unknown"`
}

// State is the state of a node.
type State string

// The states of nodes, in the order of their life.
const (
	// Launching: the NodeClaim exists, but not its Node.
	Launching State = "launching"
	// Starting: the Node exists, but is not ready for pods.
	Starting State = "starting"
	// Ready nodes take pods.
	Ready State = "ready"
	// Blocked nodes are ready; there is a reason to disrupt them, and an obstacle.
	Blocked State = "blocked"
	// NotReady nodes were ready, and their condition Ready is not true now.
	NotReady State = "not-ready"
	// Disrupting nodes are part of a command under way: they take no pods.
	Disrupting State = "disrupting"
	// Draining nodes are being deleted.
	Draining State = "draining"
)

// Amounts are amounts of the resources that all nodes have.
type Amounts struct {
	// CPU is in thousandths of a core, Memory in bytes.
	CPU    int64 `json:"cpu"`
	Memory int64 `json:"memory"`
	Pods   int64 `json:"pods"`
}

// Node is one node of the fleet.
type Node struct {
	// Name is that of the Node, or that of the NodeClaim while there is none. NodeClaim is empty for nodes that Karpenter does not manage.
	Name      string `json:"name"`
	NodeClaim string `json:"nodeClaim,omitempty"`
	NodePool  string `json:"nodePool,omitempty"`
	// InstanceType, Zone and CapacityType are those of the instance; empty before the launch.
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	CapacityType string `json:"capacityType,omitempty"`
	State        State  `json:"state"`
	// PricePerHour is in dollars; null when it is not known.
	PricePerHour *float64  `json:"pricePerHour"`
	Created      time.Time `json:"created"`
	// Allocatable is what pods can use, Requested what its pods request, those of DaemonSets included. Requested is null for the past.
	Allocatable Amounts  `json:"allocatable"`
	Requested   *Amounts `json:"requested"`
	// Reason is why there is a reason to disrupt the node, such as Drifted; empty for none. Obstacle is the code of docs/reference/obstacles.md
	// that prevents it.
	Reason   string `json:"reason,omitempty"`
	Obstacle string `json:"obstacle,omitempty"`
	// Labels are those of the Node.
	Labels map[string]string `json:"labels,omitempty"`
}

// Fleet is all nodes.
type Fleet struct {
	Head
	Nodes  []Node `json:"nodes"`
	Totals Totals `json:"totals"`
}

// Totals are sums over nodes.
type Totals struct {
	Nodes   int `json:"nodes"`
	Pending int `json:"pending"`
	// PricePerHour is in dollars, without that of UnknownPrices nodes whose price is not known.
	PricePerHour  float64  `json:"pricePerHour"`
	UnknownPrices int      `json:"unknownPrices"`
	Allocatable   Amounts  `json:"allocatable"`
	Requested     *Amounts `json:"requested"`
	// States counts nodes by state.
	States map[State]int `json:"states"`
}

// NodeDetail is one node, with its pods and its life.
type NodeDetail struct {
	Head
	Node
	// Pods are those on the node, largest first.
	Pods []Pod `json:"pods"`
	// Why is why the node was launched, from the ledger; null when the ledger does not know.
	Why *Why `json:"why"`
	// Explanation is why it is removed or not, as karpenter explain node answers; null for the past and for nodes that Karpenter does not manage.
	Explanation *explain.Node `json:"explanation"`
	// Life are the records of the ledger about the node, oldest first.
	Life []ledger.Record `json:"life"`
}

// Pod is a pod on a node.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the object that controls it, as Kind namespace/name.
	Workload string    `json:"workload"`
	Requests Amounts   `json:"requests"`
	Created  time.Time `json:"created"`
	Daemon   bool      `json:"daemon"`
}

// Why is why a node was launched.
type Why struct {
	// Reason is that of karpenter_nodeclaims_created_total, Command the ID of the disruption command, if there was one.
	Reason  string    `json:"reason"`
	Command string    `json:"command,omitempty"`
	At      time.Time `json:"at"`
	// Pods are those that it was launched for.
	Pods ledger.Names `json:"pods"`
}

// Pending are the pods without a node.
type Pending struct {
	Head
	// Groups are pods that wait for the same reasons, the most pods first.
	Groups []PendingGroup `json:"groups"`
	// Planned are nodes that would be launched, or are under way, for pods.
	Planned []PlannedNode `json:"planned"`
}

// PendingGroup are pods that wait for the same reasons.
type PendingGroup struct {
	// State is what is done for them: Refused, Nominated (a node has a place), Pending (a node would be launched) or Idle (not considered).
	State explain.State `json:"state"`
	// Pods are as namespace/name, Workloads the objects that control them.
	Pods      []string `json:"pods"`
	Workloads []string `json:"workloads"`
	// Oldest is when the oldest of them was created.
	Oldest time.Time `json:"oldest"`
	// Fate is what karpenter explain pod answers for the first of them: for refused ones the reason of each NodePool, the nearest first.
	Fate simulated.Fate `json:"fate"`
}

// PlannedNode is a node that is launched for pods.
type PlannedNode struct {
	// NodeClaim is empty for a node that would be launched.
	NodeClaim string `json:"nodeClaim,omitempty"`
	NodePool  string `json:"nodePool"`
	// InstanceTypes are the candidates, cheapest first; PricePerHour is that of the first, in dollars, null when it is not known.
	InstanceTypes ledger.Names `json:"instanceTypes"`
	PricePerHour  *float64     `json:"pricePerHour"`
	Pods          ledger.Names `json:"pods"`
}

// CommandState is how far a disruption command is.
type CommandState string

// The states of commands.
const (
	// Proposed commands would be decided now.
	Proposed CommandState = "proposed"
	// Waiting commands wait for their validation.
	Waiting CommandState = "waiting"
	// UnderWay commands have marked their nodes.
	UnderWay CommandState = "under-way"
	// Succeeded, Failed and Rejected commands are done.
	Succeeded CommandState = "succeeded"
	Failed    CommandState = "failed"
	Rejected  CommandState = "rejected"
)

// Moves are disruption commands and budgets.
type Moves struct {
	Head
	// Commands are proposed ones first, then those that wait or are under way, then the newest 100 that are done.
	Commands []Command `json:"commands"`
	// Plans are the DisruptionPlans of the ledger, those that are not decided first, then the newest; at most 100.
	Plans []Plan    `json:"plans"`
	Pools []Budgets `json:"pools"`
}

// Plan is a DisruptionPlan, as of its last record in the ledger.
type Plan struct {
	Name string `json:"name"`
	// Phase is Proposed, Approved, Rejected, Voided or another phase of the object.
	Phase string `json:"phase"`
	// Reason is that of the disruption, Decision what happens to the nodes, Policy the OperationsPolicy that asks for approval.
	Reason    string   `json:"reason"`
	Decision  string   `json:"decision"`
	Policy    string   `json:"policy,omitempty"`
	Nodes     []string `json:"nodes"`
	NodePools []string `json:"nodePools"`
	// Proposed is when it was proposed, null if that is before the ledger begins; Changed is when it came into the phase.
	Proposed *time.Time `json:"proposed"`
	Changed  time.Time  `json:"changed"`
	// By is who approved or rejected it, Why why it came into the phase.
	By  string `json:"by,omitempty"`
	Why string `json:"why,omitempty"`
}

// Command is a disruption command.
type Command struct {
	// ID is empty for one that is proposed, or whose ledger is not known.
	ID        string       `json:"id,omitempty"`
	State     CommandState `json:"state"`
	Reason    string       `json:"reason"`
	Decision  string       `json:"decision"`
	Nodes     []string     `json:"nodes"`
	NodePools []string     `json:"nodePools"`
	// Replacements are instance types, or names of NodeClaims once they are created.
	Replacements []string `json:"replacements"`
	// Pods is how many pods have to move.
	Pods int `json:"pods"`
	// SavesPerHour is in dollars; null when it is not known.
	SavesPerHour *float64 `json:"savesPerHour"`
	// Decided is when it was decided, Due when a waiting one is validated, Started when it was found valid, Ended when it was done; null where
	// that is not known or has not happened.
	Decided *time.Time `json:"decided"`
	Due     *time.Time `json:"due"`
	Started *time.Time `json:"started"`
	Ended   *time.Time `json:"ended"`
	// WaitsFor is what one that is under way waits for, as text; empty where that is not known.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Plan is the name of the approved DisruptionPlan that it is from.
	Plan string `json:"plan,omitempty"`
	// Approval is what asks for approval of a proposed one, which only a person can start.
	Approval *explain.Approval `json:"approval,omitempty"`
	// Error is why it failed or was rejected.
	Error string `json:"error,omitempty"`
}

// Budgets are the disruption budgets of a NodePool, and who uses them.
type Budgets struct {
	NodePool   string               `json:"nodePool"`
	Nodes      int                  `json:"nodes"`
	Budgets    []explain.Budget     `json:"budgets"`
	Allowances []explain.Allowance  `json:"allowances"`
	Disrupting []explain.Disrupting `json:"disrupting"`
}

// Cost is the price of the fleet in dollars per hour.
type Cost struct {
	Head
	Now Priced `json:"now"`
	// ByNodePool, ByZone, ByCapacityType and ByInstanceType divide Now, the most expensive first.
	ByNodePool     []Priced `json:"byNodePool"`
	ByZone         []Priced `json:"byZone"`
	ByCapacityType []Priced `json:"byCapacityType"`
	ByInstanceType []Priced `json:"byInstanceType"`
	// Series is the price over time, from the ledger, oldest first; at most 1 000 points.
	Series []Point `json:"series"`
	// Bound is what the pods of the cluster would cost if they were packed anew, and the least that any packing costs; null when not computed.
	Bound *Bound `json:"bound"`
	// Savings are the claims of savings by reason, from the ledger.
	Savings []Saved `json:"savings"`
	// Workloads are the most expensive ones, at most 50: each pod bears its share of its node's price, by the larger of its shares of cpu and
	// memory among the pods of the node. Price of unused capacity is borne in proportion.
	Workloads []WorkloadCost `json:"workloads"`
}

// Priced is the price of some nodes.
type Priced struct {
	Name  string `json:"name,omitempty"`
	Nodes int    `json:"nodes"`
	// PricePerHour is in dollars, without that of UnknownPrices nodes whose price is not known.
	PricePerHour  float64 `json:"pricePerHour"`
	UnknownPrices int     `json:"unknownPrices"`
}

// Point is the price of the fleet at one moment.
type Point struct {
	At            time.Time `json:"at"`
	PricePerHour  float64   `json:"pricePerHour"`
	UnknownPrices int       `json:"unknownPrices"`
	Nodes         int       `json:"nodes"`
	// ByNodePool, ByZone and ByCapacityType divide PricePerHour.
	ByNodePool     map[string]float64 `json:"byNodePool"`
	ByZone         map[string]float64 `json:"byZone"`
	ByCapacityType map[string]float64 `json:"byCapacityType"`
}

// Bound compares the fleet with what its pods need.
type Bound struct {
	// Packed is the price of the plan for all pods on an empty cluster, Least a price that no plan undercuts, in dollars per hour.
	Packed float64 `json:"packed"`
	Least  float64 `json:"least"`
	// GapPercent is by how much Packed may be above the cheapest plan.
	GapPercent float64 `json:"gapPercent"`
	// Unplaced is how many pods the plan has no place for.
	Unplaced int `json:"unplaced"`
}

// Saved are the claims of savings with one reason.
type Saved struct {
	Reason string `json:"reason"`
	// PerHour is what claims save that count now, in dollars per hour; Dollars what they and earlier ones saved in the period of the ledger.
	PerHour float64 `json:"perHour"`
	Dollars float64 `json:"dollars"`
	// Commands is how many commands, Unpriced how many of them are not counted because a price is not known.
	Commands int `json:"commands"`
	Unpriced int `json:"unpriced"`
}

// WorkloadCost is what the pods of one workload cost.
type WorkloadCost struct {
	Workload     string  `json:"workload"`
	Pods         int     `json:"pods"`
	PricePerHour float64 `json:"pricePerHour"`
}

// Pools are the NodePools.
type Pools struct {
	Head
	Pools []Pool `json:"pools"`
}

// Pool is a NodePool.
type Pool struct {
	// NodePool is what karpenter explain nodepool answers.
	explain.NodePool
	Weight     int32       `json:"weight"`
	NodeClass  string      `json:"nodeClass"`
	Conditions []Condition `json:"conditions"`
	// Drifted is how many of its nodes have drifted.
	Drifted int `json:"drifted"`
	// Unavailable are the offerings of its instance types that cannot be launched, those whose end is known first; UnavailableCount is the number
	// of all, the list at most 50.
	Unavailable      []Offering `json:"unavailable"`
	UnavailableCount int        `json:"unavailableCount"`
}

// Condition is a condition of an object.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// Offering is an offering that cannot be launched.
type Offering struct {
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// Until is when it is available again unless launches fail again, Why the reason; null and empty when the cloud does not say.
	Until *time.Time `json:"until"`
	Why   string     `json:"why,omitempty"`
}

// Timeline is what the ledger covers.
type Timeline struct {
	Head
	// From and To are the first and the last moment that can be asked for; null without records.
	From *time.Time `json:"from"`
	To   *time.Time `json:"to"`
	// Gaps are the periods between in which no controller kept records.
	Gaps []Gap `json:"gaps"`
	// Moments are decisions worth a look, oldest first, at most 1 000: commands, plans, launches, starts.
	Moments []Moment `json:"moments"`
}

// Gap is a period without records.
type Gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Moment is a decision.
type Moment struct {
	At time.Time `json:"at"`
	// Kind is that of the record, Text one line about it.
	Kind ledger.Kind `json:"kind"`
	Text string      `json:"text"`
}
