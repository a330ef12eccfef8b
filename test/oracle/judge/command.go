package judge

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

// cent is how much prices may differ: sums are rounded.
const cent = 1e-6

// decision judges one command, given those before it: its nodes may be disrupted, its pool allows one more, its NodeClaims are valid and
// can be launched, and it saves what it says.
func (j *Judge) decision(q *question, before []decision, d decision) (failures []Failure) {
	fail := func(kind Kind, format string, values ...any) {
		failures = append(failures, Failure{Kind: kind, Text: fmt.Sprintf(format, values...) + describe([]decision{d})})
	}
	for _, c := range d.Candidates {
		if slices.ContainsFunc(before, func(b decision) bool { return slices.Contains(b.IDs(), c.Node.ID) }) {
			fail(Protected, "node %s is in two commands", c.Node.NodeName)
		}
		if why := q.protects(c.Node.NodeName, d); why != "" {
			fail(Protected, "node %s: %s", c.Node.NodeName, why)
		}
	}
	for name, pool := range q.pools {
		used, allowed := q.disrupting(name, append(slices.Clone(before), d)), allowedFor(pool, string(d.Reason), q.counted(name))
		if used > allowed && slices.Contains(d.Pools(), name) {
			fail(OverBudget, "%d nodes of pool %s are disrupted, its budgets allow %d for %s", used, name, allowed, d.Reason)
		}
	}
	paid, least, most := q.paid(d), 0.0, 0.0
	for i, claim := range d.claims {
		failures = append(failures, j.claim(claim, i)...)
		candidates := q.launchable(claim)
		if len(candidates) == 0 {
			fail(Unlaunched, "no offering satisfies NodeClaim %d of pool %s", i+1, d.Replacements[i].Pool)
			return failures
		}
		cheapest, dearest := priceRange(candidates)
		least, most = least+cheapest, most+dearest
	}
	if saved := paid - least; math.Abs(saved-d.Savings()) > cent {
		fail(Overspent, "the command saves $%.6f/h, not $%.6f/h", saved, d.Savings())
	}
	if d.Reason == disrupt.Underutilized && most >= paid-cent {
		fail(Overspent, "the nodes cost $%.6f/h, what is launched may cost $%.6f/h", paid, most)
	}
	return failures
}

// priceRange is the cheapest and the most expensive of the nodes that a launch may give.
func priceRange(list []check.Candidate) (least, most float64) {
	least = math.Inf(1)
	for _, c := range list {
		least, most = min(least, c.Price), max(most, c.Price)
	}
	return least, most
}

// paid is the price of the nodes of a command.
func (q *question) paid(d decision) (sum float64) {
	for _, c := range d.Candidates {
		is := q.node(c.Node.NodeName).Labels
		for _, t := range q.types[is[v1.NodePoolLabelKey]] {
			if t.Name != is[corev1.LabelInstanceTypeStable] {
				continue
			}
			for i := range t.Offerings {
				if o := &t.Offerings[i]; o.Zone() == is[corev1.LabelTopologyZone] && o.CapacityType() == is[v1.CapacityTypeLabelKey] {
					sum += o.Price
				}
			}
		}
	}
	return sum
}

func (q *question) node(name string) *corev1.Node {
	i := slices.IndexFunc(q.nodes, func(n *corev1.Node) bool { return n.Name == name })
	if i < 0 {
		return &corev1.Node{}
	}
	return q.nodes[i]
}

// protects is why a command must leave a node alone; empty if it need not.
func (q *question) protects(name string, d decision) string {
	node := q.node(name)
	claim := q.claimOf(name)
	pool := q.pools[node.Labels[v1.NodePoolLabelKey]]
	blocked := q.blocked(name)
	switch {
	case node.Name == "" || claim == nil || pool == nil:
		return "it has no Node, NodeClaim or NodePool"
	case node.Annotations[v1.DoNotDisruptAnnotationKey] == "true":
		return "it has the annotation " + v1.DoNotDisruptAnnotationKey
	case blocked != "" && (d.Reason != disrupt.Drifted || claim.Spec.TerminationGracePeriod == nil):
		return blocked
	case d.Reason == disrupt.Drifted:
		return ""
	case pool.Spec.Disruption.ConsolidateAfter.Duration == nil:
		return "consolidation is off"
	case now().Sub(claim.Status.LastPodEventTime.Time) < *pool.Spec.Disruption.ConsolidateAfter.Duration:
		return "a pod came or went within consolidateAfter"
	case d.Reason == disrupt.Underutilized && pool.Spec.Disruption.ConsolidationPolicy == v1.ConsolidationPolicyWhenEmpty:
		return "only empty nodes may be consolidated"
	}
	return ""
}

func (q *question) claimOf(node string) *v1.NodeClaim {
	for _, o := range q.objects {
		if claim, ok := o.(*v1.NodeClaim); ok && claim.Status.NodeName == node {
			return claim
		}
	}
	return nil
}

// blocked is which pod forbids the drain of a node; empty if none does.
func (q *question) blocked(node string) string {
	for _, pod := range q.bound {
		if pod.Spec.NodeName != node {
			continue
		}
		if pod.Annotations[v1.DoNotDisruptAnnotationKey] == "true" {
			return fmt.Sprintf("pod %s has the annotation %s", pod.Name, v1.DoNotDisruptAnnotationKey)
		}
		var covering []*policyv1.PodDisruptionBudget
		for _, o := range q.objects {
			if b, ok := o.(*policyv1.PodDisruptionBudget); ok && covered(pod, b) && !tolerates(pod, disruptedTaint()) {
				covering = append(covering, b)
			}
		}
		if len(covering) > 1 || len(covering) == 1 && covering[0].Status.DisruptionsAllowed == 0 {
			return fmt.Sprintf("PodDisruptionBudgets do not let pod %s be evicted", pod.Name)
		}
	}
	return ""
}

// counted is how many nodes of a pool its budgets refer to.
func (q *question) counted(pool string) (n int) {
	for _, node := range q.nodes {
		if node.Labels[v1.NodePoolLabelKey] == pool && node.Labels[v1.NodeInitializedLabelKey] == "true" {
			n++
		}
	}
	return n
}

// disrupting is how many of these are not ready, or in commands.
func (q *question) disrupting(pool string, decisions []decision) (n int) {
	chosen := map[string]bool{}
	for _, d := range decisions {
		for _, c := range d.Candidates {
			chosen[c.Node.NodeName] = true
		}
	}
	for _, node := range q.nodes {
		if node.Labels[v1.NodePoolLabelKey] == pool && node.Labels[v1.NodeInitializedLabelKey] == "true" && (chosen[node.Name] || !ready(node)) {
			n++
		}
	}
	return n
}

// allowedFor is how many of the nodes of a pool may be disrupted at a time for a reason. Budgets of the problems have no schedules.
func allowedFor(pool *v1.NodePool, reason string, nodes int) int {
	allowed := math.MaxInt
	for _, b := range pool.Spec.Disruption.Budgets {
		if b.Reasons != nil && !slices.Contains(b.Reasons, v1.DisruptionReason(reason)) {
			continue
		}
		digits, percent := strings.CutSuffix(b.Nodes, "%")
		n, err := strconv.Atoi(digits)
		if err != nil {
			return 0
		}
		if percent {
			n = (n*nodes + 99) / 100
		}
		allowed = min(allowed, n)
	}
	return allowed
}

// covered reports whether a PodDisruptionBudget is about a pod.
func covered(pod *corev1.Pod, b *policyv1.PodDisruptionBudget) bool {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && pod.Namespace == b.Namespace && selector.Matches(labels.Set(pod.Labels))
}

// wantedHealthy is how many of the pods of a PodDisruptionBudget have to stay healthy.
func wantedHealthy(b *policyv1.PodDisruptionBudget, expected int32) int32 {
	scaled := func(value *intstr.IntOrString) int32 {
		n, err := intstr.GetScaledValueFromIntOrPercent(value, int(expected), true)
		if err != nil {
			return expected
		}
		return int32(min(n, math.MaxInt32)) //nolint:gosec // it is at most that
	}
	switch {
	case b.Spec.MaxUnavailable != nil:
		return max(expected-scaled(b.Spec.MaxUnavailable), 0)
	case b.Spec.MinAvailable != nil:
		return scaled(b.Spec.MinAvailable)
	}
	return 0
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// reschedulable reports whether a pod runs elsewhere when its node is removed.
func reschedulable(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" || o.Kind == "Node" })
}

// disruptedTaint is what a node has that is being drained.
func disruptedTaint() []corev1.Taint {
	return []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}
}
