package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// Obstacle prevents the disruption of a node. Code decides which of the other fields are set.
type Obstacle struct {
	// Code is one of a closed vocabulary.
	Code string `json:"code"`
	// Message is the obstacle, Detail has details, Help is the remedy.
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
	Help    string `json:"help"`
	// Pods are the namespace/name of pods that are the obstacle, PodDisruptionBudgets those of the budgets.
	Pods                 []string `json:"pods,omitempty"`
	PodDisruptionBudgets []string `json:"podDisruptionBudgets,omitempty"`
	// ClosedDestinations are nodes that would take the pods if they were not within the consolidateAfter of their NodePool.
	ClosedDestinations []string `json:"closedDestinations,omitempty"`
	// PaidPerHour is what the node costs, LeastPerHour the least that a replacement would cost, in dollars.
	PaidPerHour  float64 `json:"paidPerHour,omitempty"`
	LeastPerHour float64 `json:"leastPerHour,omitempty"`
	// AlsoFor are other pods that such a replacement would be for: pending ones, and those of nodes that are being deleted.
	AlsoFor []string `json:"alsoFor,omitempty"`
	// Score is that of a Balanced NodePool, Threshold the least that is required.
	Score     float64 `json:"score,omitempty"`
	Threshold float64 `json:"threshold,omitempty"`
	// Until is when it ends by itself, if that is known.
	Until *time.Time `json:"until,omitempty"`
	// Then is another obstacle that is in the way once this one has ended with time, as far as that is known without a simulation.
	Then *Obstacle `json:"then,omitempty"`
}

// unknownPriceHelp is the remedy where a price is missing.
const unknownPriceHelp = "Give the flags that the controller runs with, such as --catalog, or let the cloud list the offering of the node."

// obstacleFor is o for users, as the obstacle of a disruption for a reason.
func obstacleFor(s *analysis, o disrupt.Obstacle, reason disrupt.Reason) Obstacle {
	out := s.obstacle(o)
	if closure, closed := s.assessed.Operations.Closed(o.Node.Pool, reason); closed && o.Code.OfClosure() {
		out.Until = known(closure.Until)
	}
	return out
}

// known is a time in UTC; nil for none.
func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

// obstacle is o for users.
func (s *analysis) obstacle(o disrupt.Obstacle) Obstacle {
	out := Obstacle{Code: string(o.Code), Message: strings.TrimSpace(o.String()), PodDisruptionBudgets: o.PDBs, Help: o.Code.Remedy()}
	if o.Pod != "" {
		out.Pods = []string{o.Pod}
	}
	switch o.Code {
	case disrupt.NoNode, disrupt.NotRegistered, disrupt.NotInitialized:
		addArrival(s, &out, o)
	case disrupt.NoNodeClaim:
		if pool := o.Node.Labels[v1.NodePoolLabelKey]; pool != "" {
			out.Detail = fmt.Sprintf("its labels name NodePool %q, but no NodeClaim has its provider ID: the NodeClaim is gone", pool)
			out.Help = "Wait until the controller has terminated the instance, as it does with those of the cluster that have no NodeClaim. If it stays, drain and delete the node, and end the instance at the cloud."
		}
	case disrupt.UnknownType:
		out.Detail = "not among the instance types known here; the controller may have been started with others"
		out.Help = "Give the flags that the controller runs with, such as --catalog, or let the cloud list the instance type."
	case disrupt.Nominated:
		addExpected(s, &out, o)
	case disrupt.Deleting:
		addDrain(s, &out, o.Node)
	case disrupt.PodProtected:
		out.Until = s.protectedUntil(o)
	case disrupt.PDBBlocked, disrupt.SeveralPDBs:
		out.Detail = s.budgetState(o)
		if help := podBudgetHelp(s, o); help != "" && o.Code == disrupt.PDBBlocked {
			out.Help = help
		}
	case disrupt.NotConsolidatable:
		if last, after := o.Node.Disruption.LastPodEvent, s.assessed.Input.Pools[o.Node.Pool].ConsolidateAfter; last != 0 {
			until := time.Unix(0, last).Add(after).UTC()
			out.Until = &until
		}
	case disrupt.NotCheaper:
		if o.Node != nil && s.knownPrice(o.Node) == nil {
			out.Detail, out.Help = "its price is unknown, and nothing counts as cheaper than that", unknownPriceHelp
			break
		}
		out.PaidPerHour = o.Paid
		out.Detail = fmt.Sprintf("it costs $%.4f/h, and nothing that could replace it is on offer", o.Paid)
		if !math.IsInf(o.Least, 1) {
			out.LeastPerHour = o.Least
			out.Detail = fmt.Sprintf("it costs $%.4f/h, what could replace it at least $%.4f/h: $%.4f too much",
				o.Paid, o.Least, o.Least-o.Paid)
		}
		if out.AlsoFor = podIDs(o.AlsoFor); len(out.AlsoFor) > 0 {
			out.Detail += fmt.Sprintf("; the replacement would also be for %s, and its price includes that", alsoFor(o.AlsoFor))
			out.Help += " Or wait until the other pods have a place: the answer depends on them."
		}
	case disrupt.ScoreTooLow:
		out.Threshold = disrupt.Threshold
		for _, score := range o.Scores {
			if score.Scored && !score.Approved {
				out.Score = score.Value
				out.Detail = fmt.Sprintf("score %.2f of NodePool %q, %.2f would do", score.Value, score.Pool, disrupt.Threshold)
				if o.Node != nil && s.knownPrice(o.Node) == nil {
					out.Detail += "; the price of the node is unknown and counts as 0"
				}
			}
		}
	}
	return out
}

// alsoFor names pods that a replacement would be for, beside those of the node.
func alsoFor(pods []*model.Pod) string {
	var pending, leaving []*model.Pod
	for _, p := range pods {
		if p.Node == "" {
			pending = append(pending, p)
		} else {
			leaving = append(leaving, p)
		}
	}
	var parts []string
	for _, group := range []struct {
		what string
		pods []*model.Pod
	}{{"pending", pending}, {"of nodes that are being deleted", leaving}} {
		if len(group.pods) > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", firstOf(podIDs(group.pods)), group.what))
		}
	}
	return strings.Join(parts, " and ")
}

// maxClosedDestinations is how many closed destinations a detail names.
const maxClosedDestinations = 5

// addClosedDestinations adds the nodes that would take the pods of c, so that it could be consolidated, if they were not within the
// consolidateAfter of their pools.
func (s *analysis) addClosedDestinations(shown *Obstacle, o disrupt.Obstacle, c disrupt.Candidate) {
	if !o.Code.OfSimulation() {
		return
	}
	closed := s.assessed.Input.ClosedDestinations([]disrupt.Candidate{c}, func() bool { return false })[c.Node.ID]
	if len(closed) == 0 {
		return
	}
	var until time.Time
	for _, n := range closed {
		shown.ClosedDestinations = append(shown.ClosedDestinations, n.NodeName)
		if end := time.Unix(0, n.Disruption.LastPodEvent).Add(s.assessed.Input.Pools[n.Pool].ConsolidateAfter); end.After(until) {
			until = end.UTC()
		}
	}
	slices.Sort(shown.ClosedDestinations)
	named := shown.ClosedDestinations
	if len(named) > maxClosedDestinations {
		named = slices.Concat(named[:maxClosedDestinations], []string{fmt.Sprintf("%d more", len(named)-maxClosedDestinations)})
	}
	if shown.Detail != "" {
		shown.Detail += "; "
	}
	shown.Detail += "its pods would fit on nodes that are within their consolidateAfter: " + strings.Join(named, ", ")
	shown.Help = "Wait until these nodes had no pod events for the consolidateAfter of their NodePool, or start the controller with --consolidate-after-scope=Source."
	shown.Until = &until
}

// expected are the pods that are nominated to the node, by name: pending ones, and those of nodes that are being deleted.
func (s *analysis) expected(n *model.Node) []*model.Pod {
	var out []*model.Pod
	for _, at := range s.view.Result.Plan.Placements {
		if at.Node.ID == n.ID {
			out = append(out, slices.DeleteFunc(slices.Clone(at.Pods), func(p *model.Pod) bool { return p.Virtual })...)
		}
	}
	slices.SortFunc(out, func(a, b *model.Pod) int { return strings.Compare(a.ID(), b.ID()) })
	return out
}

// podIDs are the namespace/name of pods.
func podIDs(pods []*model.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.ID())
	}
	return out
}

// addExpected adds the pods that are nominated to the node, and from which nodes they come.
func addExpected(s *analysis, shown *Obstacle, o disrupt.Obstacle) {
	pods := s.expected(o.Node)
	names, pending := podIDs(pods), false
	shown.Pods = slices.Clone(names)
	for i, p := range pods {
		if pending = pending || p.Node == ""; p.Node != "" {
			names[i] += fmt.Sprintf(" (from node %q, which is being deleted)", p.Node)
		}
	}
	shown.Detail = "expected: " + strings.Join(names, ", ")
	if !pending && len(pods) > 0 {
		shown.Message = "node is nominated for a pod of a node that is being deleted"
	}
}

// protectedUntil is when the do-not-disrupt annotation of the pod ends.
func (s *analysis) protectedUntil(o disrupt.Obstacle) *time.Time {
	on := s.view.Pods[o.Node.NodeName]
	i := slices.IndexFunc(on, func(p *corev1.Pod) bool { return p.Namespace+"/"+p.Name == o.Pod })
	if i < 0 {
		return nil
	}
	until := podrules.DoNotDisrupt(on[i], s.Options.Now).Until
	if until.IsZero() {
		return nil
	}
	until = until.UTC()
	return &until
}

// budgetState describes the PodDisruptionBudgets that are the obstacle.
func (s *analysis) budgetState(o disrupt.Obstacle) string {
	parts := []string{"pod " + o.Pod}
	for _, key := range o.PDBs {
		if b, ok := s.pdbs[key]; ok {
			parts = append(parts, podBudgetText(key, b))
		}
	}
	return strings.Join(parts, "; ")
}

// podBudgetText is the state of a PodDisruptionBudget.
func podBudgetText(key string, b *policyv1.PodDisruptionBudget) string {
	switch {
	case unobserved(b) && podrules.SpecNeverAllows(b):
		return key + " has no status yet, and allows no disruption whatever its pods are"
	case unobserved(b):
		return key + " has no status for its present spec yet"
	}
	state := fmt.Sprintf("%s has %d healthy pods and wants %d", key, b.Status.CurrentHealthy, b.Status.DesiredHealthy)
	if podrules.SpecNeverAllows(b) || problem.NeverAllows(b) {
		state += fmt.Sprintf(" of %d: none may ever go", b.Status.ExpectedPods)
	}
	return state
}

// unobserved reports whether the disruption controller of kube-controller-manager has not written the status for the spec of a budget. Manifests have
// no generation, and mostly no status.
func unobserved(b *policyv1.PodDisruptionBudget) bool {
	return b.Status.ObservedGeneration < b.Generation || equality.Semantic.DeepEqual(b.Status, policyv1.PodDisruptionBudgetStatus{})
}

// podBudgetHelp is the remedy for the PodDisruptionBudgets of an obstacle that more healthy pods do not change; empty if there are none.
func podBudgetHelp(s *analysis, o disrupt.Obstacle) string {
	for _, key := range o.PDBs {
		b, ok := s.pdbs[key]
		switch {
		case !ok:
		case podrules.SpecNeverAllows(b) && b.Spec.MaxUnavailable != nil:
			return fmt.Sprintf("Raise maxUnavailable of PodDisruptionBudget %s, which is %s: it never allows a disruption.", key, b.Spec.MaxUnavailable)
		case podrules.SpecNeverAllows(b):
			return fmt.Sprintf("Lower minAvailable of PodDisruptionBudget %s, which is %s: it never allows a disruption.", key, b.Spec.MinAvailable)
		case unobserved(b):
			return fmt.Sprintf("Wait until the disruption controller of kube-controller-manager has written the status of PodDisruptionBudget %s; look in its log if that lasts.", key)
		case problem.NeverAllows(b):
			return fmt.Sprintf("Lower minAvailable of PodDisruptionBudget %s, or run more than its %s: with these, it never allows a disruption.", key, counted(int(b.Status.ExpectedPods), "pod"))
		}
	}
	return ""
}

// text renders the obstacle behind a label, with its details below.
func (o Obstacle) text(before, label string) string {
	var b strings.Builder
	b.WriteString(before + label + o.Message + "\n")
	if o.Detail != "" {
		b.WriteString(before + "  " + o.Detail + "\n")
	}
	if o.Until != nil {
		b.WriteString(before + "  until " + o.Until.Format(time.RFC3339) + "\n")
	}
	if o.Help != "" {
		b.WriteString(before + "  what would help: " + o.Help + "\n")
	}
	if o.Then != nil {
		b.WriteString(o.Then.text(before+"  ", "then blocked: "))
	}
	return b.String()
}
