package disruption

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// starting logs a command that is being started.
func (r *reporter) starting(cmd command) {
	nodes := describeNodes(cmd.plan)
	args := []any{
		logfield.Command(cmd.plan.Text(cmd.id)), logfield.CommandID(cmd.id), logfield.Reason(label(cmd.method.Reason)),
		logfield.Decision(cmd.plan.Decision()), logfield.DisruptedNodeCount(len(nodes)), logfield.ReplacementNodeCount(cmd.plan.Launches()),
		logfield.DisruptedPodCount(cmd.plan.Pods()), logfield.DisruptedNodes(nodes),
	}
	if replacements := describeReplacements(cmd.plan); len(replacements) > 0 {
		args = append(args, logfield.ReplacementNodes(replacements))
	}
	rounds := 1
	for _, candidate := range cmd.plan.Candidates {
		rounds = max(rounds, candidate.DrainRounds)
	}
	if rounds > 1 {
		args = append(args, logfield.DrainRounds(rounds))
	}
	r.log.Info("disrupting node(s)", args...)
	for _, candidate := range cmd.plan.Candidates {
		if candidate.Repair != nil {
			r.repairing(candidate)
		}
	}
}

// started counts a command whose nodes are marked and whose replacements are created.
func (r *reporter) started(cmd command) {
	decision, reason := cmd.plan.Decision(), label(cmd.method.Reason)
	r.metrics.Disruption.Decisions.WithLabelValues(decision, reason, cmd.method.Type).Inc()
	for _, pool := range cmd.plan.Pools() {
		r.metrics.Disruption.DecisionsByNodePool.WithLabelValues(pool, decision, reason, cmd.method.Type).Inc()
		if why := cmd.plan.TerminateFirst; why != "" {
			r.metrics.Disruption.TerminateFirstDecisions.WithLabelValues(pool, reason, why).Inc()
		}
	}
	r.outcome(cmd, ledger.CommandStarted, nil, nil)
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
	r.outcome(cmd, ledger.CommandRejected, list, nil)
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
		r.log.Debug("node is no longer valid for disruption", logfield.CommandID(cmd.id), logfield.Node(o.Node.Name),
			logfield.ValidationClass(string(o.Failure())), logfield.ObstacleCode(string(o.Code)), logfield.Error(errors.New(o.String())))
	}
}

// describeNodes returns the nodes of a command as log fields.
func describeNodes(plan disrupt.Command) []logfield.DisruptedNode {
	nodes := make([]logfield.DisruptedNode, len(plan.Candidates))
	for i, candidate := range plan.Candidates {
		n := candidate.Node
		nodes[i] = logfield.DisruptedNode{
			Node: klog.KRef("", n.NodeName), NodeClaim: klog.KRef("", n.ClaimName),
			InstanceType: n.Labels[corev1.LabelInstanceTypeStable], CapacityType: n.Labels[v1.CapacityTypeLabelKey],
		}
	}
	return nodes
}

// describeReplacements returns the replacements as log fields.
func describeReplacements(work disrupt.Command) []logfield.ReplacementNode {
	out := make([]logfield.ReplacementNode, len(work.Replacements))
	for i, claim := range work.Replacements {
		out[i].CapacityType = strings.Join(claim.Requirements.Get(v1.CapacityTypeLabelKey).Values(), ",")
		if len(work.Replacements) == 1 {
			out[i].InstanceTypes = shorten(claim.InstanceTypes)
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
