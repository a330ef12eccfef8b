package disruption

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// starting logs a command that is being started.
func (r *reporter) starting(cmd command) {
	nodes := describeNodes(cmd.plan)
	args := []any{
		"command", cmd.plan.Text(cmd.id), "command-id", cmd.id, "reason", label(cmd.method.Reason),
		"decision", cmd.plan.Decision(), "disrupted-node-count", len(nodes), "replacement-node-count", cmd.plan.Launches(),
		"pod-count", cmd.plan.Pods(), "disrupted-nodes", nodes,
	}
	if replacements := describeReplacements(cmd.plan); len(replacements) > 0 {
		args = append(args, "replacement-nodes", replacements)
	}
	rounds := 1
	for _, candidate := range cmd.plan.Candidates {
		rounds = max(rounds, candidate.DrainRounds)
	}
	if rounds > 1 {
		args = append(args, "drain-rounds", rounds)
	}
	r.log.Info("disrupting node(s)", args...)
}

// started counts a command whose nodes are marked and whose replacements are created.
func (r *reporter) started(cmd command) {
	decision, reason := cmd.plan.Decision(), label(cmd.method.Reason)
	r.metrics.Disruption.Decisions.WithLabelValues(decision, reason, cmd.method.Type).Inc()
	for _, pool := range cmd.plan.Pools() {
		r.metrics.Disruption.DecisionsByNodePool.WithLabelValues(pool, decision, reason, cmd.method.Type).Inc()
	}
}

// dropped counts and logs candidates that did not pass the validation.
func (r *reporter) dropped(cmd command, list []disrupt.Obstacle) {
	if len(list) > 0 {
		r.metrics.Disruption.FailedValidations.WithLabelValues(cmd.method.Type).Add(float64(len(list)))
	}
	r.logDropped(cmd, list)
}

// rejected counts and logs a command that did not pass the validation, and publishes events for its nodes.
func (r *reporter) rejected(v view, cmd command, list []disrupt.Obstacle) {
	class := list[0].Failure()
	if class != disrupt.Scheduling {
		r.metrics.Disruption.FailedValidations.WithLabelValues(cmd.method.Type).Add(float64(len(cmd.plan.Candidates)))
	}
	r.logDropped(cmd, list)
	if cmd.method.Reason != disrupt.Underutilized {
		return
	}
	for _, candidate := range cmd.plan.Candidates {
		n := candidate.Node
		r.recorder.Publish(observe.ConsolidationRejected(v.nodes[n.NodeName], v.claims[n.ClaimName],
			cmd.plan.TextFor(n.Name), string(class), cmd.plan.Savings())...)
	}
}

func (r *reporter) logDropped(cmd command, list []disrupt.Obstacle) {
	for _, o := range list {
		r.log.Debug("node is no longer valid for disruption", "command-id", cmd.id, "Node", o.Node.Name,
			"class", string(o.Failure()), "code", string(o.Code), "error", errors.New(o.String()))
	}
}

// describeNodes returns the nodes of a command as log fields.
func describeNodes(plan disrupt.Command) []map[string]string {
	nodes := make([]map[string]string, len(plan.Candidates))
	for i, candidate := range plan.Candidates {
		n := candidate.Node
		nodes[i] = map[string]string{
			"Node": n.NodeName, "NodeClaim": n.ClaimName,
			"instance-type": n.Labels[corev1.LabelInstanceTypeStable], "capacity-type": n.Labels[v1.CapacityTypeLabelKey],
		}
	}
	return nodes
}

// describeReplacements returns the replacements as log fields.
func describeReplacements(work disrupt.Command) []map[string]string {
	out := make([]map[string]string, len(work.Replacements))
	for i, claim := range work.Replacements {
		out[i] = map[string]string{"capacity-type": strings.Join(claim.Requirements.Get(v1.CapacityTypeLabelKey).Values(), ",")}
		if len(work.Replacements) == 1 {
			out[i]["instance-types"] = shorten(claim.InstanceTypes)
		}
	}
	return out
}

// shown is the number of names that a log line lists before it counts the rest.
const shown = 5

func shorten(list []string) string {
	if len(list) <= shown {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d other(s)", strings.Join(list[:shown], ", "), len(list)-shown)
}
