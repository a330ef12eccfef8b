// Package report renders the result of a simulation for users: a document with a stable schema, and a table with the same
// content.
//
// Reports are sorted by content, or in the order of the plan, which is a function of the input: equal results give equal
// bytes. docs/simulate.md describes the fields; a field may be added under the same version, but none
// changes its meaning or is removed.
package report

// Version is the version of the schema.
const Version = "v1"

// Report is the document. Lists are never null.
type Report struct {
	// Version is that of the schema.
	Version string `json:"version"`
	Total   Total  `json:"total"`
	// Launches are the nodes to launch, identical ones in one entry, in the order they were planned.
	Launches []Launch `json:"launches"`
	// Placements are the pods that fit on existing nodes and launched NodeClaims, by node.
	Placements []Placement `json:"placements"`
	// Unschedulable are the pods that fit no node, in groups with equal reasons.
	Unschedulable []Refusal `json:"unschedulable"`
	// Ignored are the pods that were not scheduled.
	Ignored []Ignored `json:"ignored"`
	// UnusedPools are the NodePools from which no node could be launched.
	UnusedPools []UnusedPool `json:"unusedPools"`
	// SkippedObjects are objects that do not affect scheduling, as "<file>:<line>: <kind> <name>".
	SkippedObjects []string `json:"skippedObjects"`
	// Notes are assumptions and missing objects.
	Notes []string `json:"notes"`
}

// Total sums up the report.
type Total struct {
	// Nodes is how many would be launched.
	Nodes int `json:"nodes"`
	// PricePerHour is what these nodes cost together, in dollars.
	PricePerHour float64 `json:"pricePerHour"`
	// LowerBoundPerHour is a price that is proven to be the least any nodes for the same pods could cost, or below that. Gap is
	// the part of PricePerHour above it: no plan can save more.
	LowerBoundPerHour float64 `json:"lowerBoundPerHour"`
	Gap               float64 `json:"gap"`
	Pods              Pods    `json:"pods"`
}

// Pods counts pods by result.
type Pods struct {
	OnNewNodes      int `json:"onNewNodes"`
	OnExistingNodes int `json:"onExistingNodes"`
	Unschedulable   int `json:"unschedulable"`
	Ignored         int `json:"ignored"`
}

// Launch is a number of identical nodes.
type Launch struct {
	Count    int    `json:"count"`
	NodePool string `json:"nodePool"`
	// InstanceType is the cheapest that fits, Alternatives are the others that the launch may use instead, by price.
	InstanceType string   `json:"instanceType"`
	Alternatives []string `json:"alternatives"`
	// Zones and CapacityTypes are those in which the instance type has the price.
	Zones         []string `json:"zones"`
	CapacityTypes []string `json:"capacityTypes"`
	// PricePerHour is that of one node, in dollars.
	PricePerHour float64 `json:"pricePerHour"`
	// Requests are those of pods and DaemonSets on one node, as Kubernetes quantities.
	Requests map[string]string `json:"requests"`
	// Requirements are those of the launch beyond those of the NodePool, because of its pods or because no other offering is
	// available.
	Requirements []Requirement `json:"requirements"`
	// Labels are those that the node gets beyond the NodePool's template.
	Labels map[string]string `json:"labels"`
	// Workloads are the pods of one node, by workload.
	Workloads []Workload `json:"workloads"`
	// Nodes has the pods of each node.
	Nodes []Node `json:"nodes"`
}

// Requirement restricts the labels of a node.
type Requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
	// MinValues is how many distinct values have to stay available; omitted without minValues.
	MinValues int `json:"minValues,omitempty"`
}

// Workload is a number of pods of one controller. Kind is Pod for a pod that has none.
type Workload struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Pods      int    `json:"pods"`
}

// Node is one of the nodes to launch. Pods are namespace/name.
type Node struct {
	Pods []string `json:"pods"`
	// Devices are those that the pods' resource claims get on the cheapest instance type.
	Devices []Device `json:"devices,omitempty"`
}

// Device is a device that a resource claim gets. Claim is namespace/name. A request with alternatives is called after both,
// as request/alternative.
type Device struct {
	Claim   string `json:"claim"`
	Request string `json:"request"`
	Driver  string `json:"driver"`
	Pool    string `json:"pool"`
	Device  string `json:"device"`
	// Consumed is the consumed capacity of a shared device, by dimension.
	Consumed map[string]string `json:"consumed,omitempty"`
}

// Placement is the pods that one existing node takes.
type Placement struct {
	// Node is the name of the node; empty for a NodeClaim that has no node yet.
	Node string `json:"node"`
	// NodeClaim is the name of the claim behind it; empty for nodes that Karpenter did not launch.
	NodeClaim string `json:"nodeClaim"`
	// NodePool is empty for nodes of no pool.
	NodePool  string     `json:"nodePool"`
	Workloads []Workload `json:"workloads"`
	Pods      []string   `json:"pods"`
	// Devices are those that the pods' resource claims get.
	Devices []Device `json:"devices,omitempty"`
}

// Refusal is pods that fit no node for the same reasons.
type Refusal struct {
	Workloads []Workload `json:"workloads"`
	Pods      []string   `json:"pods"`
	Reasons   []Reason   `json:"reasons"`
}

// Reason is why pods do not fit one NodePool.
type Reason struct {
	// NodePool is empty where the reason is not about a pool.
	NodePool string `json:"nodePool"`
	// Code is one of the closed vocabulary, see docs/reference/reasons.md.
	Code string `json:"code"`
	// Message is the first constraint that failed, Detail has amounts and other details, Help is the remedy.
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
	Help    string `json:"help"`
	// Requirements and Requests are those beyond the NodePool that no instance type meets.
	Requirements []Requirement     `json:"requirements"`
	Requests     map[string]string `json:"requests"`
}

// Ignored is pods that were not scheduled, for the same reason.
type Ignored struct {
	Workloads []Workload `json:"workloads"`
	Pods      []string   `json:"pods"`
	Message   string     `json:"message"`
	// Invalid is set when the pods cannot be scheduled as they are.
	Invalid bool `json:"invalid"`
}

// UnusedPool is a NodePool from which no node could be launched.
type UnusedPool struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	// Help is the remedy; empty where the message contains it.
	Help string `json:"help"`
}

// Unplaced is how many pods are unschedulable: those that fit no node and those that are invalid.
func (r Report) Unplaced() int {
	n := r.Total.Pods.Unschedulable
	for _, i := range r.Ignored {
		if i.Invalid {
			n += len(i.Pods)
		}
	}
	return n
}
