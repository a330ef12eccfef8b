package disruption

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// qualifyUnhealthy sets the candidates of repair, if nodes are repaired, and adds them to those that the pass tries.
func (pl *planner) qualifyUnhealthy(p *pass, tried *[]disrupt.Candidate) {
	if !pl.Repair {
		return
	}
	in := p.qualifyInput(p.inCommand)
	in.RebootedTooOften = pl.exec.reboots.exhausted(p.claims, p.now)
	candidates, obstacles := in.Unhealthy()
	candidates, aside := pl.leaveAside(p.view, candidates)
	p.unhealthy, p.unqualified = candidates, append(obstacles, aside...)
	*tried = append((*tried)[:len(*tried):len(*tried)], candidates...)
}

// fitUnhealthy is fit for repair. Pods that may not be evicted do not keep repair from a node whose drain is limited, so the obstacles
// that they are to other methods are noted by those.
func (pl *planner) fitUnhealthy(ctx context.Context, p *pass, m disrupt.Method) ([]disrupt.Candidate, []disrupt.Obstacle) {
	wanted, refused := m.FilterNodes(p.unhealthy)
	fit, blocked := m.FilterPods(wanted, pl.reads.podBlocks(ctx, p.view, wanted))
	p.setDrainRounds(fit)
	obstacles := append(refused, blocked...)
	for _, o := range p.unqualified {
		if o.Code.Verbatim() { // the others are obstacles to all methods
			obstacles = append(obstacles, o)
		}
	}
	p.noteFor(m, obstacles)
	return fit, append(append(p.unqualified, refused...), blocked...)
}

// noteFor is note for the obstacles of a method. Those of repair do not replace those of other methods, nor the reverse.
func (p *pass) noteFor(m disrupt.Method, obstacles []disrupt.Obstacle) {
	if !m.Repairs() {
		p.note(obstacles)
		return
	}
	for _, o := range obstacles {
		if o.Code.Event() != disrupt.NoEvent {
			p.repairNotes[o.Node.ID] = o
		}
	}
}

// healthMatters reports whether a change of a Node may change whether it is repaired.
func healthMatters(before, now *corev1.Node) bool {
	return !translate.SameHealth(before, now) || before.Annotations[v1.DoNotRepairAnnotationKey] != now.Annotations[v1.DoNotRepairAnnotationKey]
}

// repairing logs what an unhealthy node is repaired for.
func (r *reporter) repairing(candidate disrupt.Candidate) {
	d := candidate.Repair
	m := d.Governing
	args := []any{
		logfield.Node(candidate.Node.NodeName), logfield.NodeClaim(candidate.Node.ClaimName), logfield.Condition(m.Condition.Type),
		logfield.ConditionStatus(m.Condition.Status), logfield.Reason(m.Condition.Reason), logfield.ReasonRegex(m.Rule.ReasonRegex),
		logfield.Fallback(m.Rule.Fallback), logfield.Action(string(d.Action)), logfield.EligibleAt(time.Unix(0, d.EligibleAt).UTC()),
	}
	if limit := candidate.DrainLimit(); limit != nil {
		args = append(args, logfield.TerminationGracePeriod(*limit), logfield.TerminationGracePeriodCondition(d.GracePeriodFrom))
	}
	if d.Escalated {
		args = append(args, logfield.RebootEscalated(true))
	}
	r.log.Info("selected repair policy", args...)
}

// unhealthyDisrupted counts a NodeClaim that is deleted, or rebooted, because its node is unhealthy.
func (e *executor) unhealthyDisrupted(candidate disrupt.Candidate, claim *v1.NodeClaim) {
	mode := observe.TerminationMode(claim.Spec.TerminationGracePeriod)
	if limit := candidate.DrainLimit(); limit != nil {
		mode = observe.TerminationMode(&metav1.Duration{Duration: *limit})
	}
	e.Metrics.CountUnhealthyDisrupted(claim, candidate.Repair.Governing.Condition.Type, mode)
}

// stillUnhealthy returns an error unless the API server, too, has the conditions for which nodes are to be repaired. A watch that is stuck shows
// conditions that may have ended long ago.
//
// Source: upstream 1.15 specification, the lease circuit breaker of the node controller.
func (e *executor) stillUnhealthy(ctx context.Context, candidates []disrupt.Candidate) error {
	for _, candidate := range candidates {
		if candidate.Repair == nil {
			continue
		}
		node, want := &corev1.Node{}, candidate.Repair.Governing.Condition
		if err := e.Live.Get(ctx, client.ObjectKey{Name: candidate.Node.NodeName}, node); err != nil {
			return fmt.Errorf("reading node %q: %w", candidate.Node.NodeName, err)
		}
		if !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return string(c.Type) == want.Type && string(c.Status) == want.Status
		}) {
			return fmt.Errorf("node %q no longer has the condition %s with status %s", node.Name, want.Type, want.Status)
		}
	}
	return nil
}

// limitDrain writes when the pods of an unhealthy node must be gone, before its NodeClaim is deleted: the time until the replacements
// were ready does not count. An earlier deadline stays.
func (e *executor) limitDrain(ctx context.Context, candidate disrupt.Candidate) error {
	limit := candidate.DrainLimit()
	if limit == nil {
		return nil
	}
	return e.marks.persist(ctx, func(from client.Reader) error {
		claim := &v1.NodeClaim{}
		if err := from.Get(ctx, client.ObjectKey{Name: candidate.Node.ClaimName}, claim); err != nil {
			return err
		}
		stored := claim.DeepCopy()
		deadline := e.Clock.Now().Add(*limit)
		earlier, err := time.Parse(time.RFC3339, claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey])
		if err == nil && !earlier.After(deadline) {
			return nil
		}
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey] = deadline.Format(time.RFC3339)
		return e.Client.Patch(ctx, claim, optimistic(stored))
	})
}
