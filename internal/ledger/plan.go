package ledger

import "fmt"

// PlanEvent is what became of a DisruptionPlan.
type PlanEvent struct {
	// Name is that of the DisruptionPlan, UID its identity; the UID is missing if the plan was not created.
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
	// Phase is the phase that the plan came into, such as Proposed, Approved, Rejected or Voided.
	Phase string `json:"phase"`
	// Reason is the reason for the disruption, Decision what happens to the nodes, Method the disruption method.
	Reason   string `json:"reason"`
	Decision string `json:"decision"`
	Method   string `json:"method"`
	// Policy is the name of the OperationsPolicy that asks for approval.
	Policy string `json:"policy"`
	// By is the user who approved or rejected the plan.
	By string `json:"by,omitempty"`
	// Why and Text say why the plan came into the phase: a word and a sentence.
	Why  string `json:"why,omitempty"`
	Text string `json:"text,omitempty"`
	// Nodes are the names of its Nodes, NodeClaims those of its NodeClaims, in the same order, NodePools those of their pools.
	Nodes      []string `json:"nodes,omitempty"`
	NodeClaims []string `json:"nodeclaims,omitempty"`
	NodePools  []string `json:"nodepools,omitempty"`
}

func (p *PlanEvent) summary() string {
	out := fmt.Sprintf("%s %s of %s %s, plan %s", p.Reason, p.Decision, join(p.NodeClaims, itself), p.Phase, p.Name)
	if p.By != "" {
		out += " by " + p.By
	}
	if p.Text != "" {
		out += ": " + p.Text
	}
	return out
}
