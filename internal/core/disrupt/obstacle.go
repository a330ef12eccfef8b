package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Code names one kind of obstacle between a node and its disruption. The set is closed: a new kind is a new constant with
// its rule.
type Code string

// The obstacles of every method, in the order in which they are tested.
const (
	// InCommand means that the node is part of a command that is being checked or carried out.
	InCommand Code = "InCommand"
	// NoNodeClaim means that the node has no NodeClaim.
	NoNodeClaim Code = "NoNodeClaim"
	// NoNode means that the NodeClaim has no Node yet.
	NoNode Code = "NoNode"
	// Rebooting means that the node is drained for a reboot, or has not returned from it.
	Rebooting Code = "Rebooting"
	// Deleting means that the node is being deleted or marked for it.
	Deleting Code = "Deleting"
	// NotRegistered means that the Node is not registered, and so not initialized.
	NotRegistered Code = "NotRegistered"
	// NotInitialized means that the Node is not initialized.
	NotInitialized Code = "NotInitialized"
	// Nominated means that a scheduling result counts on the node for a pending pod.
	Nominated Code = "Nominated"
	// NodeProtected means that the node's own annotation forbids disruption.
	NodeProtected Code = "NodeProtected"
	// NoPoolLabel means that the node lacks the label of its pool.
	NoPoolLabel Code = "NoPoolLabel"
	// PoolNotFound means that the node's pool does not exist or belongs to another installation.
	PoolNotFound Code = "PoolNotFound"
)

// The obstacles of pods. Methods of the eventual class waive them for nodes with a termination grace period.
const (
	// PodProtected means that a pod's annotation forbids disruption.
	PodProtected Code = "PodProtected"
	// SeveralPDBs means that several PodDisruptionBudgets select one pod, which the eviction API refuses.
	SeveralPDBs Code = "SeveralPDBs"
	// PDBBlocked means that a PodDisruptionBudget allows no disruption now.
	PDBBlocked Code = "PDBBlocked"
)

// PodsUnknown means that the pods of the node could not be listed. Nothing waives it.
const PodsUnknown Code = "PodsUnknown"

// The obstacles of a node to a method itself.
const (
	// Static means that the node belongs to a pool with a fixed number of nodes.
	Static Code = "Static"
	// ConsolidationOff means that the pool's nodes are never consolidated.
	ConsolidationOff Code = "ConsolidationOff"
	// KeepsHeadroom means that the node reserves capacity for capacity buffers.
	KeepsHeadroom Code = "KeepsHeadroom"
	// HeadroomUnknown means that it is not known yet which nodes reserve capacity for capacity buffers.
	HeadroomUnknown Code = "HeadroomUnknown"
	// NotEmpty means that the node has pods that would have to move.
	NotEmpty Code = "NotEmpty"
	// NotConsolidatable means that consolidateAfter has not passed since the last pod event of the node.
	NotConsolidatable Code = "NotConsolidatable"
	// NodePoolBudgetExhausted means that the budgets of the node's pool allow no further disruption now.
	NodePoolBudgetExhausted Code = "NodePoolBudgetExhausted"
)

// The obstacles of a node to methods that move pods, and those that simulations find.
const (
	// splitsPodGroup means that the node has pods of a PodGroup that is disrupted as a whole, and other nodes have pods of it too.
	splitsPodGroup Code = "SplitsPodGroup"
	// podGroupBlocked means that another node with pods of such a PodGroup may not be disrupted.
	podGroupBlocked Code = "PodGroupBlocked"
	// podGroupOverBudget means that budgets do not allow all nodes with pods of such a PodGroup at the same time.
	podGroupOverBudget Code = "PodGroupOverBudget"
	// NotDrifted means that the node has not drifted.
	NotDrifted Code = "NotDrifted"
	// NotStatic means that the node's pool has no fixed number of nodes.
	NotStatic Code = "NotStatic"
	// Surplus means that the node's pool has more nodes than it should have.
	Surplus Code = "Surplus"
	// NodeInBackoff means that a command for the node failed recently.
	NodeInBackoff Code = "NodeInBackoff"
	// PoolInBackoff means that replacements of the pool to launch from failed recently.
	PoolInBackoff Code = "PoolInBackoff"
	// IsDestination means that a command moves pods of another node to the node.
	IsDestination Code = "IsDestination"
	// UnknownType means that the cloud does not list the node's instance type.
	UnknownType Code = "UnknownType"
	// NoTypes means that the instance types of the node's pool are not known.
	NoTypes Code = "NoTypes"
	// NoCapacityType means that the node lacks the label of its capacity type.
	NoCapacityType Code = "NoCapacityType"
	// noZone means that the node lacks the label of its zone.
	noZone Code = "NoZone"
	// AlreadyEmpty means that no pod would have to move: emptiness decides.
	AlreadyEmpty Code = "AlreadyEmpty"
	// EmptyOnly means that the pool's policy lets empty nodes be removed only.
	EmptyOnly Code = "EmptyOnly"
	// NoPlaceToDrift means that some pod of a drifted node would not be placed.
	NoPlaceToDrift Code = "NoPlaceToDrift"
	// NoOtherPlace means that some pod of a node to consolidate would not be placed.
	NoOtherPlace Code = "NoOtherPlace"
	// SeveralReplacements means that more than one new node would be required.
	SeveralReplacements Code = "SeveralReplacements"
	// NotCheaper means that a replacement of the node may cost as much or more.
	NotCheaper Code = "NotCheaper"
	// tooFewValues means that the cheaper instance types have too few distinct values of some label.
	tooFewValues Code = "TooFewValues"
	// spotToSpotOff means that spot nodes are not replaced by spot nodes.
	spotToSpotOff Code = "SpotToSpotOff"
	// spotToSpotInflexible means that too few instance types are cheaper than the spot node.
	spotToSpotInflexible Code = "SpotToSpotInflexible"
	// ScoreTooLow means that the score of the command is below the threshold of a Balanced pool.
	ScoreTooLow Code = "ScoreTooLow"
	// OtherResult means that a repeated simulation had another result.
	OtherResult Code = "OtherResult"
)

// The obstacles of operations policies.
const (
	// outsideWindow means that no maintenance window is open.
	outsideWindow Code = "OutsideMaintenanceWindow"
	// frozen means that disruption is stopped until a point in time.
	frozen Code = "Frozen"
	// invalidPolicy means that a policy for the node's pool cannot be evaluated.
	invalidPolicy Code = "OperationsPolicyInvalid"
	// awaitingApproval means that the node is part of a DisruptionPlan that is not decided, or approved and not executed yet.
	awaitingApproval Code = "AwaitingApproval"
	// planRejected means that a DisruptionPlan with the node was rejected.
	planRejected Code = "PlanRejected"
	// ApprovalUnavailable means that the node would have to be proposed for approval, which is not possible.
	ApprovalUnavailable Code = "ApprovalUnavailable"
	// notExpired means that the node has not expired softly.
	notExpired Code = "NotExpired"
	// noPlaceToExpire means that some pod of a node that expired softly would not be placed.
	noPlaceToExpire Code = "NoPlaceToExpire"
)

// The obstacles of methods that consider one node after the other.
const (
	// notTogether means that the move does not work together with better ones.
	notTogether Code = "NotTogether"
	// NotReached means that the timeout expired, or that the outcome is known only once another command has ended.
	NotReached Code = "NotReached"
	// NodeLimit means that the limit on nodes of a static pool does not allow a replacement.
	NodeLimit Code = "NodeLimit"
	// reservationsFull means that a static pool launches from capacity reservations only, which are full, and that the node holds none of
	// their instances, or that nothing would launch its replacement.
	reservationsFull Code = "ReservationsFull"
	// reservationsUnknown means that the instance types of a static pool cannot be listed, and so its capacity reservations are not known.
	reservationsUnknown Code = "ReservationsUnknown"
)

// The obstacles of repair.
const (
	// tolerated means that repair policies tolerate the conditions of the node for some time.
	tolerated Code = "Tolerated"
	// noPoolForRepair means that the node belongs to no NodePool.
	noPoolForRepair Code = "NoPoolForRepair"
	// underMaintenance means that an administrator drains or maintains the node.
	underMaintenance Code = "UnderMaintenance"
	// repairProtected means that the node's annotation forbids its repair.
	repairProtected Code = "RepairProtected"
	// noGracePeriodForRepair means that pods may not be evicted, and nothing limits how long they keep the node.
	noGracePeriodForRepair Code = "NoGracePeriodForRepair"
	// tooManyUnhealthy means that more than a fifth of the nodes of the pool are unhealthy.
	tooManyUnhealthy Code = "TooManyUnhealthy"
	// noPlaceToRepair means that some pod of an unhealthy node would not be placed.
	noPlaceToRepair Code = "NoPlaceToRepair"
)

// Gone means that a node that was to be disrupted does not exist any more.
const Gone Code = "Gone"

// Event is how an obstacle is published.
type Event int

const (
	// NoEvent is for obstacles that are the ordinary state of a node, or that have no object to publish an event on.
	NoEvent Event = iota
	// DisruptionBlocked is the reason of an event on the Node and the NodeClaim.
	DisruptionBlocked
	// Unconsolidatable is the reason of an event on the Node and the NodeClaim.
	Unconsolidatable
)

// Rule documents one code: what is tested, and what would change the outcome.
type Rule struct {
	Code  Code
	Event Event
	// Waivable is set for obstacles that a termination grace period overrides in methods of the eventual class.
	Waivable bool
	Text     string
	Remedy   string
}

// Rules returns the rules of all codes, in the order of Code.
func Rules() []Rule {
	return slices.Concat([]Rule{
		{InCommand, NoEvent, false, "A node is part of at most one command.", "Wait until the command has ended."},
		{NoNodeClaim, NoEvent, false, "Only nodes with a NodeClaim are disrupted.", "Nothing: the node was not launched by a NodePool."},
		{NoNode, DisruptionBlocked, false, "A NodeClaim is disrupted only once its Node exists.", "Look at the conditions Launched and Registered of the NodeClaim: it is deleted if it does not launch or register in time."},
		{Rebooting, DisruptionBlocked, false, "A node that is rebooted is left alone until it is ready again.", "Wait until the reboot has ended: look at the Rebooting condition of the NodeClaim."},
		{Deleting, DisruptionBlocked, false, "A node that is being deleted is not disrupted again.", "Wait until the node is gone. If its drain does not end, remove what keeps its pods from being evicted, or let these pods end."},
		{NotRegistered, DisruptionBlocked, false, "A node is disrupted only once it is registered and initialized.", "Look at the Registered condition of the NodeClaim."},
		{NotInitialized, DisruptionBlocked, false, "A node is disrupted only once it is initialized.", "Look at the Initialized condition of the NodeClaim."},
		{Nominated, DisruptionBlocked, false, "A node that a pending pod is expected on is left alone for a while.", "Wait until the pod has started or the nomination has ended."},
		{NodeProtected, DisruptionBlocked, false, "The annotation on the node forbids disruption.", "Remove the annotation karpenter.sh/do-not-disrupt from the node."},
		{NoPoolLabel, DisruptionBlocked, false, "A node is disrupted under the rules of its pool.", "Restore the label karpenter.sh/nodepool of the node."},
		{PoolNotFound, DisruptionBlocked, false, "A node is disrupted under the rules of its pool.", "Restore the NodePool or delete the NodeClaim."},
		{PodProtected, DisruptionBlocked, true, "The annotation on a pod forbids disruption of its node.", "Remove the annotation karpenter.sh/do-not-disrupt from the pod, or wait until its duration has passed."},
		{SeveralPDBs, DisruptionBlocked, true, "A pod that several PodDisruptionBudgets select cannot be evicted.", "Leave one PodDisruptionBudget that selects the pod."},
		{PDBBlocked, DisruptionBlocked, true, "Every evictable pod's PodDisruptionBudget must allow a disruption.", "Loosen the PodDisruptionBudget, or wait until more of its pods are healthy."},
		{PodsUnknown, NoEvent, false, "A node is disrupted only if its pods can be listed.", "Look for errors of the API server in the log."},
		{Static, NoEvent, false, "Pools with a fixed number of nodes are not consolidated.", "Change the replicas of the NodePool."},
		{ConsolidationOff, Unconsolidatable, false, "consolidateAfter: Never turns consolidation off.", "Set consolidateAfter of the NodePool to a duration."},
		{KeepsHeadroom, Unconsolidatable, false, "A node that reserves capacity for capacity buffers is not empty.", "Shrink or delete the CapacityBuffer."},
		{HeadroomUnknown, NoEvent, false, "Nodes are empty only once it is known which of them capacity buffers need.", "Wait until the provisioner has placed the buffers; look for its errors in the log."},
		{NotEmpty, NoEvent, false, "A node is empty when none of its pods would have to move.", "Nothing: the node is in use."},
		{NotConsolidatable, NoEvent, false, "A node is consolidated once consolidateAfter has passed since a pod last came to the node or left it. Pods of DaemonSets do not count.", "Wait, or lower consolidateAfter of the NodePool."},
		{NodePoolBudgetExhausted, NoEvent, false, "Budgets bound how many nodes of a pool are disrupted at the same time.", "Loosen the budgets of the NodePool, or wait until other nodes are done."},
		{splitsPodGroup, DisruptionBlocked, false, "Pods of a PodGroup with disruptionMode all are moved together. Consolidation, and drift and repair of static pools, do not do so for several nodes.", "Delete the nodes of the group together, or create the PodGroup with disruptionMode single."},
		{podGroupBlocked, DisruptionBlocked, false, "Nodes with pods of a PodGroup with disruptionMode all are replaced together: what is in the way of one of them is in the way of all.", "Remove what blocks the node that is named."},
		{podGroupOverBudget, DisruptionBlocked, false, "Nodes with pods of a PodGroup with disruptionMode all are replaced together: budgets must allow all of them at the same time.", "Loosen the budgets of the NodePool, or wait until other nodes are done."},
		{NotDrifted, NoEvent, false, "A node drifts when its pool or node class would launch it differently today.", "Nothing: the node is as it should be."},
		{NotStatic, NoEvent, false, "Only pools with a fixed number of nodes replace drifted nodes one for one.", "Nothing: the node is replaced by what its pods need."},
		{Surplus, NoEvent, false, "A static pool gives up surplus nodes before it replaces drifted ones.", "Wait until the pool has as many nodes as replicas."},
		{NodeInBackoff, NoEvent, false, "After a command that failed, a node is left alone for a while, longer each time.", "Wait, or look in the log for why the command failed."},
		{PoolInBackoff, NoEvent, false, "After replacements of a NodePool failed, it launches none for a while, longer each time.", "Look at the events of the NodeClaims that failed, and at the log."},
		{IsDestination, NoEvent, false, "A node that pods of another one are to move to is left alone.", "Wait until the other command has ended."},
		{notTogether, NoEvent, false, "Of moves that do not work together the best ones come first.", "Wait until the other commands have ended."},
		{NotReached, NoEvent, false, "A pass has a time limit, and ends early where the outcome of a command is not known yet.", "Wait for one of the next passes."},
		{NodeLimit, DisruptionBlocked, false, "A static pool launches replacements within limits.nodes.", "Raise limits.nodes of the NodePool above its replicas."},
		{reservationsFull, DisruptionBlocked, false, "A static pool that launches from capacity reservations only launches nothing while they are full.", "Reserve more instances, or let the NodePool launch other capacity. If the node holds an instance of a reservation, wait until the NodePool is ready."},
		{reservationsUnknown, NoEvent, false, "Whether a static pool can launch a replacement depends on its instance types.", "Look in the log for why they cannot be listed."},
		{UnknownType, Unconsolidatable, false, "What a node costs is known by its instance type.", "Let the cloud list the instance type of the node."},
		{NoTypes, Unconsolidatable, false, "What a node costs is known by the instance types of its pool.", "Look in the log for why they cannot be listed."},
		{NoCapacityType, Unconsolidatable, false, "What a node costs depends on its capacity type.", "Restore the label karpenter.sh/capacity-type of the node."},
		{noZone, Unconsolidatable, false, "What a node costs depends on its zone.", "Restore the label topology.kubernetes.io/zone of the node."},
		{AlreadyEmpty, NoEvent, false, "Nodes without pods to move are left to emptiness and its budgets.", "Nothing: the node is removed as empty."},
		{EmptyOnly, Unconsolidatable, false, "The policy WhenEmpty leaves nodes with pods alone.", "Set consolidationPolicy of the NodePool to WhenEmptyOrUnderutilized or Balanced."},
		{NoPlaceToDrift, DisruptionBlocked, false, "Every pod of a drifted node needs a place before the node goes.", "Add capacity for the pods that are named, or loosen their scheduling constraints."},
		{NoOtherPlace, Unconsolidatable, false, "Every pod of a node needs a place before the node goes.", "Add capacity for the pods that are named, or loosen their scheduling constraints."},
		{SeveralReplacements, Unconsolidatable, false, "A node is replaced by one new node at most.", "Nothing: the pods need several nodes without it."},
		{NotCheaper, Unconsolidatable, false, "Whatever is launched in place of a node must cost less than it.", "Let the NodePool use instance types that cost less than the node."},
		{tooFewValues, Unconsolidatable, false, "Cheaper instance types must still meet the minValues of the pool.", "Lower minValues of the NodePool, or let it use more instance types."},
		{spotToSpotOff, Unconsolidatable, false, "Spot nodes are replaced by spot nodes only with the feature gate SpotToSpotConsolidation.", "Turn the feature gate SpotToSpotConsolidation on."},
		{spotToSpotInflexible, Unconsolidatable, false, "A single spot node is replaced only if 15 instance types are cheaper.", "Let the NodePool use more instance types."},
		{ScoreTooLow, NoEvent, false, "A command must save at least half as large a share of the cost of a Balanced pool as the share of its pods that it disrupts.", "Set consolidationPolicy of the NodePool to WhenEmptyOrUnderutilized, or wait until fewer pods run on the node."},
		{OtherResult, NoEvent, false, "A command must still be right when it is validated.", "Nothing: the next pass decides again."},
	}, repairRules(), policyRules(), []Rule{
		{Gone, NoEvent, false, "Only nodes that exist are disrupted.", "Nothing: the node is gone."},
	})
}

// repairRules are the rules of the codes of repair.
func repairRules() []Rule {
	return []Rule{
		{tolerated, NoEvent, false, "A repair policy says how long a condition may last before the node is repaired.", "Wait, or repair the node."},
		{noPoolForRepair, DisruptionBlocked, false, "The NodePool of a node says how many nodes are repaired at the same time, and what replaces them.", "Restore the label karpenter.sh/nodepool, or delete the NodeClaim."},
		{underMaintenance, NoEvent, false, "The condition DrainInProgress or MaintenanceInProgress of the node is True: an administrator takes care of it.", "Wait, or clear the condition."},
		{repairProtected, DisruptionBlocked, false, "The annotation on the node forbids its repair.", "Remove the annotation karpenter.sh/do-not-repair from the node."},
		{noGracePeriodForRepair, DisruptionBlocked, false, "Pods that may not be evicted must not keep a node that is being repaired without end.", "Set terminationGracePeriod of the NodePool for future nodes, or remove what protects the pods."},
		{tooManyUnhealthy, DisruptionBlocked, false, "While more than 20% of the nodes of a pool are unhealthy, the cause is more likely elsewhere.", "Look for what the nodes have in common, such as the network."},
		{noPlaceToRepair, DisruptionBlocked, false, "Every pod of an unhealthy node needs a place before the node goes.", "Add capacity for the pods that are named, or loosen their scheduling constraints."},
	}
}

// policyRules are the rules of the codes of operations policies.
func policyRules() []Rule {
	return []Rule{
		{outsideWindow, NoEvent, false, "Nodes are disrupted only while a maintenance window of the OperationsPolicies for their pool is open.", "Wait until the window that is named opens, or change the OperationsPolicy."},
		{frozen, NoEvent, false, "While an OperationsPolicy freezes a pool, its nodes are not disrupted.", "Wait until the freeze ends, or change the OperationsPolicy."},
		{invalidPolicy, NoEvent, false, "It is not known what an invalid OperationsPolicy would allow, so that nothing is.", "Correct the OperationsPolicy: see its condition ValidationSucceeded."},
		{awaitingApproval, NoEvent, false, "A node that is part of a proposed DisruptionPlan is left alone until the plan is decided and executed, or has expired.", "Approve or reject the DisruptionPlan that is named."},
		{planRejected, NoEvent, false, "Disruption that a person rejected is not proposed again until its inputs change or a day has passed.", "Wait, or delete the DisruptionPlan that is named."},
		{ApprovalUnavailable, DisruptionBlocked, false, "Disruption that has to be approved is proposed only if the API server verifies who approves, and if there are not too many proposals.", "Do what the text says, or decide about proposals that wait."},
		{notExpired, NoEvent, false, "A node expires softly some time before expireAfter, as an OperationsPolicy says.", "Nothing: the node is young enough."},
		{noPlaceToExpire, DisruptionBlocked, false, "Every pod of a node that expired softly needs a place before the node goes. At expireAfter the node is deleted nevertheless.", "Add capacity for the pods that are named, or loosen their scheduling constraints."},
	}
}

// ruleOf returns the rule of a code.
var ruleOf = sync.OnceValue(func() map[Code]Rule { //nolint:gochecknoglobals // a constant, but for its type
	out := map[Code]Rule{}
	for _, r := range Rules() {
		out[r.Code] = r
	}
	return out
})

// Obstacle is why one node is not disrupted. Code determines which of the other fields are set.
type Obstacle struct {
	Code Code
	Node *model.Node
	// Pod is the namespace/name of the blocking pod.
	Pod string
	// PDBs are the namespace/name of the blocking PodDisruptionBudgets.
	PDBs []string
	// Cause is why the pods could not be listed.
	Cause string
	// Pool is the NodePool that launches no nodes.
	Pool string
	// Detail is the obstacle that a simulation found, and Passes whether it ends without a change, because nodes are still starting.
	Detail string
	Passes bool
	// Count is how many replacements would be required, or how many instance types are cheaper.
	Count int
	// Paid is the present cost of the nodes, and Least the minimum cost of a replacement, in dollars per hour.
	Paid, Least float64
	// AlsoFor are pods that the replacement is for beside those of the nodes: pending ones, and those of nodes that are being deleted.
	AlsoFor []*model.Pod
	// Scores are the scores of the pools for the move.
	Scores []Score
}

// String renders the obstacle as events and logs show it.
func (o Obstacle) String() string {
	switch o.Code {
	case InCommand:
		return "node is part of a disruption command"
	case NoNodeClaim:
		return "node does not have an associated nodeclaim"
	case NoNode:
		return "nodeclaim does not have an associated node"
	case Rebooting:
		return "node is rebooting"
	case Deleting:
		return "node is deleting or marked for deletion"
	case NotRegistered:
		return "node isn't initialized nor registered"
	case NotInitialized:
		return "node isn't initialized"
	case Nominated:
		return "node is nominated for a pending pod"
	case NodeProtected:
		return `disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation`
	case NoPoolLabel:
		return "node doesn't have required label (label=karpenter.sh/nodepool)"
	case PoolNotFound:
		return fmt.Sprintf("NodePool not found (NodePool=%s)", o.Node.Pool)
	case PodProtected:
		return fmt.Sprintf(`pod has "karpenter.sh/do-not-disrupt" annotation (Pod=%s)`, o.Pod)
	case SeveralPDBs:
		return fmt.Sprintf("eviction does not support multiple PDBs (PodDisruptionBudget(s)=[%s])", strings.Join(o.PDBs, " "))
	case PDBBlocked:
		return fmt.Sprintf("pdb prevents pod evictions (PodDisruptionBudget=[%s])", strings.Join(o.PDBs, " "))
	case PodsUnknown:
		return "pods of the node cannot be listed: " + o.Cause
	case Static:
		return fmt.Sprintf("NodePool %q is static", o.Node.Pool)
	case ConsolidationOff:
		return fmt.Sprintf("NodePool %q has consolidation disabled", o.Node.Pool)
	case KeepsHeadroom:
		return fmt.Sprintf("Node %q has buffer pods", o.Node.Name)
	case HeadroomUnknown:
		return "capacity buffers have not been placed yet"
	case NotEmpty:
		return "pods on the node would have to move"
	case NotConsolidatable:
		return "consolidateAfter has not passed since a pod came to the node or left it"
	case NodePoolBudgetExhausted:
		return fmt.Sprintf("budgets of NodePool %q allow no further disruption", o.Node.Pool)
	case Gone:
		return "node is gone"
	}
	return cmp.Or(o.repair(), o.ofPolicy(), o.simulated())
}

// repair renders the obstacles of repair; empty for others.
func (o Obstacle) repair() string {
	switch o.Code {
	case tolerated:
		return "conditions of the node are tolerated for some time"
	case noPoolForRepair:
		return "repair requires a NodePool to construct and budget a safe replacement"
	case underMaintenance:
		return "node is drained or maintained by an administrator"
	case repairProtected:
		return `repair is blocked through the "karpenter.sh/do-not-repair" annotation`
	case noGracePeriodForRepair:
		return "repair requires a termination grace period to bypass blocking pods"
	case tooManyUnhealthy:
		return fmt.Sprintf("more than 20%% of nodes in nodepool %q are unhealthy", o.Node.Pool)
	}
	return ""
}

// ofPolicy renders the obstacles of operations policies; empty for others.
func (o Obstacle) ofPolicy() string {
	switch o.Code {
	case outsideWindow, frozen, invalidPolicy:
		return cmp.Or(o.Detail, "operations policies allow no disruption")
	case awaitingApproval:
		return "node is part of DisruptionPlan " + o.Detail + ", which has not been executed"
	case planRejected:
		return "DisruptionPlan " + o.Detail + " was rejected"
	case ApprovalUnavailable:
		return cmp.Or(o.Detail, "approval is required and not available")
	case notExpired:
		return "node has not expired softly"
	}
	return ""
}

// simulated renders the obstacles of the methods that move pods.
func (o Obstacle) simulated() string {
	switch o.Code {
	case splitsPodGroup:
		return "other nodes have pods of a PodGroup that is disrupted as a whole"
	case podGroupBlocked:
		return o.Detail
	case podGroupOverBudget:
		return fmt.Sprintf("budgets of NodePool %q do not allow to disrupt its %d nodes with pods of %s at the same time", o.Pool, o.Count, o.Detail)
	case NotDrifted:
		return "node has not drifted"
	case NotStatic:
		return fmt.Sprintf("NodePool %q is not static", o.Node.Pool)
	case Surplus:
		return fmt.Sprintf("NodePool %q has more nodes than replicas", o.Node.Pool)
	case NodeInBackoff:
		return "a command for the node failed recently"
	case PoolInBackoff:
		return fmt.Sprintf("replacements of NodePool %q failed recently", o.Pool)
	case IsDestination:
		return "a command moves pods of another node to the node"
	case notTogether:
		return "the command does not work together with better ones"
	case NotReached:
		return "the pass did not reach the node"
	case NodeLimit:
		return "static NodePool is at its node limit and cannot stage a replacement"
	case reservationsFull:
		return "static NodePool's capacity reservations are full and cannot stage a replacement"
	case reservationsUnknown:
		return fmt.Sprintf("capacity reservations of NodePool %q are not known", o.Node.Pool)
	case UnknownType:
		return fmt.Sprintf("Instance Type %q not found", o.Node.Labels[instanceTypeKey])
	case NoCapacityType:
		return fmt.Sprintf("Node does not have label %q", capacityTypeKey)
	case noZone:
		return fmt.Sprintf("Node does not have label %q", zoneKey)
	case AlreadyEmpty:
		return "node is empty"
	case EmptyOnly:
		return fmt.Sprintf("NodePool %q has consolidation policy WhenEmpty, but node is not empty", o.Node.Pool)
	case NoPlaceToDrift, NoOtherPlace, noPlaceToRepair, noPlaceToExpire:
		return o.Detail
	case SeveralReplacements:
		return fmt.Sprintf("can't remove without creating %d candidates", o.Count)
	case NotCheaper:
		return "can't replace with a cheaper node"
	case NoTypes:
		return fmt.Sprintf("Instance types of NodePool %q cannot be listed", o.Node.Pool)
	case tooFewValues:
		return "Filtering by price: " + o.Detail
	case spotToSpotOff:
		return "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
	case spotToSpotInflexible:
		return fmt.Sprintf("SpotToSpotConsolidation requires %d cheaper instance type options than the current candidate to consolidate, got %d", minSpotToSpotTypes, o.Count)
	case ScoreTooLow:
		return "the command saves too little for the pods that it disrupts"
	case OtherResult:
		return "scheduling simulation produced new results"
	}
	return string(o.Code)
}
