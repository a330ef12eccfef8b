package logfield

import (
	"log/slog"
	"time"

	"k8s.io/klog/v2"
)

// DisruptedNode is a node that a disruption command removes.
type DisruptedNode struct {
	Node         klog.ObjectRef `json:"Node"`
	NodeClaim    klog.ObjectRef `json:"NodeClaim"`
	CapacityType string         `json:"capacity-type"`
	InstanceType string         `json:"instance-type"`
}

// ReplacementNode is a NodeClaim that a disruption command launches.
type ReplacementNode struct {
	CapacityType  string `json:"capacity-type"`
	InstanceTypes string `json:"instance-types,omitempty"`
}

// Reason is why something was done or left out.
func Reason(text string) slog.Attr { return slog.String("reason", text) }

// Reasons lists why a node is not disrupted, for each disruption method.
func Reasons(text string) slog.Attr { return slog.String("why", text) }

// ReasonCodes lists the codes of unschedulable reasons, one for each NodePool.
func ReasonCodes(codes []string) slog.Attr { return texts("codes", codes) }

// PodGroups lists PodGroups as namespace/name.
func PodGroups(ids []string) slog.Attr { return texts("pod-groups", ids) }

// MinValues is true when minValues of a NodePool are the reason.
func MinValues(relevant bool) slog.Attr { return slog.Bool("min-values", relevant) }

// UnknownValues lists values of a requirement that no instance type has.
func UnknownValues(values []string) slog.Attr { return texts("unknown", values) }

// Key is the label key of a requirement.
func Key(key string) slog.Attr { return slog.String("key", key) }

// Annotation is the name of an annotation whose value cannot be used.
func Annotation(name string) slog.Attr { return slog.String("annotation", name) }

// Value is a value that cannot be used.
func Value(text string) slog.Attr { return slog.String("value", text) }

// Overlay is the name of the NodeOverlay that another one conflicts with; empty without a conflict.
func Overlay(name string) slog.Attr { return slog.String("conflicts-with", name) }

// Details explains the reason.
func Details(text string) slog.Attr { return slog.String("details", text) }

// Command describes a disruption command.
func Command(text string) slog.Attr { return slog.String("command", text) }

// CommandID is the ID of a disruption command.
func CommandID(id string) slog.Attr { return slog.String("command-id", id) }

// DisruptionPlan is the name of a DisruptionPlan.
func DisruptionPlan(name string) slog.Attr { return slog.String("plan", name) }

// Phase is the phase of a DisruptionPlan.
func Phase(name string) slog.Attr { return slog.String("phase", name) }

// DecidedBy is the user who approved or rejected a DisruptionPlan.
func DecidedBy(user string) slog.Attr { return slog.String("by", user) }

// Policy is the name of an OperationsPolicy.
func Policy(name string) slog.Attr { return slog.String("policy", name) }

// CommandCount is a number of disruption commands.
func CommandCount(n int) slog.Attr { return slog.Int("commands", n) }

// Method is the disruption method of a command.
func Method(name string) slog.Attr { return slog.String("method", name) }

// ConsolidationType is the kind of consolidation: empty, multi or single.
func ConsolidationType(name string) slog.Attr { return slog.String("type", name) }

// Decision is the decision of a disruption command, or whether a consolidation was approved.
func Decision(text string) slog.Attr { return slog.String("decision", text) }

// DisruptedNodes lists the nodes that a disruption command removes, each with its Node, NodeClaim, instance type and capacity type.
func DisruptedNodes(nodes []DisruptedNode) slog.Attr { return slog.Any("disrupted-nodes", nodes) }

// ReplacementNodes lists the NodeClaims that a disruption command launches, each with its capacity type, and with its instance types when it is the only one.
func ReplacementNodes(nodes []ReplacementNode) slog.Attr { return slog.Any("replacement-nodes", nodes) }

// DisruptedNodeCount is the number of nodes that a disruption command removes.
func DisruptedNodeCount(n int) slog.Attr { return slog.Int("disrupted-node-count", n) }

// ReplacementNodeCount is the number of NodeClaims that a disruption command launches.
func ReplacementNodeCount(n int) slog.Attr { return slog.Int("replacement-node-count", n) }

// DisruptedPodCount is the number of pods on the nodes that a disruption command removes.
func DisruptedPodCount(n int) slog.Attr { return slog.Int("pod-count", n) }

// DrainRounds is how often PodDisruptionBudgets must allow evictions until the node with most rounds is drained.
func DrainRounds(n int) slog.Attr { return slog.Int("drain-rounds", n) }

// CheckAt is when a disruption command is validated, in RFC 3339.
func CheckAt(at time.Time) slog.Attr { return slog.Time("check-at", at) }

// ObstacleCode is the code of an obstacle of disruption.
func ObstacleCode(code string) slog.Attr { return slog.String("code", code) }

// ValidationClass is the kind of failed validation, as in the metric.
func ValidationClass(name string) slog.Attr { return slog.String("class", name) }

// Score is the score of a consolidation.
func Score(value float64) slog.Attr { return slog.Float64("score", value) }

// Savings is what a consolidation saves, as a share of the cost of its NodePool.
func Savings(share float64) slog.Attr { return slog.Float64("savings", share) }

// DisruptionCost is what a consolidation disrupts, as a share of its NodePool.
func DisruptionCost(value float64) slog.Attr { return slog.Float64("disruption", value) }

// Marked is the number of nodes that are marked for disruption.
func Marked(n int) slog.Attr { return slog.Int("marked", n) }

// Failed is the number of nodes that could not be marked for disruption.
func Failed(n int) slog.Attr { return slog.Int("failed", n) }

// Left is the number of NodeClaims that are still to be deleted.
func Left(n int) slog.Attr { return slog.Int("left", n) }
