// Package notification tells a webhook what happens to disruption plans and commands, in the form of Standard Webhooks
// (https://www.standardwebhooks.com), or as messages for incoming webhooks of Slack. docs/notifications.md has the schema.
//
// Notifications are a courtesy: they never delay disruption, and one that cannot be delivered is dropped and counted. What they tell is in the
// ledger, and plans are objects of the API server.
package notification

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/karpenter-anew/karpenter/api/condition"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Version is the version of the document. It changes if a field is removed or gets another meaning.
const Version = "v1alpha1"

// maxListed is the most nodes, and launched NodeClaims, that a document names. The counts are of all.
const maxListed = 50

// Document is what the webhook receives with the format json.
type Document struct {
	// Version is Version.
	Version string `json:"version"`
	// ID identifies the notification. Repeated attempts have the same one, which is also the header webhook-id.
	ID string `json:"id"`
	// Type is what happened.
	Type options.NotificationEvent `json:"type"`
	// Timestamp is when it happened, in UTC.
	Timestamp time.Time `json:"timestamp"`
	// Cluster is --cluster-name; absent without it.
	Cluster string `json:"cluster,omitempty"`
	// Data is about the disruption.
	Data Data `json:"data"`
}

// Data is a DisruptionPlan or a command that needs no approval.
type Data struct {
	// Plan is absent for commands that need no approval, Command for plans.
	Plan *Plan `json:"plan,omitempty"`
	// Command is the identifier of the command, as in the ledger and in log lines.
	Command string `json:"command,omitempty"`
	// Method found the command; Reason is Empty, Underutilized, Drifted, Expired or Unhealthy; Action is delete, replace, terminate-first or
	// reboot.
	Method string `json:"method"`
	Reason string `json:"reason"`
	Action string `json:"action"`
	// NodeCount is the number of nodes, Nodes the first 50 of them, NodePools the names of their NodePools.
	NodeCount int      `json:"nodeCount"`
	Nodes     []Node   `json:"nodes"`
	NodePools []string `json:"nodePools"`
	// Launched are the names of the first 50 NodeClaims that replace them; absent until they are launched.
	Launched []string `json:"launched,omitempty"`
	// SavingsPerHour is in dollars per hour, negative if cost is added; absent if a price is not known.
	SavingsPerHour string `json:"savingsPerHour,omitempty"`
	// Cause is one word, Message a sentence for people, cut at 1024 bytes.
	Cause   string `json:"cause,omitempty"`
	Message string `json:"message,omitempty"`
}

// Plan is what is known of a DisruptionPlan only.
type Plan struct {
	// Name and UID are those of the DisruptionPlan.
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Phase is that of its status.
	Phase string `json:"phase"`
	// OperationsPolicy asks for approval, and why.
	OperationsPolicy string `json:"operationsPolicy"`
	Asks             string `json:"asks"`
	// Replacements is the number of nodes that are launched, Evictions that of pods that leave the nodes, Risk that of pods without protection
	// among them.
	Replacements int `json:"replacements"`
	Evictions    int `json:"evictions"`
	Risk         int `json:"risk"`
	// ExpiresAt is when the proposal ends.
	ExpiresAt time.Time `json:"expiresAt"`
	// DecidedBy is the user who decided; absent before.
	DecidedBy string `json:"decidedBy,omitempty"`
}

// Node is a node that is disrupted.
type Node struct {
	// Name is that of the Node, NodeClaim that of its NodeClaim.
	Name      string `json:"name"`
	NodeClaim string `json:"nodeClaim"`
}

// ofPlan is a plan in a document.
func ofPlan(plan *opsv1alpha1.DisruptionPlan) Data {
	spec := &plan.Spec
	out := Data{
		Plan: &Plan{
			Name: plan.Name, UID: string(plan.UID), Phase: string(plan.Status.Phase), OperationsPolicy: spec.OperationsPolicy.Name, Asks: spec.OperationsPolicy.Why,
			Replacements: len(spec.Replacements), Risk: int(spec.Risk), ExpiresAt: spec.ExpiresAt.UTC(),
		},
		Method: spec.Method, Reason: string(spec.Reason), Action: spec.Action, NodeCount: len(spec.Nodes), Nodes: []Node{}, NodePools: poolsOf(spec.Nodes),
		Launched: first(plan.Status.Launched), SavingsPerHour: spec.SavingsPerHour,
	}
	for _, n := range first(spec.Nodes) {
		out.Nodes = append(out.Nodes, Node{Name: n.Name, NodeClaim: n.NodeClaim})
	}
	for _, e := range spec.Evictions {
		out.Plan.Evictions += int(e.Pods)
	}
	if spec.Decision != nil {
		out.Plan.DecidedBy = spec.Decision.By
	}
	if c := meta.FindStatusCondition(plan.Status.Conditions, string(plan.Status.Phase)); c != nil {
		out.Cause, out.Message = c.Reason, c.Message
	}
	if plan.Status.WaitingFor != "" {
		out.Cause, out.Message = "Waiting", plan.Status.WaitingFor
	}
	return out
}

// ofCommand is what happened to a command in a document.
func ofCommand(e *ledger.CommandEvent, savingsPerHour string) Data {
	out := Data{
		Command: e.ID, Method: e.Method, Reason: e.Reason, Action: e.Decision, NodeCount: len(e.Nodes), Nodes: []Node{}, NodePools: e.NodePools,
		Launched: first(e.Launched), SavingsPerHour: savingsPerHour,
	}
	for i, name := range first(e.Nodes) {
		out.Nodes = append(out.Nodes, Node{Name: name, NodeClaim: e.NodeClaims[i]})
	}
	switch {
	case e.Error != "":
		out.Cause, out.Message = "CommandFailed", condition.TruncateMessage(e.Error)
	case len(e.Obstacles) > 0:
		o := e.Obstacles[0]
		out.Cause, out.Message = o.Code, condition.TruncateMessage(o.Node+": "+o.Text)
	}
	return out
}

// poolsOf are the names of the NodePools of nodes, each once, in the order of the nodes.
func poolsOf(nodes []opsv1alpha1.PlannedNode) []string {
	out, known := []string{}, map[string]bool{}
	for _, n := range nodes {
		if !known[n.NodePool] {
			known[n.NodePool] = true
			out = append(out, n.NodePool)
		}
	}
	return out
}

// first returns the elements that a document lists.
func first[T any](list []T) []T { return list[:min(len(list), maxListed)] }

// eventOf is what happened to a plan; empty if that is not notified.
func eventOf(plan *opsv1alpha1.DisruptionPlan) options.NotificationEvent {
	if plan.Status.WaitingFor != "" {
		return options.PlanBlocked
	}
	return map[opsv1alpha1.PlanPhase]options.NotificationEvent{
		opsv1alpha1.PlanProposed: options.PlanProposed, opsv1alpha1.PlanApproved: options.PlanApproved, opsv1alpha1.PlanRejected: options.PlanRejected,
		opsv1alpha1.PlanExecuting: options.PlanExecuting, opsv1alpha1.PlanExecuted: options.PlanExecuted, opsv1alpha1.PlanFailed: options.PlanFailed,
		opsv1alpha1.PlanVoided: options.PlanVoided, opsv1alpha1.PlanExpired: options.PlanExpired,
	}[plan.Status.Phase]
}

// eventOfCommand is what happened to a command.
func eventOfCommand(o ledger.Outcome) options.NotificationEvent {
	return map[ledger.Outcome]options.NotificationEvent{
		ledger.CommandStarted: options.CommandStarted, ledger.CommandSucceeded: options.CommandExecuted, ledger.CommandFailed: options.CommandFailed,
		ledger.CommandRejected: options.CommandBlocked,
	}[o]
}
