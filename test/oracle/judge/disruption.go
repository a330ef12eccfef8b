package judge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

const (
	// rounds is how often the commands for a cluster are carried out and the engine is asked about what is left.
	rounds = 3
	// roundPasses is how many passes decide before any command is carried out: each assumes that the commands before it are complete.
	roundPasses = 3
)

// decision is a command of a pass with the NodeClaims that it launches.
type decision struct {
	disrupt.Command
	method string
	claims []*v1.NodeClaim
}

// disruption judges the commands for a cluster: those of several passes together, and then again once they are carried out.
func (j *Judge) disruption(p Problem, objects []client.Object) []Failure {
	for round := range rounds {
		objects = withBudgetStatus(objects)
		q, decisions, err := j.decide(p, objects, round)
		if err != nil {
			return []Failure{{Kind: Unreadable, Text: err.Error()}}
		}
		if round == 0 {
			j.Tally.Pods += len(q.pods)
		}
		if len(decisions) == 0 {
			return nil
		}
		j.Tally.Commands += len(decisions)
		var failures []Failure
		for i, d := range decisions {
			failures = append(failures, j.decision(q, decisions[:i], d)...)
		}
		if len(failures) > 0 {
			return failures
		}
		l, failure := j.moves(q, decisions)
		if failure != nil {
			return []Failure{*failure}
		}
		objects = q.carriedOut(l, j.scheduler.Pods(), decisions)
	}
	return nil
}

// decide has the engine decide in several passes, as the disruption controller does before the first command is carried out.
func (j *Judge) decide(p Problem, objects []client.Object, round int) (*question, []decision, error) {
	view, err := simulation.ViewForDisruption(context.Background(), objects, j.cloud, p.settings())
	if err != nil {
		return nil, nil, err
	}
	q, err := j.question(p, objects, round, view.Result)
	if err != nil {
		return nil, nil, err
	}
	var all []decision
	var underway []disrupt.Command
	for range roundPasses {
		found, err := pass(view, p.settings(), underway, disrupt.Methods())
		if err != nil {
			return nil, nil, err
		}
		if len(found) == 0 {
			break
		}
		for _, d := range found {
			for _, claim := range d.Replacements {
				d.claims = append(d.claims, view.Builder.Translator.NodeClaim(q.pools[claim.Pool], claim, nil))
			}
			all, underway = append(all, d), append(underway, d.Command)
		}
	}
	return q, all, nil
}

// pass tries one method after the other until one composes commands.
func pass(view simulation.DisruptionView, settings simulation.Options, underway []disrupt.Command, methods []disrupt.Method) ([]decision, error) {
	busy := map[string]bool{}
	for _, c := range underway {
		for _, id := range c.IDs() {
			busy[id] = true
		}
	}
	qualification := problem.Qualification(view.Snapshot, settings.Now, view.Pools, view.Surplus, nil)
	qualification.InCommand = busy
	candidates, _ := disrupt.Qualify(qualification)
	obstacles, unevictable := map[string]disrupt.Obstacle{}, map[string]bool{}
	for i := range candidates {
		c := &candidates[i]
		view.Prices[c.Node.Pool].Set(c)
		found := problem.InspectPods(c.Node, view.Pods[c.Node.NodeName], view.PDBs, view.PDBLimits, settings.Now)
		c.DrainRounds = found.DrainRounds()
		if found.Blocked {
			obstacles[c.Node.ID] = found.Obstacle
		}
		for _, uid := range found.Unevictable {
			unevictable[uid] = true
		}
	}
	input, _, err := view.Builder.Disruption(context.Background(), problem.Disruption{
		Snapshot: view.Snapshot, Now: settings.Now, Pools: qualification.Pools, Candidates: candidates, Budgets: view.PDBs,
		Unevictable: unevictable, Underway: underway, PriceOf: func(n *model.Node) float64 { return view.Prices[n.Pool].Of(n) },
	})
	if err != nil {
		return nil, err
	}
	usages := disrupt.Usages(view.Snapshot, busy, "")
	simulators := map[disrupt.Simulation]*disrupt.Simulator{}
	for _, m := range methods {
		taken, _ := m.FilterNodes(candidates)
		fit, _ := m.FilterPods(taken, obstacles)
		if len(fit) == 0 {
			continue
		}
		budgets := disrupt.Budgets{}
		for name, pool := range view.Pools {
			// Pools whose budgets cannot be read allow nothing.
			allowed, _ := pool.AllowedDisruptions(settings.Now, usages[name].Nodes, v1.DisruptionReason(m.Reason))
			budgets[name] = usages[name].Remaining(allowed)
		}
		if simulators[m.Simulates] == nil && m.Simulates != disrupt.NoSimulation {
			simulators[m.Simulates] = input.Simulator(candidates, m.Simulates)
		}
		decided := m.Decide(input.Serial(simulators[m.Simulates], budgets, func(string, int) int { return 0 }), fit)
		var out []decision
		for _, c := range decided.Commands {
			out = append(out, decision{Command: c, method: m.Name})
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	return nil, nil
}

// commands are the commands of the first passes, as text.
func (j *Judge) commands(p Problem, objects []client.Object) (string, error) {
	_, decisions, err := j.decide(p, withBudgetStatus(objects), 0)
	var b strings.Builder
	for _, d := range decisions {
		fmt.Fprintf(&b, "%s %s\n", d.method, d.text())
	}
	return b.String(), err
}

// text says what the command does.
func (d decision) text() string {
	names := make([]string, len(d.Candidates))
	for i, c := range d.Candidates {
		names[i] = c.Node.NodeName
	}
	slices.Sort(names)
	return fmt.Sprintf("(%s): %s %s, saving $%.2f/h", d.Reason, d.Decision(), strings.Join(names, ", "), d.Savings())
}

// withBudgetStatus sets the status of PodDisruptionBudgets as their controller does.
func withBudgetStatus(objects []client.Object) []client.Object {
	out := slices.Clone(objects)
	for i, o := range out {
		b, ok := o.(*policyv1.PodDisruptionBudget)
		if !ok {
			continue
		}
		b = b.DeepCopy()
		expected, healthy := int32(0), int32(0)
		for _, o := range objects {
			if pod, ok := o.(*corev1.Pod); ok && covered(pod, b) {
				expected++
				if podReady(pod) {
					healthy++
				}
			}
		}
		wanted := wantedHealthy(b, expected)
		b.Status = policyv1.PodDisruptionBudgetStatus{
			ExpectedPods: expected, CurrentHealthy: healthy, DesiredHealthy: wanted, DisruptionsAllowed: max(healthy-wanted, 0),
		}
		out[i] = b
	}
	return out
}

// carriedOut are the objects of the cluster once commands are carried out: their nodes are gone, the nodes that they launched are
// initialized, and the pods run where they were bound.
func (q *question) carriedOut(l launch, running []*corev1.Pod, decisions []decision) []client.Object {
	gone := map[string]bool{}
	for _, d := range decisions {
		for _, c := range d.Candidates {
			gone[c.Node.NodeName], gone[c.Node.ClaimName] = true, true
		}
	}
	var out []client.Object
	for _, o := range q.objects {
		switch o := o.(type) {
		case *corev1.Pod:
			continue
		case *corev1.Node:
			if gone[o.Name] {
				continue
			}
		case *v1.NodeClaim:
			if gone[o.Name] {
				continue
			}
		}
		out = append(out, o)
	}
	for _, pod := range running {
		if gone[pod.Spec.NodeName] {
			continue // it blocked the drain, until the node was removed
		}
		if original := q.pods[string(pod.UID)]; original != nil && original.Spec.NodeName == pod.Spec.NodeName {
			pod = original
		}
		out = append(out, started(pod))
	}
	for i, node := range l.nodes[len(l.nodes)-len(l.claims):] {
		out = append(out, node, quiet(l.claims[i]))
	}
	return out
}
