package ledger

import "time"

// Version is the version of the format. It grows when a reader of the earlier version would misunderstand a record; new fields alone do
// not change it.
const Version = 1

// Kind is what a Record is about, and the name of the field with its contents.
type Kind string

// The kinds of records.
const (
	KindStart        Kind = "start"
	KindFleet        Kind = "fleet"
	KindProvisioning Kind = "provisioning"
	KindDisruption   Kind = "disruption"
	KindCommand      Kind = "command"
	KindNodeClaim    Kind = "nodeclaim"
	KindSaving       Kind = "saving"
	KindPlan         Kind = "plan"
)

// Kinds are all kinds of records.
func Kinds() []Kind {
	return []Kind{KindStart, KindFleet, KindProvisioning, KindDisruption, KindCommand, KindNodeClaim, KindSaving, KindPlan}
}

// Record is one entry of the ledger. Exactly one of the fields from Start on is set: the one that Kind names.
type Record struct {
	// Version is the version of the format, 1.
	Version int `json:"v"`
	// Seq numbers the records of a directory, or of one process without a directory, from 1.
	Seq uint64 `json:"seq"`
	// Time is when the record was appended, on the clock of the controller.
	Time time.Time `json:"time"`
	// Kind names the field with the contents.
	Kind Kind `json:"kind"`
	// Lost is the number of records before this one, since the last one that was written, that are not on disk because the disk was
	// full, failed or slow. They may still be in memory.
	Lost uint64 `json:"lost,omitempty"`
	// Cut is the number of entries that were left out of lists, by the name of the list, because the record would have been too large.
	Cut map[string]int `json:"cut,omitempty"`

	// Start is the beginning of a term as leader.
	Start *Start `json:"start,omitempty"`
	// Fleet has the NodeClaims that existed.
	Fleet *Fleet `json:"fleet,omitempty"`
	// Provisioning is one pass over pods that need a node.
	Provisioning *Provisioning `json:"provisioning,omitempty"`
	// Disruption is one pass over nodes that may be removed.
	Disruption *Disruption `json:"disruption,omitempty"`
	// Command is what became of a disruption command.
	Command *CommandEvent `json:"command,omitempty"`
	// NodeClaim is an event in the life of a NodeClaim.
	NodeClaim *NodeClaimEvent `json:"nodeclaim,omitempty"`
	// Saving is a claim of savings.
	Saving *Saving `json:"saving,omitempty"`
	// Plan is what became of a DisruptionPlan.
	Plan *PlanEvent `json:"plan,omitempty"`
}

// Start is the beginning of a term of a process as leader. What happened between the last record before it and this one is not known.
type Start struct {
	// Run identifies the term.
	Run string `json:"run"`
	// Controller is the version of the controller, Commit its commit.
	Controller string `json:"controller,omitempty"`
	Commit     string `json:"commit,omitempty"`
	// Settings are those that change plans, by the name of the flag.
	Settings map[string]string `json:"settings,omitempty"`
}

// Names is a list of names that may be long.
type Names struct {
	// Count is the number of all names.
	Count int `json:"count"`
	// First are at most 20 of them.
	First []string `json:"first,omitempty"`
}

// MaxNames is the most names that Names lists.
const MaxNames = 20

// NamesOf lists names: the first 20 and the number of all.
func NamesOf(all []string) Names {
	return Names{Count: len(all), First: all[:min(len(all), MaxNames):min(len(all), MaxNames)]}
}

// Cost is the price of a fleet in dollars per hour.
type Cost struct {
	// Before is the sum of the known prices of the NodeClaims with an instance when the pass ended, without what it decided; those that are
	// being deleted count until they are gone. Prices are at most about two minutes old.
	Before float64 `json:"before"`
	// After is Before with what the pass decided: launches at the price of their cheapest candidate, and without the removed nodes.
	After float64 `json:"after"`
	// Unpriced is the number of NodeClaims and launches whose price is not known, which count as 0.
	Unpriced int `json:"unpriced,omitempty"`
}

// NodeClaimState is a NodeClaim at one moment.
type NodeClaimState struct {
	// Name is that of the NodeClaim, UID its identity: names may be used again.
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
	// Node is the name of its Node once that is registered.
	Node string `json:"node,omitempty"`
	// NodePool is the name of its NodePool.
	NodePool string `json:"nodepool,omitempty"`
	// InstanceType, Zone and CapacityType are those of the instance, from the launch on.
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	CapacityType string `json:"capacityType,omitempty"`
	// ProviderID identifies the instance, from the launch on.
	ProviderID string `json:"providerID,omitempty"`
	// Price is that of the instance in dollars per hour when the record was appended; absent if it is not known.
	Price *float64 `json:"price,omitempty"`
	// Allocatable is what pods can use, as quantities by resource, from the launch on.
	Allocatable map[string]string `json:"allocatable,omitempty"`
	// Phase is the last event in the life of the NodeClaim: created, launched, registered, initialized or deleting.
	Phase Phase `json:"phase,omitempty"`
}

// Fleet lists the NodeClaims that exist, after a start and every hour, so that the fleet can be rebuilt from records after it alone. A
// large fleet is split into several records.
type Fleet struct {
	// Part is the number of this record from 1, Parts that of all records of the list.
	Part  int `json:"part"`
	Parts int `json:"parts"`
	// NodeClaims are those of this part.
	NodeClaims []NodeClaimState `json:"nodeclaims"`
}
