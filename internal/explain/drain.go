package explain

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/simulation/report"
)

// Drain is what the deletion of its node means for a pod.
type Drain struct {
	// NodeDeleting is since when the node is being deleted, and NodeEnds when its terminationGracePeriod ends the drain; null for not, or never.
	NodeDeleting *time.Time `json:"nodeDeleting,omitempty"`
	NodeEnds     *time.Time `json:"nodeEnds,omitempty"`
	// Holding is why the pod cannot be evicted now, in words; empty if it can.
	Holding string `json:"holding,omitempty"`
}

// drains are the nodes that are being deleted, and what keeps pods on them.
type drains struct {
	byNode  map[string]Drain
	budgets podrules.Budgets
	now     time.Time
}

func drainsOf(q Question) drains {
	nodes, claims := map[string]*corev1.Node{}, map[string]*v1.NodeClaim{}
	var budgets []policyv1.PodDisruptionBudget
	for _, o := range q.Objects {
		switch o := o.(type) {
		case *corev1.Node:
			nodes[o.Name] = o
		case *v1.NodeClaim:
			claims[o.Status.NodeName] = o
		case *policyv1.PodDisruptionBudget:
			budgets = append(budgets, *o)
		}
	}
	out := drains{byNode: map[string]Drain{}, now: q.Options.Now}
	delete(claims, "") // of those that no Node has registered for
	for name, claim := range claims {
		out.add(name, claim, nodes[name])
	}
	for name, node := range nodes {
		out.add(name, claims[name], node)
	}
	if len(out.byNode) > 0 {
		out.budgets, _ = podrules.NewBudgets(budgets) // the simulation warns of those that cannot be read
	}
	return out
}

// add records a node if it is being deleted. Either object may be nil.
func (d drains) add(name string, claim *v1.NodeClaim, node *corev1.Node) {
	if since, ends := deletion(claim, node); since != nil {
		d.byNode[name] = Drain{NodeDeleting: since, NodeEnds: ends}
	}
}

// drainKey is equal for pods for which the deletion of their nodes means the same.
type drainKey struct {
	deleting bool
	obstacle disrupt.Code
	pdbs     string
}

// of is what the deletion of its node means for a pod; nothing for pods that are not on a node that is being deleted.
func (d drains) of(pod *corev1.Pod) (Drain, drainKey) {
	out, deleting := d.byNode[pod.Spec.NodeName]
	if !deleting || podrules.Terminal(pod) {
		return Drain{}, drainKey{}
	}
	key := drainKey{deleting: true}
	if found := problem.InspectPods(nil, []*corev1.Pod{pod}, d.budgets, problem.PDBLimits{}, d.now); found.Blocked {
		out.Holding = found.Obstacle.String()
		key.obstacle, key.pdbs = found.Obstacle.Code, strings.Join(found.Obstacle.PDBs, " ")
	}
	return out, key
}

// text says so for a number of pods on a number of nodes, and what becomes of the pods then, in lines that begin with before; empty if no node is
// being deleted and nothing is done for the pods.
func (d Drain) text(before string, nodes, pods int, fate report.Fate) string {
	moves := fate.Outcome != report.NothingToDo
	if d.NodeDeleting == nil && !moves {
		return ""
	}
	text, drains, first := "The node is being deleted", ", and its drain waits", ""
	if nodes > 1 {
		text, drains, first = "Their nodes are being deleted", ", and the drains wait", " for the first"
	}
	them, of := " for the pod", "For the pod:"
	if pods > 1 {
		them, of = " for the pods", "For the first of the pods:"
	}
	text = before + text
	if d.Holding != "" {
		text += drains + them
		if d.NodeEnds != nil {
			text += ", at the latest until " + d.NodeEnds.Format(time.RFC3339) + first
		}
		text += ": " + d.Holding
	}
	switch {
	case !moves:
		return text + "\n"
	case d.Holding != "":
		text += "\n" + before + of
	default:
		text += ". " + of
	}
	return text + "\n" + fate.Text(before+"  ")
}
