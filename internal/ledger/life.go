package ledger

// Phase is an event in the life of a NodeClaim.
type Phase string

// The events in the life of a NodeClaim, in their usual order.
const (
	// Created: the controller created the NodeClaim.
	Created Phase = "created"
	// Launched: the instance exists.
	Launched Phase = "launched"
	// Registered: the Node exists.
	Registered Phase = "registered"
	// Initialized: the Node is ready for pods.
	Initialized Phase = "initialized"
	// Disrupted: the controller deletes the NodeClaim, or reboots its node; the reason says why.
	Disrupted Phase = "disrupted"
	// Deleting: the NodeClaim is being deleted, by the controller or anyone else.
	Deleting Phase = "deleting"
	// Deleted: the NodeClaim is gone.
	Deleted Phase = "deleted"
)

// NodeClaimEvent is an event in the life of a NodeClaim. Fields that the event does not change may be empty.
type NodeClaimEvent struct {
	// Event is created, launched, registered, initialized, disrupted, deleting or deleted.
	Event Phase `json:"event"`
	NodeClaimState
	// Reason is why it was created or disrupted, in the words of the label reason of karpenter_nodeclaims_created_total and
	// karpenter_nodeclaims_disrupted_total, and surplus where a static NodePool has more nodes than replicas, withdrawn for replacements that
	// did not become ready. A NodeClaim that is being deleted without having been disrupted was deleted by another client, or its Node was.
	Reason string `json:"reason,omitempty"`
	// Command is the ID of the disruption command that created or removes it; empty if there is none.
	Command string `json:"command,omitempty"`
	// Pods are those that it was created for, as namespace/name.
	Pods *Names `json:"pods,omitempty"`
	// InstanceTypes are the candidates of the launch, cheapest first.
	InstanceTypes *Names `json:"instanceTypes,omitempty"`
}

// SavingEvent is the beginning or the end of a claim of savings.
type SavingEvent string

// The events of claims of savings.
const (
	// SavingClaimed: a disruption command has succeeded.
	SavingClaimed SavingEvent = "claimed"
	// SavingEnded: the claim counts no more.
	SavingEnded SavingEvent = "ended"
)

// SavingEnd is why a claim of savings counts no more.
type SavingEnd string

// The ends of claims of savings.
const (
	// EndedByTime: 24 hours have passed.
	EndedByTime SavingEnd = "Elapsed"
	// EndedByExpiry: the first of the removed nodes would have expired.
	EndedByExpiry SavingEnd = "Expired"
	// EndedByReplacement: one of the replacements is being deleted.
	EndedByReplacement SavingEnd = "ReplacementRemoved"
	// EndedByStop: the process is not the leader any more.
	EndedByStop SavingEnd = "Stopped"
)

// Saving is a claim of savings: what a disruption command that has succeeded changes in the cost of the fleet.
type Saving struct {
	// Event is claimed or ended.
	Event SavingEvent `json:"event"`
	// Command, Method and Reason are those of the command.
	Command string `json:"command"`
	Method  string `json:"method,omitempty"`
	Reason  string `json:"reason"`
	// Removed are the NodeClaims that were deleted, Launched their replacements, with their prices at the moment of the claim.
	Removed  []NodeClaimState `json:"removed,omitempty"`
	Launched []NodeClaimState `json:"launched,omitempty"`
	// PerHour is the sum of the prices of Removed without that of Launched, in dollars per hour; negative if the command made the fleet
	// more expensive. ByNodePool divides it among the pools of Removed, in proportion to their prices. Both are absent if a price is not known.
	PerHour    *float64           `json:"perHour,omitempty"`
	ByNodePool map[string]float64 `json:"byNodePool,omitempty"`
	// Unpriced are the names of NodeClaims whose price is not known. A claim with any of them is not counted.
	Unpriced []string `json:"unpriced,omitempty"`
	// MaxSeconds is the longest time for which the claim counts.
	MaxSeconds float64 `json:"maxSeconds,omitempty"`
	// Seconds is how long the claim counted, and Dollars the sum of it; End says why it ended: Elapsed, Expired, ReplacementRemoved or
	// Stopped. They are set when it ended.
	Seconds float64   `json:"seconds,omitempty"`
	Dollars float64   `json:"dollars,omitempty"`
	End     SavingEnd `json:"end,omitempty"`
}
